import { randomFillSync } from 'node:crypto';

const ID_BYTES = 16;

/** Unused random bytes: one call for 256 ids costs little more than one for a single id. */
const pool = Buffer.alloc(256 * ID_BYTES);
let used = pool.length;

/** 128 random bits as text. */
export function newSessionId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.toString('base64url', used - ID_BYTES, used);
}
