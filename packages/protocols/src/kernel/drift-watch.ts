import type { NodeId, WallMs } from '@isochron/core';

/** Compares the own wall clock with the peers': a node that is far off from their median refuses prepares (T1). */
export class DriftWatch {
  readonly #offsets = new Map<NodeId, number>();

  constructor(readonly maxClockDriftMs: number) {}

  /** A peer's wall clock as it stood when its message left; the delay of the link counts as drift, and is small. */
  observe(peer: NodeId, peerWall: WallMs, now: WallMs): void {
    this.#offsets.set(peer, peerWall - now);
  }

  /** Median of the peers' clocks minus the own one, in ms; of an even number the middle one that is nearer: one wild peer of two proves nothing. */
  get medianMs(): number {
    const offsets = [...this.#offsets.values()].sort((a, b) => a - b);
    const upper = offsets[Math.floor(offsets.length / 2)] ?? 0;
    const lower = offsets[Math.floor((offsets.length - 1) / 2)] ?? 0;
    return Math.abs(lower) < Math.abs(upper) ? lower : upper;
  }

  /** Whether this node is the one that is off. */
  get excessive(): boolean {
    return Math.abs(this.medianMs) > this.maxClockDriftMs;
  }
}
