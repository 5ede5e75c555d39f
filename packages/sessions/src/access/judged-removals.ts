/**
 * Which hidden documents of filtered ranges a live reader may have (LQ7). A node keeps no document for a reader. So it
 * judges what was there at each time at which the reader may have read it: at the beginning of the answer, and before
 * each change within it. A document that was hidden all the time causes nothing that the reader could see.
 */
import { IsochronError, type QualifiedKey, type Timestamp } from '@isochron/core';
import type { KeyChanges } from '@isochron/protocols';
import type { Done } from '../coordinator/request-port.js';
import { type Judge, readOf, type Versions } from './judge.js';

/** Reads for one answer: a reader with more of them reads its scopes anew. */
const MAX_READS = 64;
const TOO_MANY = 'Too much has changed at once: read the data anew, and follow from that snapshot.';

export class ShownBefore {
  readonly #shown = new Set<QualifiedKey>();
  /** Times, and the keys whose documents of that time are judged. */
  readonly #moments = new Map<Timestamp, QualifiedKey[]>();

  constructor(
    readonly judge: Judge,
    changes: readonly KeyChanges[],
    after: Timestamp,
  ) {
    for (const { key, contents, replaced = [] } of changes) {
      const times = [...replaced, ...contents.map(({ ct }) => ct)].map((ct) => ct - 1);
      for (const ts of new Set([after, ...times.slice(1)]))
        this.#moments.set(ts, [...(this.#moments.get(ts) ?? []), key]);
    }
  }

  /** Ends with the keys of which the reader may have documents; with `CHANGES_GONE` where that cannot be found out. */
  find(done: Done<ReadonlySet<QualifiedKey>>): void {
    if (this.#moments.size > MAX_READS) done(new IsochronError('CHANGES_GONE', TOO_MANY));
    else this.#next([...this.#moments], done);
  }

  #next(
    [moment, ...later]: readonly (readonly [Timestamp, readonly QualifiedKey[]])[],
    done: Done<ReadonlySet<QualifiedKey>>,
  ): void {
    if (moment === undefined) {
      done(this.#shown);
      return;
    }
    const [ts, keys] = moment;
    this.#judgeAt(ts, keys, (error) => {
      if (error === undefined) this.#next(later, done);
      else done(error.code === 'SNAPSHOT_TOO_OLD' ? new IsochronError('CHANGES_GONE', TOO_MANY) : error);
    });
  }

  #judgeAt(ts: Timestamp, all: readonly QualifiedKey[], done: (error?: IsochronError) => void): void {
    const keys = all.filter((key) => !this.#shown.has(key));
    const place = { snapshot: { ts } };
    const versions: Versions = new Map();
    this.judge.read(keys, place, versions, (error) => {
      if (error !== undefined) {
        done(error);
        return;
      }
      const questions = keys.map((key) => ({ ...readOf(key, versions.get(key)), verb: 'list' as const }));
      this.judge.judge(questions, place, versions, (verdicts) => {
        if (verdicts instanceof IsochronError) {
          done(verdicts);
          return;
        }
        for (const [i, key] of keys.entries()) if (verdicts[i]!.kind === 'allowed') this.#shown.add(key);
        done();
      });
    });
  }
}
