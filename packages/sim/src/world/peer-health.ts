import type { NodeId, Topology } from '@isochron/core';
import { LOOK_INTERVAL_MS, PeerWatch, type Unresponsive } from '@isochron/protocols';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';

/** The state of its links that a node's driver uses. */
export interface HealthWorld {
  readonly topology: Topology;
  readonly time: VirtualTime;
  /** Whether a ping of the peer gets through to the node now. */
  pings(peer: NodeId, node: NodeId): boolean;
}

/**
 * Feeds a process's {@link PeerWatch} as the server's driver does: frames, pings of idle links, links that come up and
 * go down.
 */
export class SimPeerHealth {
  readonly #watch: PeerWatch;
  /** When the last frame or ping arrived from each node whose link is up. */
  readonly #receivedAtMs = new Map<NodeId, number>();

  constructor(
    readonly node: NodeId,
    readonly world: HealthWorld,
    /** Called after every change. */
    readonly changed: () => void,
    maps: ConstructorParameters<typeof PeerWatch>[3],
  ) {
    this.#watch = new PeerWatch(node, world.topology, world.time.now, maps);
  }

  /** The nodes from which nothing was received. */
  get silent(): readonly NodeId[] {
    return this.#watch.silent;
  }

  get unresponsive(): Unresponsive {
    return this.#watch.unresponsive;
  }

  link(peer: NodeId, up: boolean): void {
    if (up) this.#receivedAtMs.set(peer, this.world.time.now);
    else this.#receivedAtMs.delete(peer);
    this.#look();
  }

  receivedFrom(peer: NodeId): void {
    if (this.#receivedAtMs.has(peer)) this.#receivedAtMs.set(peer, this.world.time.now);
  }

  /** @param soon calls back after this many ms, if the process runs then, or when it goes on */
  start(soon: (ms: number, run: () => void) => void): void {
    soon(LOOK_INTERVAL_MS, () => {
      for (const peer of this.#receivedAtMs.keys()) if (this.world.pings(peer, this.node)) this.receivedFrom(peer);
      this.#look();
      this.start(soon);
    });
  }

  #look(): void {
    if (this.#watch.look(this.world.time.now, (peer) => this.#receivedAtMs.get(peer))) this.changed();
  }
}
