/**
 * The session of BPR: it has seen a snapshot, with its own commits. It needs no cache, because its reads wait for them.
 */
import { newerOf } from '../kernel/transactions/newer.js';
import type { SessionRules } from '../kernel/transactions/session.js';

export const bprSession: SessionRules = {
  merge: newerOf,
  committed: newerOf,
  covers: () => Number.POSITIVE_INFINITY,
};
