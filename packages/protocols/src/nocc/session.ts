/** The session of NoCC remembers nothing that it has read or written; only since when its commits are born (D5). */
import { newerOf } from '../kernel/transactions/newer.js';
import type { SessionRules } from '../kernel/transactions/session.js';

export const noccSession: SessionRules = {
  merge: newerOf,
  committed: (seen) => seen,
  covers: () => Number.POSITIVE_INFINITY,
};
