/**
 * Dependencies that name keys, in a node: whether they are plausible, their needs in a region, and when they are not
 * needed any more.
 */
import {
  type Dependency,
  HLC_TICKS_PER_MS,
  IsochronError,
  type PartitionId,
  type QualifiedKey,
  type Timestamp,
  type Topology,
} from '@isochron/core';
import type { NodeState } from '../node-state.js';
import type { Need } from './protocol.js';

/** How often a node stores the stable time. */
const SAMPLE_INTERVAL: Timestamp = 100 * HLC_TICKS_PER_MS;

/**
 * Whether a list from outside can belong to this cluster (D12): regions and keyspaces exist, nothing lies above `upTo`.
 */
export function plausible(depends: readonly Dependency[], topology: Topology, upTo: Timestamp): boolean {
  return depends.every(({ source, ts, key }) => {
    return source < topology.regions.length && ts <= upTo && partitionOf(key, topology) !== undefined;
  });
}

/** The partition of a key that a peer has named; undefined for an unknown keyspace. */
export function partitionOf(key: QualifiedKey, topology: Topology): PartitionId | undefined {
  try {
    return topology.partitionOf(key);
  } catch (error) {
    if (error instanceof IsochronError) return undefined;
    throw error;
  }
}

/** The needs of these dependencies in a region. Names that do not exist need nothing (D12). */
export function needsOf(depends: readonly Dependency[], topology: Topology): Need[] {
  return depends.flatMap(({ key, source, ts }) => {
    const [partition, region] = [partitionOf(key, topology), topology.regions[source]];
    return partition === undefined || region === undefined ? [] : [{ partition, region, ts }];
  });
}

/** Dependencies by partition: the keys, and their needs as pairs of a region's position and a timestamp. */
export function byPartition(
  depends: readonly Dependency[],
  topology: Topology,
): Map<PartitionId, { readonly keys: Set<QualifiedKey>; readonly needs: Timestamp[] }> {
  const found = new Map<PartitionId, { keys: Set<QualifiedKey>; needs: Timestamp[] }>();
  for (const { key, source, ts } of depends) {
    const partition = partitionOf(key, topology);
    if (partition === undefined || source >= topology.regions.length) continue;
    const part = found.get(partition) ?? { keys: new Set<QualifiedKey>(), needs: [] };
    found.set(partition, part);
    part.keys.add(key);
    part.needs.push(source, ts);
  }
  return found;
}

/**
 * What has been in every region for a window: this node's highest stable time of a window ago. The window is logical
 * time: the receiver of a message with this value has a clock past the window, too.
 */
export class LongStable {
  readonly #samples: { readonly at: Timestamp; readonly ust: Timestamp }[] = [];
  readonly #window: Timestamp;
  #upTo: Timestamp = 0;
  #sampledAt: Timestamp = Number.NEGATIVE_INFINITY;

  constructor(
    readonly state: NodeState,
    windowMs: number,
  ) {
    this.#window = windowMs * HLC_TICKS_PER_MS;
  }

  /** Stores the present stable time, in every round. */
  sample(): void {
    const { last } = this.state.clock;
    if (last < this.#sampledAt + SAMPLE_INTERVAL) return;
    this.#sampledAt = last;
    this.#samples.push({ at: last, ust: this.state.stable.aggregated });
  }

  /** Nothing at or below it needs to be named in dependencies any more. */
  get upTo(): Timestamp {
    const { last } = this.state.clock;
    while (this.#samples.length > 0 && this.#samples[0]!.at <= last - this.#window) {
      this.#upTo = Math.max(this.#upTo, this.#samples.shift()!.ust);
    }
    return this.#upTo;
  }
}

/** Whether so much logical time has passed since a timestamp. */
export const passed = (since: Timestamp, windowMs: number, { clock }: NodeState): boolean =>
  clock.last >= since + windowMs * HLC_TICKS_PER_MS;
