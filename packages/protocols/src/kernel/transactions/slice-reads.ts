/**
 * Reads in a snapshot at a replica (PaRiS Algorithm 3 lines 1–8). A snapshot that is not installed, or no longer whole,
 * is refused or waited for, never answered wrongly (P5, P9).
 */
import {
  compareVersions,
  pageOfLevel,
  type QualifiedKey,
  type ReadNeeds,
  type Version,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import { isWait } from '../waiting.js';
import type { ListSliceReq, ReadSliceReq, ReadSliceResp, TransactionMessage, WaitedRead } from './messages.js';
import type { ReadRules, Refusal, Snapshot, SnapshotRules } from './snapshots.js';
import { WaitingReads } from './waiting-reads.js';

type Out = Effects<TransactionMessage>;

/** A request for the versions of some keys of the partition, or for a page of them. */
type SliceRead = ReadSliceReq | ListSliceReq;

export class SliceReads {
  readonly waiting: WaitingReads;
  readonly counters = { slices: 0, refusedSlices: 0 };

  constructor(
    readonly self: Address,
    readonly state: NodeState,
    readonly rules: SnapshotRules,
    readonly reading: ReadRules,
  ) {
    this.waiting = new WaitingReads(self);
  }

  /** The versions that a request reads. */
  needs(request: SliceRead): ReadNeeds {
    if (request.type === 'ReadSliceReq') return this.reading.needs(request.keys);
    return this.reading.needsOfList(request.range, { ts: request.snapshot, deps: request.deps });
  }

  onWaitedRead({ request, since, node }: WaitedRead, now: WallMs, from: Address, out: Out): void {
    if (from.node === this.state.node) this.onRead(request, now, { node, machine: 'coordinator' }, out, since);
  }

  /** @param since when the wait began; null before */
  onRead(request: SliceRead, now: WallMs, from: Address, out: Out, since: WallMs | null = null): void {
    const { deps } = request;
    if (deps !== undefined && deps.length !== this.state.entries) {
      this.#refuse(request.ref, MALFORMED, from, out);
      return;
    }
    const snapshot = { ts: request.snapshot, deps };
    if (since === null) this.counters.slices++;
    if (this.#isAhead(request)) {
      this.#refuse(request.ref, OF_A_HIGHER_MAP, from, out);
      return;
    }
    this.rules.observeSnapshot(snapshot);
    const needed = neededFor(request, snapshot);
    const obstacle =
      this.reading.obstacle(snapshot, now) ?? (needed === snapshot ? undefined : this.reading.obstacle(needed, now));
    if (isWait(obstacle)) {
      if (this.state.membership.joined) {
        this.waiting.add({ request, snapshot: needed, node: from.node }, since ?? now, obstacle, out);
        this.state.activity.wake(now, out);
      } else this.#refuse(request.ref, NOT_THERE, from, out);
      return;
    }
    if (since !== null) this.waiting.ended(since, now);
    if (obstacle === undefined) this.#answer(request, from, out);
    else this.#refuse(request.ref, obstacle, from, out);
  }

  /**
   * A snapshot is waited for within a bound. The coordinator asks again, here or elsewhere, as long as its client
   * waits.
   */
  expire(now: WallMs, out: Out): void {
    for (const { request, node } of this.waiting.expired(now, this.state.settings.snapshotWaitMs)) {
      this.#refuse(request.ref, NOT_IN_TIME, { node, machine: 'coordinator' }, out);
    }
  }

  /** Resumes the reads whose snapshots are installed now. */
  release(now: WallMs, out: Out): void {
    if (this.waiting.size > 0) this.waiting.release((snapshot) => this.reading.obstacle(snapshot, now), out);
  }

  #answer(request: SliceRead, from: Address, out: Out): void {
    const { ref, partition } = request;
    const snapshot = { ts: request.snapshot, deps: request.deps };
    if (request.type === 'ListSliceReq') {
      const { entries, next } = pageOfLevel(this.reading.list(request.range, snapshot), request.range);
      out.send(from, { type: 'ListSliceResp', ref, partition, entries, next });
    } else {
      const versions = request.keys.map((key) => this.reading.read(key, snapshot) ?? null);
      const newer = request.newest !== undefined ? this.#newer(request.keys, versions) : undefined;
      out.send(from, { type: 'ReadSliceResp', ref, partition, versions, newer });
    }
  }

  /** The newest versions of keys whose snapshot has an older version, or none. */
  #newer(keys: readonly QualifiedKey[], versions: readonly (Version | null)[]): ReadSliceResp['newer'] {
    const newer = keys.flatMap((key, index) => {
      const [version, old] = [this.reading.newest(key), versions[index]];
      return version === undefined || (old != null && compareVersions(version, old) === 0) ? [] : [{ index, version }];
    });
    return newer.length === 0 ? undefined : newer;
  }

  /** M6. What the map defers is in the data until the map is adopted on the disk. */
  #isAhead({ map = 0, snapshot }: SliceRead): boolean {
    const { maps, topology } = this.state;
    return map > topology.version || (maps.isAdopting && snapshot > topology.map.horizon);
  }

  #refuse(ref: number, { code, detail }: Refusal, from: Address, out: Out): void {
    this.counters.refusedSlices++;
    out.send(from, { type: 'Refused', ref, code, detail });
  }
}

/** A replica that has fallen back behind stable time does not have the newest versions (AR8). */
function neededFor(request: SliceRead, snapshot: Snapshot): Snapshot {
  const newest = request.type === 'ReadSliceReq' ? request.newest : undefined;
  return newest === undefined || newest <= snapshot.ts ? snapshot : { ...snapshot, ts: newest };
}

const NOT_THERE: Refusal = {
  code: 'SNAPSHOT_UNAVAILABLE',
  detail: 'This replica has no data yet; try again.',
};
/** M6 */
const OF_A_HIGHER_MAP: Refusal = {
  code: 'SNAPSHOT_UNAVAILABLE',
  detail: 'This replica has not adopted the map of the snapshot yet; try again.',
};
const NOT_IN_TIME: Refusal = {
  code: 'SNAPSHOT_UNAVAILABLE',
  detail: 'The snapshot was not installed here in time; try again.',
};
const MALFORMED: Refusal = {
  code: 'INVALID_REQUEST',
  detail: 'The snapshot has another number of entries than those of this protocol.',
};
