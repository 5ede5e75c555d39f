/**
 * Judges operations on documents in one snapshot, reading other documents there as rules ask for them. It does no I/O
 * but through the coordinator.
 */
import {
  IsochronError,
  type ListRange,
  type NodeId,
  type Principal,
  type QualifiedKey,
  type Timestamp,
  type Version,
} from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { CoordinatorPortFor } from '../coordinator/coordinator-port.js';
import type { Done } from '../coordinator/request-port.js';
import { wanted } from '../snapshot.js';
import type { DocumentQuestion, Policy, Verdict } from './policy.js';
import { type Documents, MAX_READ } from './reads.js';

/**
 * A snapshot that is read. It is named by itself and not by a transaction that is open there: that may end before the
 * documents of rules are read.
 */
export interface Place {
  readonly snapshot: Snapshot;
  /** The node that has read in it. */
  readonly coordinator?: NodeId | undefined;
}

/** Documents that were read in a place, null where there is none. */
export type Versions = Map<QualifiedKey, Version | null>;

/** A question but for who asks and in which snapshot. */
export interface Question extends Pick<DocumentQuestion, 'verb' | 'key' | 'document' | 'incoming'> {
  /** Whether it is about an update: its verb depends on the document that is there. */
  readonly updates?: boolean;
}

/** Documents that rules may read for one request, beside its own. */
const MAX_READ_IN_ALL = 1_000;
const TOO_MANY = `The access rules need more than ${MAX_READ_IN_ALL} other documents for this request. Ask for fewer keys at once.`;

export class Judge {
  constructor(
    readonly port: CoordinatorPortFor<'ReadReq'>,
    readonly policy: Policy,
    readonly principal: Principal,
  ) {}

  /**
   * Judges questions in a place.
   * @param versions documents of the place that are known; those that rules read are added
   * @param done gets a verdict for each, none of them *needs*, or the error of a read, or `TOO_MANY_KEYS`
   * @param unasked questions among them about keys that the caller has not asked for: they have reads of their own
   */
  judge(
    questions: readonly Question[],
    place: Place,
    versions: Versions,
    done: Done<readonly Verdict[]>,
    unasked = 0,
  ): void {
    const { principal, policy } = this;
    const at = place.snapshot.ts;
    const documents = documentsOf(versions);
    this.settle(
      () =>
        questions.map(({ verb, key, document, incoming }) =>
          policy.judge({ verb, key, document, incoming, principal, at }, documents),
        ),
      (keys, read) => this.read(keys, place, versions, read),
      done,
      MAX_READ + 1,
      MAX_READ_IN_ALL + MAX_READ * unasked,
    );
  }

  /** Judges the list of a range in a place, as {@link judge} does. */
  judgeRange({ prefix, level }: JudgedRange, place: Place, versions: Versions, done: Done<Verdict>): void {
    const question = { prefix, level, principal: this.principal, at: place.snapshot.ts };
    const verdict = () => [this.policy.judgeRange(question, documentsOf(versions))];
    this.settle(
      verdict,
      (keys, read) => this.read(keys, place, versions, read),
      (verdicts) => done(verdicts instanceof IsochronError ? verdicts : verdicts[0]!),
    );
  }

  /** Asks for verdicts again and again, with the documents that they need, until none needs any. */
  settle(
    verdicts: () => readonly Verdict[],
    read: (keys: readonly QualifiedKey[], done: (error?: IsochronError) => void) => void,
    done: Done<readonly Verdict[]>,
    rounds = MAX_READ + 1,
    left = MAX_READ_IN_ALL,
  ): void {
    const found = verdicts();
    if (!found.some(({ kind }) => kind === 'needs')) {
      done(found);
      return;
    }
    const needed = new Set(found.flatMap((verdict) => (verdict.kind === 'needs' ? verdict.keys : [])));
    if (rounds === 0) done(new IsochronError('INTERNAL', 'Access rules ask for documents without an end.'));
    else if (needed.size > left) done(new IsochronError('TOO_MANY_KEYS', TOO_MANY));
    else
      read([...needed], (error) => {
        if (error === undefined) this.settle(verdicts, read, done, rounds - 1, left - needed.size);
        else done(error);
      });
  }

  /** Reads documents of a place, and adds them to those that are known. */
  read(keys: readonly QualifiedKey[], place: Place, versions: Versions, done: (error?: IsochronError) => void): void {
    if (keys.length === 0) {
      done();
      return;
    }
    const { snapshot, coordinator } = place;
    this.port.ask(
      { type: 'ReadReq', txId: null, ...wanted(snapshot, snapshot), keys },
      (result) => {
        if (result instanceof IsochronError) done(result);
        else {
          for (const [i, key] of keys.entries()) versions.set(key, result.versions[i] ?? null);
          done();
        }
      },
      coordinator,
    );
  }
}

/** The documents of versions, as rules see them. */
export const documentsOf = (versions: Versions): Documents => ({
  get: (key) => {
    const version = versions.get(key);
    return version === undefined ? undefined : (version?.value ?? null);
  },
});

/** The question about a read of a key. */
export const readOf = (key: QualifiedKey, version: Version | null | undefined): Question => ({
  verb: 'get',
  key,
  document: version?.value ?? null,
  incoming: null,
});

/** What rules know of a range: the beginning of all of its keys, and their level where it has one. */
export interface JudgedRange {
  readonly prefix: string;
  readonly level?: number | undefined;
}

export const judgedRangeOf = ({ start, end, level }: Omit<ListRange, 'limit'>): JudgedRange => ({
  prefix: prefixOf(start, end ?? ''),
  level,
});

/** Every key of a range begins with this: as much as both of its bounds fix. */
function prefixOf(start: QualifiedKey, end: QualifiedKey): string {
  let same = 0;
  while (same < start.length && start[same] === end[same]) same++;
  const next = start.charCodeAt(same) + 1;
  const isWhole = end.length === same + 1 && end.charCodeAt(same) === next;
  return start.slice(0, isWhole ? same + 1 : same);
}

/** Whether a version may have come after a timestamp: an absent document may have been there. */
export const hasChanged = (version: Version | null | undefined, since: Timestamp): boolean =>
  version == null || version.ts > since;
