/** A cohort's knowledge of a transaction. */
import type { Timestamp } from '@isochron/core';
import type { Prepared } from './prepared-queue.js';

export type Known =
  | { readonly state: 'prepared'; readonly prepared: Prepared }
  | { readonly state: 'committed'; readonly ct: Timestamp; readonly attempt: number; readonly digest: string }
  | { readonly state: 'aborted'; readonly ts: Timestamp; readonly attempt: number };

/** `pt`, `ct`, or the time of the tombstone. */
export const timeOf = (known: Known): Timestamp =>
  known.state === 'prepared' ? known.prepared.record.pt : known.state === 'committed' ? known.ct : known.ts;

/** The attempt that it refers to. */
export const attemptOf = (known: Known): number =>
  known.state === 'prepared' ? known.prepared.record.attempt : known.attempt;
