/** Validates the answers of the feed (D12): a damaged one is FRAME_INVALID, and changes nothing. */
import type { IsochronError } from '@isochron/core/errors';
import type { Content, QualifiedKey, Timestamp, TxId } from '@isochron/core/ids';
import { feedAnswers } from '@isochron/wire/session-frames/feed-answers';
import { notation, type Read } from '@isochron/wire/session-frames/notation';
import { malformed, serverError } from '../errors.js';
import { parserOf, type Raw } from '../link/frames.js';

const answers = feedAnswers(notation);
const liveFrame = parserOf(answers.live);
const changesFrame = parserOf(answers.changes);

/** A write of a key that the feed brings. */
export interface Change {
  readonly ct: Timestamp;
  readonly txId: TxId;
  readonly value: Content;
}

/** The changes of one key, in their order. */
export type KeyChanges = readonly [QualifiedKey, readonly Change[]];

/** `live` */
export interface LiveAnswer {
  /** Everything up to here is in the answer, or lies at or below the request's `after`. */
  readonly to: Timestamp;
  /** For each key, its changes from the newest write on that is no update (LQ4). */
  readonly changes: readonly KeyChanges[];
  /** Scopes that access rules have ended at `to` (AR4): their numbers, and the reason of each. */
  readonly ended: readonly (readonly [number, IsochronError])[];
}

/** `changes` */
export type ChangesPage = Omit<Read<typeof answers.changes>, 'type' | 'id' | 'token'>;
/** A transaction of the change feed, with its writes in the scope. */
export type FeedTransaction = ChangesPage['transactions'][number];

/** Whether these timestamps lie in `(after, to]`, in their order. */
function areWithin(after: Timestamp, to: Timestamp, stamps: readonly Timestamp[]): boolean {
  return stamps.every((ts, i) => ts > after && ts <= to && ts >= (stamps[i - 1] ?? 0));
}

/** The answer to a request for the changes after a timestamp. @throws IsochronError FRAME_INVALID */
export function parseLive(raw: Raw, after: Timestamp): LiveAnswer {
  const { to, changes, ended = [] } = liveFrame(raw, 'live');
  if (to < after) throw malformed('changes up to a time before the one that they follow');
  const parsed = changes.map(([key, contents]): KeyChanges => {
    const stamps = contents.map(([ct]) => ct);
    if (!areWithin(after, to, stamps)) throw malformed('changes out of their range');
    return [key, contents.map(([ct, txId, value]) => ({ ct, txId, value }))];
  });
  const reasons = ended.map(
    ([number, code, detail]) => [number, serverError({ code, detail, retryable: false })] as const,
  );
  return { to, changes: parsed, ended: reasons };
}

/** A page of the change feed. @throws IsochronError FRAME_INVALID */
export function parseChanges(raw: Raw, after: Timestamp | null): ChangesPage {
  const { from, to, transactions } = changesFrame(raw, 'changes');
  if (to < from || (after !== null && from !== after)) throw malformed('a page of changes that was not asked for');
  const stamps = transactions.map(({ ts }) => ts);
  if (!areWithin(from, to, stamps)) throw malformed('changes out of their range');
  return { from, to, transactions };
}
