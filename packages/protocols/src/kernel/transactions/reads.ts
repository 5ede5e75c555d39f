/**
 * The coordinator's reads (Algorithm 2 lines 6–16): keys are grouped by partition, and every partition is asked in
 * parallel: a local replica if there is one, else the preferred remote one, and another one when that does not answer
 * (P10). Every replica gives the same answer, because the snapshot is installed everywhere.
 */
import {
  compareKeys,
  type ErrorCode,
  type ListRange,
  type NodeId,
  type PartitionId,
  type QualifiedKey,
  type RegionId,
  TransientMap,
  type Version,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { Addresses, NodeState } from '../node-state.js';
import type { ListedVersion } from '../replication/messages.js';
import type { ListSliceResp, ReadReq, ReadResp, ReadSliceResp, Refused, TransactionMessage } from './messages.js';
import type { Refusal, Snapshot, SnapshotRules } from './snapshots.js';

type Out = Effects<TransactionMessage>;
/** A client that waits for an answer, and its reference. */
export type Requester = { readonly from: Address; readonly ref: number };

/** One partition's part of a read. */
interface SliceRead {
  readonly partition: PartitionId;
  readonly request: (ref: number) => TransactionMessage;
  /** Regions to try, the preferred first. */
  readonly regions: readonly RegionId[];
  turn: number;
  sentTo: Address;
  sentAt: WallMs;
  done: boolean;
  /** A replica answered that it does not have the snapshot. */
  lacking: boolean;
}

interface PendingRead {
  readonly requester: Requester;
  readonly snapshot: Snapshot;
  readonly startedAt: WallMs;
  readonly slices: SliceRead[];
  waiting: number;
  readonly take: (partition: PartitionId, response: ReadSliceResp | ListSliceResp) => void;
  readonly finish: () => TransactionMessage;
}

const UNANSWERED: Refusal = {
  code: 'REPLICA_UNREACHABLE',
  detail: 'No replica of a partition answered; try again.',
};
const NOT_INSTALLED: Refusal = {
  code: 'SNAPSHOT_UNAVAILABLE',
  detail: 'A replica does not have the snapshot yet; try again.',
};

export class Reads {
  readonly counters = { reads: 0, localSlices: 0, remoteSlices: 0, failovers: 0, unanswered: 0 };
  readonly #pending = new TransientMap<number, PendingRead>();
  #regions: readonly (readonly RegionId[])[] = [];
  /** Begins at the clock: responses to a previous incarnation are ignored. 0 before the first read. */
  #nextRef = 0;

  constructor(
    readonly state: NodeState,
    readonly addresses: Addresses,
    readonly unreachable: ReadonlySet<NodeId>,
    readonly rules: SnapshotRules,
  ) {
    this.adopted();
  }

  /** A map is in force: other replicas may serve reads. */
  adopted(): void {
    this.#regions = this.state.topology.partitions.map(({ id }) => this.rules.sources(id));
  }

  get size(): number {
    return this.#pending.size;
  }

  /** Reads keys in a snapshot and answers the requester. */
  read(
    requester: Requester,
    { keys, newest: asksNewest }: Pick<ReadReq, 'keys' | 'newest'>,
    snapshot: Snapshot,
    now: WallMs,
    out: Out,
  ): void {
    const { ref } = requester;
    const { ts, deps } = snapshot;
    const map = this.state.topology.version || undefined;
    const newest = asksNewest === true ? this.state.stable.value : undefined;
    const versions: (Version | null)[] = new Array(keys.length).fill(null);
    const newer: NonNullable<ReadResp['newer']>[number][] = [];
    const positions = this.#group(keys);
    const slices: SliceRead[] = [];
    for (const [partition, indexes] of positions) {
      const asked = indexes.map((i) => keys[i]!);
      slices.push(
        this.#slice(partition, (r) => ({
          type: 'ReadSliceReq',
          ref: r,
          partition,
          snapshot: ts,
          keys: asked,
          deps,
          newest,
          map,
        })),
      );
    }
    this.#ask(
      {
        requester,
        snapshot,
        startedAt: now,
        slices,
        waiting: slices.length,
        take: (partition, response) => {
          if (response.type !== 'ReadSliceResp') return;
          const indexes = positions.get(partition)!;
          indexes.forEach((index, i) => {
            versions[index] = response.versions[i] ?? null;
          });
          for (const { index: i, version } of response.newer ?? []) {
            const index = indexes[i];
            if (index !== undefined) newer.push({ index, version });
          }
        },
        finish: () => ({
          type: 'ReadResp',
          ref,
          snapshot: ts,
          versions,
          deps,
          newer: newer.length > 0 ? newer : undefined,
        }),
      },
      now,
      out,
    );
  }

  /**
   * Lists one page of a keyspace: every partition gives its own page, and the merge ends at the first cut of any of
   * them.
   */
  list(requester: Requester, keyspace: string, range: ListRange, snapshot: Snapshot, now: WallMs, out: Out): void {
    const { ref } = requester;
    const { ts, deps } = snapshot;
    const map = this.state.topology.version || undefined;
    const pages: ListSliceResp[] = [];
    const partitions = this.state.topology.partitionsOf(keyspace);
    // Keys are spread evenly: a share with some reserve fills the page; whole pages would read it many times over.
    const limit = Math.min(range.limit, Math.ceil((1.25 * range.limit) / partitions.length) + 8);
    const share = { ...range, limit };
    const slices = partitions.map(({ id: partition }) => {
      return this.#slice(partition, (r) => ({
        type: 'ListSliceReq',
        ref: r,
        partition,
        snapshot: ts,
        range: share,
        deps,
        map,
      }));
    });
    this.#ask(
      {
        requester,
        snapshot,
        startedAt: now,
        slices,
        waiting: slices.length,
        take: (_partition, response) => {
          if (response.type === 'ListSliceResp') pages.push(response);
        },
        finish: () => ({ type: 'ListResp', ref, snapshot: ts, deps, ...mergePages(pages, range.limit) }),
      },
      now,
      out,
    );
  }

  onReadSliceResp(message: ReadSliceResp, out: Out): void {
    this.#onSlice(message, out);
  }

  onListSliceResp(message: ListSliceResp, out: Out): void {
    this.#onSlice(message, out);
  }

  /** If a replica has not recovered, another one is asked; a snapshot that is gone is gone everywhere soon. */
  onRefused({ ref, code, detail }: Refused, from: Address, now: WallMs, out: Out): void {
    const pending = this.#pending.get(ref);
    const slice = pending?.slices.find((s) => !s.done && s.sentTo.machine === from.machine);
    if (pending === undefined || slice === undefined) return;
    slice.lacking ||= code === 'SNAPSHOT_UNAVAILABLE';
    if (slice.sentTo.node !== from.node) return;
    if (code !== 'SNAPSHOT_UNAVAILABLE') this.#refuse(ref, pending, code, detail, out);
    else if (slice.turn + 1 < slice.regions.length) this.#next(ref, slice, now, out);
    // A single replica is asked again by the next sweep, not at once: it needs time to recover.
    else if (slice.regions.length === 1) slice.sentAt = Number.NEGATIVE_INFINITY;
  }

  /** Remote reads failed with their link: they go to another replica at once. */
  lost(node: NodeId, now: WallMs, out: Out): void {
    for (const [ref, pending] of this.#pending) {
      for (const slice of pending.slices)
        if (!slice.done && slice.sentTo.node === node) this.#next(ref, slice, now, out);
    }
  }

  sweep(now: WallMs, out: Out): void {
    const { readTimeoutMs, readDeadlineMs } = this.state.settings;
    for (const [ref, pending] of this.#pending) {
      if (now - pending.startedAt > readDeadlineMs) {
        this.counters.unanswered++;
        const lacking = pending.slices.some((slice) => !slice.done && slice.lacking);
        const { code, detail } = lacking ? NOT_INSTALLED : UNANSWERED;
        this.#refuse(ref, pending, code, detail, out);
        continue;
      }
      for (const slice of pending.slices) {
        if (!slice.done && now - slice.sentAt > readTimeoutMs) this.#next(ref, slice, now, out);
      }
    }
  }

  #group(keys: readonly QualifiedKey[]): Map<PartitionId, number[]> {
    const positions = new Map<PartitionId, number[]>();
    for (let i = 0; i < keys.length; i++) {
      const partition = this.state.topology.partitionOf(keys[i]!);
      const indexes = positions.get(partition);
      if (indexes === undefined) positions.set(partition, [i]);
      else indexes.push(i);
    }
    return positions;
  }

  #slice(partition: PartitionId, request: SliceRead['request']): SliceRead {
    const regions = this.#regions[partition]!;
    const sentTo = this.addresses.replica(partition, regions[0]!);
    return { partition, request, regions, turn: 0, sentTo, sentAt: 0, done: false, lacking: false };
  }

  #ask(pending: PendingRead, now: WallMs, out: Out): void {
    this.counters.reads++;
    if (pending.waiting === 0) {
      out.send(pending.requester.from, pending.finish());
      return;
    }
    const ref = this.#nextRef === 0 ? this.state.clock.latest(now, 0) : this.#nextRef;
    this.#nextRef = ref + 1;
    this.#pending.set(ref, pending);
    for (const slice of pending.slices) {
      if (this.unreachable.has(slice.sentTo.node)) this.#next(ref, slice, now, out);
      else this.#send(ref, slice, now, out);
    }
  }

  #send(ref: number, slice: SliceRead, now: WallMs, out: Out): void {
    if (slice.sentTo.node === this.state.node) this.counters.localSlices++;
    else this.counters.remoteSlices++;
    slice.sentAt = now;
    out.send(slice.sentTo, slice.request(ref));
  }

  /** The next replica whose node is reachable; the same one again when there is no other. */
  #next(ref: number, slice: SliceRead, now: WallMs, out: Out): void {
    const { regions } = slice;
    for (let tries = 0; tries < regions.length; tries++) {
      slice.turn++;
      slice.sentTo = this.addresses.replica(slice.partition, regions[slice.turn % regions.length]!);
      if (!this.unreachable.has(slice.sentTo.node)) break;
    }
    this.counters.failovers++;
    this.#send(ref, slice, now, out);
  }

  #onSlice(message: ReadSliceResp | ListSliceResp, out: Out): void {
    const pending = this.#pending.get(message.ref);
    const slice = pending?.slices.find((s) => s.partition === message.partition);
    if (pending === undefined || slice === undefined || slice.done) return; // a late answer of a replica given up
    slice.done = true;
    pending.take(message.partition, message);
    pending.waiting--;
    if (pending.waiting > 0) return;
    this.#pending.delete(message.ref);
    out.send(pending.requester.from, pending.finish());
  }

  #refuse(ref: number, pending: PendingRead, code: ErrorCode, detail: string, out: Out): void {
    this.#pending.delete(ref);
    out.send(pending.requester.from, { type: 'Refused', ref: pending.requester.ref, code, detail });
  }
}

/** Every page is complete below its `next`: so is the merge below the least of them. */
function mergePages(
  pages: readonly ListSliceResp[],
  limit: number,
): { entries: readonly ListedVersion[]; next: QualifiedKey | null } {
  let bound: QualifiedKey | null = null;
  for (const { next } of pages) {
    if (next !== null && (bound === null || compareKeys(next, bound) < 0)) bound = next;
  }
  const end = bound;
  const entries = pages
    .flatMap((page) => page.entries)
    .filter((entry) => end === null || compareKeys(entry.key, end) < 0)
    .sort((a, b) => compareKeys(a.key, b.key));
  if (entries.length <= limit) return { entries, next: bound };
  return { entries: entries.slice(0, limit), next: entries[limit]!.key };
}
