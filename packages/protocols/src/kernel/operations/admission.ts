/**
 * Admits updates of peers once all their dependencies are in this region (Orbe, section 3.2, "Update Replication";
 * COPS' dep_check): it looks at the own partition, and asks others. Questions about the updates behind the first are
 * under way at the same time.
 */
import type { Deps, LogGroup, PartitionId, QualifiedKey, RegionId, Timestamp, WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { Gate } from '../replication/gate.js';
import type { AdmitUpdates, OperationMessage } from './messages.js';
import type { AdmissionRules, Need, PeerUpdate, ReplicaView } from './protocol.js';
import type { Matter } from './replica-asks.js';

type Out = Effects<OperationMessage>;

/** The largest number of updates of one source with questions under way. */
const AHEAD = 256;

/** The progress of a group towards its admission. */
interface GroupProgress {
  readonly updates: readonly PeerUpdate[];
  /** Of the own partition and other sources. */
  readonly own: readonly Need[];
  readonly matter: Matter;
  /** Missing answers. */
  open: number;
}

export class Admission implements Gate {
  readonly counters = { dependencies: 0, dependencyChecks: 0 };
  readonly #progress = new Map<LogGroup, GroupProgress>();
  /** Up to where each source's keys are in memory, or on their way there. */
  readonly #fetching = new Map<RegionId, Timestamp>();
  readonly #fetched = new Map<RegionId, Timestamp>();
  /** Positions of regions in the cluster file, as dependency checks name them. */
  readonly #positions: ReadonlyMap<RegionId, number>;

  constructor(
    readonly rules: AdmissionRules,
    /** The replica, once it is complete. */
    readonly replica: () => ReplicaView,
    readonly self: Address,
    regions: readonly RegionId[],
  ) {
    this.#positions = new Map(regions.map((region, i) => [region, i]));
  }

  admits(source: RegionId, waiting: readonly LogGroup[], now: WallMs, out: Out): boolean {
    this.#lookAhead(source, waiting, now, out);
    const first = waiting[0]!;
    if (!this.#satisfied(first, now) || !this.#inMemory(source, waiting, now, out)) return false;
    const { admitted } = this.rules;
    if (admitted === undefined) return true;
    for (const update of this.#progress.get(first)!.updates)
      admitted.call(this.rules, update, this.replica(), now, out);
    return true;
  }

  /** They have been applied, or will be received again. */
  drop(groups: readonly LogGroup[]): void {
    for (const group of groups) {
      const progress = this.#progress.get(group);
      if (progress === undefined) continue;
      this.#progress.delete(group);
      if (this.#satisfiedAll(progress)) continue;
      this.replica().asks.end(progress.matter);
      for (const update of progress.updates) this.rules.dropped?.(update, this.replica());
    }
  }

  /** The keys are in memory. */
  onAdmitUpdates({ source, upTo }: AdmitUpdates): void {
    this.#fetching.delete(source);
    this.#fetched.set(source, upTo);
  }

  /** The keys in memory may leave it after this step. */
  stepEnded(): void {
    this.#fetched.clear();
  }

  /** Keys that could not be brought to memory are requested again. */
  retry(): void {
    this.#fetching.clear();
  }

  #lookAhead(source: RegionId, waiting: readonly LogGroup[], now: WallMs, out: Out): void {
    let begun = Math.min(waiting.length, AHEAD);
    while (begun > 0 && !this.#progress.has(waiting[begun - 1]!)) begun--;
    for (const group of waiting.slice(begun, AHEAD)) this.#begin(source, group, now, out);
  }

  #begin(source: RegionId, group: LogGroup, now: WallMs, out: Out): void {
    const view = this.replica();
    const updates = group.txs.map((tx): PeerUpdate => ({ source, ts: group.ct, tx }));
    const needs = updates.flatMap((update) => this.rules.needs(update, view));
    // The earlier updates of this source are applied before.
    const own = needs.filter(({ partition, region }) => partition === view.partition && region !== source);
    const progress: GroupProgress = { updates, own, matter: view.asks.matter(), open: 0 };
    this.#progress.set(group, progress);
    this.counters.dependencies += needs.length;
    for (const [partition, wanted] of this.#byPartition(needs)) {
      if (partition !== view.partition) this.#check(progress, partition, wanted, now, out);
    }
    if (this.rules.prepare === undefined) return;
    for (const update of updates) {
      progress.open++;
      this.rules.prepare(update, view, () => void progress.open--, now, out);
    }
  }

  #check(progress: GroupProgress, partition: PartitionId, needs: Deps, now: WallMs, out: Out): void {
    progress.open++;
    this.counters.dependencyChecks++;
    this.replica().asks.ask(
      progress.matter,
      partition,
      (ref) => ({ type: 'DepCheckReq', ref, partition, needs }),
      'DepCheckResp',
      () => void progress.open--,
      now,
      out,
    );
  }

  #byPartition(needs: readonly Need[]): Map<PartitionId, Timestamp[]> {
    const asked = new Map<PartitionId, Timestamp[]>();
    for (const { partition, region, ts } of needs) {
      const wanted = asked.get(partition);
      const pair = [this.#positions.get(region)!, ts];
      if (wanted === undefined) asked.set(partition, pair);
      else wanted.push(...pair);
    }
    return asked;
  }

  /** The own partition's part is applied earlier in the same store: it need not be on disk yet. */
  #satisfied(group: LogGroup, now: WallMs): boolean {
    const { replication } = this.replica();
    const progress = this.#progress.get(group)!;
    return (
      this.#satisfiedAll(progress) &&
      !replication.suspects(now) &&
      progress.own.every(({ region, ts }) => replication.vv.applied(region) >= ts)
    );
  }

  #satisfiedAll({ open }: GroupProgress): boolean {
    return open === 0;
  }

  /** The keys that applying the update reads have been brought to memory for this step. */
  #inMemory(source: RegionId, waiting: readonly LogGroup[], now: WallMs, out: Out): boolean {
    if (this.rules.reads === undefined || waiting[0]!.ct <= (this.#fetched.get(source) ?? 0)) return true;
    if (this.#fetching.has(source)) return false;
    const ready: LogGroup[] = [];
    for (const group of waiting.slice(0, AHEAD)) {
      if (!this.#satisfied(group, now)) break;
      ready.push(group);
    }
    const upTo = ready.at(-1)!.ct;
    const keys = ready.flatMap(({ txs }) => txs.flatMap(({ writes }) => writes.map(({ key }): QualifiedKey => key)));
    this.#fetching.set(source, upTo);
    out.send(this.self, { type: 'AdmitUpdates', source, upTo, keys });
    return false;
  }
}
