/**
 * Judges the writes of a transaction twice (AR8): in its snapshot, and on the newest versions that the judged replicas
 * have applied, at the time of the coordinator's clock. Each read brings the documents of both.
 */
import {
  Fold,
  IsochronError,
  type KeyWrite,
  packWall,
  type QualifiedKey,
  type Timestamp,
  Update,
  type Value,
  type Version,
  type WallMs,
} from '@isochron/core';
import type { ReadResp } from '@isochron/protocols';
import type { Done } from '../coordinator/request-port.js';
import { wanted } from '../snapshot.js';
import { documentsOf, type Judge, type Place, type Question, type Versions } from './judge.js';
import type { Verdict } from './policy.js';
import type { Documents } from './reads.js';
import { refusalIn } from './refusal.js';

/**
 * The snapshot refuses a write that the newest versions allow: a later snapshot may allow it. `denied` is the refusal
 * of a transaction that stays in its snapshot.
 */
export class NotYetPermitted extends IsochronError {
  constructor(readonly denied: IsochronError) {
    super('SNAPSHOT_UNAVAILABLE', 'What permits this write is not in a stable snapshot yet; try again.');
  }
}

/** The documents of one time, and the writes as they change them. */
interface Basis {
  readonly at: Timestamp;
  readonly versions: Versions;
  readonly questions: readonly Question[];
  readonly documents: Documents;
  readonly after: Documents;
}

/**
 * Judges writes.
 * @param result the read of the written keys, in the snapshot and on the newest versions
 * @param done gets the refusal of the writes, if they are refused: {@link NotYetPermitted} where that may pass
 */
export function judgeWrites(
  judge: Judge,
  writes: readonly KeyWrite[],
  result: ReadResp,
  place: Place,
  now: WallMs,
  done: Done<object>,
): void {
  const found = bothOf(
    writes.map(({ key }) => key),
    result,
  );
  const inSnapshot = basisOf(writes, place.snapshot.ts, found.inSnapshot);
  const newest = basisOf(writes, packWall(now), found.newest);
  judge.settle(
    () => [...verdictsOf(judge, inSnapshot), ...verdictsOf(judge, newest)],
    (keys, read) => readBoth(judge, keys, place, inSnapshot.versions, newest.versions, read),
    (verdicts) => {
      if (verdicts instanceof IsochronError) {
        done(verdicts);
        return;
      }
      const { length } = writes;
      const refused = refusalIn(judge, inSnapshot.questions, verdicts.slice(0, length));
      const refusedNow = refusalIn(judge, newest.questions, verdicts.slice(length));
      done(refusedNow ?? (refused && new NotYetPermitted(refused)) ?? {});
    },
  );
}

function basisOf(writes: readonly KeyWrite[], at: Timestamp, versions: Versions): Basis {
  const questions = writes.map((write) => writeOf(write, versions.get(write.key)));
  const after: Documents = new Map(questions.map(({ key, incoming }) => [key, incoming]));
  return { at, versions, questions, documents: documentsOf(versions), after };
}

const verdictsOf = ({ policy, principal }: Judge, { at, questions, documents, after }: Basis): Verdict[] =>
  questions.map(({ verb, key, document, incoming }) =>
    policy.judge({ verb, key, document, incoming, principal, at }, documents, after),
  );

/** Reads documents that the rules ask for, and adds them to those of the snapshot and to the newest. */
function readBoth(
  { port }: Judge,
  keys: readonly QualifiedKey[],
  { snapshot, coordinator }: Place,
  inSnapshot: Versions,
  newest: Versions,
  done: (error?: IsochronError) => void,
): void {
  port.ask(
    { type: 'ReadReq', txId: null, ...wanted(snapshot, snapshot), keys, newest: true },
    (result) => {
      if (result instanceof IsochronError) {
        done(result);
        return;
      }
      const found = bothOf(keys, result);
      for (const key of keys) {
        inSnapshot.set(key, found.inSnapshot.get(key)!);
        newest.set(key, found.newest.get(key)!);
      }
      done();
    },
    coordinator,
  );
}

/** The versions of an answer: of its snapshot, and the newest. */
function bothOf(
  keys: readonly QualifiedKey[],
  { versions, newer = [] }: ReadResp,
): { readonly inSnapshot: Versions; readonly newest: Versions } {
  const inSnapshot: Versions = new Map(keys.map((key, i) => [key, versions[i] ?? null]));
  const newest: Versions = new Map(inSnapshot);
  for (const { index, version } of newer) newest.set(keys[index]!, version);
  return { inSnapshot, newest };
}

/** The question about a write: what it makes of the document that is there. */
function writeOf({ key, value }: KeyWrite, version: Version | null | undefined): Question {
  const document = version?.value ?? null;
  const updates = value instanceof Update;
  const incoming = updates ? folded(document, value) : value;
  if (incoming === null) return { verb: 'delete', key, document, incoming, updates };
  return { verb: document === null ? 'create' : 'update', key, document, incoming, updates };
}

function folded(document: Value | null, update: Update): Value | null {
  const fold = new Fold(document);
  fold.apply(update);
  return fold.result();
}
