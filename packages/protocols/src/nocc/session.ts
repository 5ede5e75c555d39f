/** The session of NoCC keeps no reads or writes; only the time since which its commits are sent (D5). */
import { newerOf } from '../kernel/transactions/newer.js';
import type { SessionRules } from '../kernel/transactions/session.js';

export const noccSession: SessionRules = {
  merge: newerOf,
  committed: (seen) => seen,
  covers: () => Number.POSITIVE_INFINITY,
};
