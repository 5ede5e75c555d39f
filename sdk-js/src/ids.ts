import { toBase64 } from '@isochron/client/encoding';

/** 128 random bits as 22 characters of base64url: the name of a session (P8). */
export const randomSessionId = (): string =>
  toBase64(crypto.getRandomValues(new Uint8Array(16)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
