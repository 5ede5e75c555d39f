/** Roles of principals as a ceiling: what a request needs at least, before any access rule is asked. */
import { IsochronError, type Principal, type Role } from '@isochron/core';
import type { RequestFrame } from '@isochron/wire/session-frames';

/** What a request does: it reads or writes documents, administers the cluster, or needs no role at all. */
export type Access = 'read' | 'write' | 'operate' | 'any';

/** The roles of which one is enough. */
const ROLES_FOR: Readonly<Record<Exclude<Access, 'any'>, readonly Role[]>> = {
  read: ['reader', 'writer'],
  write: ['writer'],
  operate: ['operator'],
};

/** @throws IsochronError `PERMISSION_DENIED`, with the role that is missing */
export function requireRole({ roles }: Principal, access: Access): void {
  if (access === 'any') return;
  const enough = ROLES_FOR[access];
  if (enough.some((role) => roles.has(role))) return;
  const given = roles.size === 0 ? 'no role' : `only ${[...roles].join(', ')}`;
  throw new IsochronError('PERMISSION_DENIED', `This needs the role ${enough.join(' or ')}; the caller has ${given}.`);
}

const FRAME_ACCESS: Readonly<Record<RequestFrame['type'], Access>> = {
  start: 'read',
  read: 'read',
  list: 'read',
  origin: 'read',
  changes: 'read',
  live: 'read',
  abort: 'read',
  status: 'read',
  get: 'read',
  rot: 'read',
  commit: 'write',
  settle: 'write',
  put: 'write',
  authenticate: 'any',
  stable: 'any',
  ping: 'any',
};

/** What a request frame does. */
export const accessOf = (type: unknown): Access =>
  typeof type === 'string' && Object.hasOwn(FRAME_ACCESS, type) ? FRAME_ACCESS[type as RequestFrame['type']] : 'any';
