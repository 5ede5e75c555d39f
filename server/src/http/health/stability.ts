/** The age of stable time, and the region whose writes it waits for (D11). */
import { type PartitionId, type Timestamp, wallOf } from '@isochron/core';
import type { Freshness, HeldBack } from '@isochron/wire/session-frames';
import type { FastifyBaseLogger } from 'fastify';
import type { NodeStatus, RunningNode } from '../../node/api.js';

/** The lowest entry of the version vectors that a node holds: stable time cannot be above it. */
export interface LowestEntry {
  /** Source region of the entry. */
  readonly region: string;
  /** The node of that region that makes the writes. */
  readonly node: string | null;
  /** The partition on this node. */
  readonly partition: string;
  readonly timestamp: Timestamp;
  readonly ageMs: number;
}

/** Stable time in the status. */
export interface Stability {
  readonly ust: Timestamp;
  readonly stalenessMs: number;
  /** The cluster's `stalenessAlertMs`. */
  readonly alertMs: number;
  /** Whether `stalenessMs` is above `alertMs`. */
  readonly stale: boolean;
  /** Null on a node without replicas. */
  readonly lowest: LowestEntry | null;
  /** The region whose writes stable time waits for, while `stale`. */
  readonly heldBackBy: HeldBack | null;
}

type Log = Pick<FastifyBaseLogger, 'info' | 'warn'>;

/** Watches the age of stable time, and logs when it passes the threshold and when it is fresh again. */
export class StabilityMonitor {
  readonly #node: RunningNode;
  readonly #log: Log;
  #freshness: Freshness;
  #warned = false;
  #clock: { readonly problem: string | undefined; readonly logged: boolean } = { problem: undefined, logged: false };

  constructor(node: RunningNode, log: Log) {
    this.#node = node;
    this.#log = log;
    this.#freshness = this.#measure();
  }

  /** As of the last look, about a second ago at most; the clock as of now. */
  get freshness(): Freshness {
    const stalenessMs = Math.round(this.#node.stalenessMs());
    return { ...this.#freshness, now: Math.floor(this.#node.now()), stalenessMs };
  }

  /** Called about once a second. Returns whether more than the time has changed. */
  look(): boolean {
    this.#watchClock();
    const before = this.#freshness;
    this.#freshness = this.#measure();
    const { stale, stalenessMs, heldBackBy } = this.#freshness;
    if (stale !== this.#warned) {
      this.#warned = stale;
      if (stale) this.#log.warn({ stalenessMs, heldBackBy }, 'snapshots are stale: a region is down or cut off');
      else this.#log.info({ stalenessMs }, 'snapshots are fresh again');
    }
    return stale !== before.stale || JSON.stringify(heldBackBy) !== JSON.stringify(before.heldBackBy);
  }

  /**
   * Logs that the wall clock has become unusable, or is right again (K2). After a start its comparison takes a moment.
   */
  #watchClock(): void {
    const before = this.#clock;
    const problem = this.#node.clockProblem();
    const lasts = problem !== undefined && before.problem !== undefined;
    this.#clock = { problem, logged: lasts };
    if (lasts && !before.logged) this.#log.warn({ problem }, 'this node takes no writes: its clock cannot be used');
    if (problem === undefined && before.logged) this.#log.info({}, 'the clock is right: this node takes writes again');
  }

  /** Always the cheap part; the search for the cause only while stable time is stale. */
  #measure(): Freshness {
    const now = Math.floor(this.#node.now());
    const stalenessMs = Math.round(this.#node.stalenessMs());
    const stale = isStale(this.#node);
    return { now, stalenessMs, stale, heldBackBy: stale ? stabilityOf(this.#node).heldBackBy : null };
  }
}

/**
 * A node before its first stable time is not ready, and not stale. Stable time ahead of the clock by more than clocks
 * may differ is stale, too: one of both is wrong (K4).
 */
export function isStale(node: RunningNode): boolean {
  const { stalenessAlertMs, maxClockDriftMs } = node.config.settings;
  const ust = node.ust();
  return ust > 0 && (node.stalenessMs() > stalenessAlertMs || wallOf(ust) - node.now() > maxClockDriftMs);
}

/** The age of stable time and its causes, from the data of this node. */
export function stabilityOf(node: RunningNode, status: NodeStatus = node.status()): Stability {
  const { stalenessAlertMs: alertMs } = node.config.settings;
  const { ust } = status;
  const stalenessMs = Math.round(status.stalenessMs);
  const stale = isStale(node);
  const lowest = lowestEntry(node, status);
  return { ust, stalenessMs, alertMs, stale, lowest, heldBackBy: stale ? heldBack(lowest, status, alertMs) : null };
}

/** Age in ms of the lowest entry for each region, over the replicas of a node. */
export function replicationAges(node: RunningNode): Map<string, number> {
  const ages = new Map<string, number>();
  const now = node.now();
  for (const { versionVector } of node.status().partitions) {
    for (const [region, timestamp] of Object.entries(versionVector)) {
      ages.set(region, Math.max(ages.get(region) ?? 0, now - wallOf(timestamp)));
    }
  }
  return ages;
}

function lowestEntry(node: RunningNode, { partitions }: NodeStatus): LowestEntry | null {
  let lowest: LowestEntry | null = null;
  const now = node.now();
  for (const { partition, versionVector } of partitions) {
    for (const [region, timestamp] of Object.entries(versionVector)) {
      if (lowest !== null && timestamp >= lowest.timestamp) continue;
      const ageMs = Math.max(0, Math.round(now - wallOf(timestamp)));
      lowest = { region, node: writerOf(node, partition, region), partition, timestamp, ageMs };
    }
  }
  return lowest;
}

function writerOf({ topology }: RunningNode, name: string, region: string): string | null {
  const id: PartitionId = topology.partitions.findIndex((partition) => partition.name === name);
  return (id < 0 ? undefined : topology.replicaNode(id, region)) ?? null;
}

/**
 * An own version vector entry as old as stable time explains it. Where all of them are fresh, a replica elsewhere lacks
 * writes, as the reports of all nodes name them; without these, they are most likely those of an unreachable node.
 */
function heldBack(lowest: LowestEntry | null, { links, heldBackBy }: NodeStatus, alertMs: number): HeldBack | null {
  if (lowest !== null && lowest.ageMs > alertMs) {
    const { region, node, partition } = lowest;
    return { region, node, partition };
  }
  const down = links.find(({ up }) => !up);
  if (heldBackBy !== null) return heldBackBy;
  return down === undefined ? null : { region: down.region, node: down.node, partition: null };
}
