import { randomBytes } from 'node:crypto';

/** 128 random bits as text. */
export const newSessionId = (): string => randomBytes(16).toString('base64url');
