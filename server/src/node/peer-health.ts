/** The nodes that do not answer this node: watches the links, and reports changes at once. */
import type { NodeId, Topology } from '@isochron/core';
import { LOOK_INTERVAL_MS, PeerWatch, type Unresponsive } from '@isochron/protocols';
import type { Logger } from 'pino';

export class PeerHealth {
  readonly #watch: PeerWatch;
  readonly #listeners = new Set<() => void>();
  #silentMs: (node: NodeId) => number | undefined = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether every node has answered since the start. */
  #allAnswered = false;

  constructor(
    node: NodeId,
    topology: Topology,
    readonly log: Pick<Logger, 'info' | 'warn'>,
    maps: ConstructorParameters<typeof PeerWatch>[3],
  ) {
    this.#watch = new PeerWatch(node, topology, performance.now(), maps);
  }

  /** The nodes from which nothing comes. */
  get silent(): readonly NodeId[] {
    return this.#watch.silent;
  }

  get unresponsive(): Unresponsive {
    return this.#watch.unresponsive;
  }

  /** Calls `listener` after every change, for as long as the node runs. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** @param silentMs time since the last message of a node; undefined while its link is down */
  start(silentMs: (node: NodeId) => number | undefined): void {
    this.#silentMs = silentMs;
    this.#timer = setInterval(() => this.look(), LOOK_INTERVAL_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#listeners.clear();
  }

  /** Also called when a link comes up or goes down. */
  look(): void {
    const now = performance.now();
    const receivedAtMs = (node: NodeId): number | undefined => {
      const silentMs = this.#silentMs(node);
      return silentMs === undefined ? undefined : now - silentMs;
    };
    const before = this.unresponsive;
    if (!this.#watch.look(now, receivedAtMs)) return;
    if (this.unresponsive !== before) this.#report();
    for (const listener of this.#listeners) listener();
  }

  #report(): void {
    const { nodes, regions } = this.unresponsive;
    // After a start the links are not up yet: that is not reported.
    const started = this.#allAnswered;
    if (nodes.length === 0) this.#allAnswered = true;
    if (nodes.length > 0 && started)
      this.log.warn({ nodes, regions }, 'nodes do not answer: new writes avoid their regions');
    else if (nodes.length === 0) this.log.info('every node answers');
  }
}
