/** A cohort's knowledge of a transaction. */
import type { Timestamp } from '@isochron/core';
import type { DeferredRecord } from './deferred-slices.js';
import type { Prepared } from './prepared-queue.js';

export type Known =
  | { readonly state: 'prepared'; readonly prepared: Prepared }
  | { readonly state: 'committed'; readonly ct: Timestamp; readonly attempt: number; readonly digest: string }
  | { readonly state: 'aborted'; readonly ts: Timestamp; readonly attempt: number }
  | { readonly state: 'deferred'; readonly record: DeferredRecord };

/** `pt`, `ct`, or the time of the tombstone. */
export function timeOf(known: Known): Timestamp {
  if (known.state === 'prepared') return known.prepared.record.pt;
  if (known.state === 'deferred') return known.record.ct ?? known.record.pt;
  return known.state === 'committed' ? known.ct : known.ts;
}

/** The attempt that it refers to. */
export function attemptOf(known: Known): number {
  if (known.state === 'prepared') return known.prepared.record.attempt;
  return known.state === 'deferred' ? known.record.attempt : known.attempt;
}
