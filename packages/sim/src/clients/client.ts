import type { AnyMessage, NodeId, Random, RegionId, Timestamp, Topology } from '@isochron/core';
import { type Co, waitFor } from '../engine/coroutine.js';
import type { VirtualTime } from '../engine/virtual-time.js';
import type { ClientConnection, ClientNetwork } from './connection.js';
import type { ClientIo, Connection } from './io.js';

const RETRY_BASE_MS = 20;
const RETRY_CAP_MS = 500;
/** How often a client that waits for stable time is looked after. */
const STABLE_POLL_MS = 5;

/** One client: where it is, and its connection. */
export class Client<M extends AnyMessage> implements ClientIo<M> {
  #connection: ClientConnection<M> | undefined;
  /** A node told its stable time. */
  onWelcome: (ust: Timestamp) => void = () => {};
  /** Nodes that failed it since the last success come later. */
  readonly #failures = new Map<NodeId, number>();

  constructor(
    readonly time: VirtualTime,
    readonly random: Random,
    readonly network: ClientNetwork<M>,
    readonly topology: Topology,
    readonly requestTimeoutMs: number,
    public region: RegionId,
  ) {}

  get nowMs(): number {
    return this.time.now;
  }

  *connection(): Co<Connection<M>> {
    for (let attempt = 0; ; attempt++) {
      if (this.#connection?.open) return this.#connection;
      if (attempt > 0) yield* this.backOff(attempt);
      for (const node of this.#candidates()) {
        const opened = yield* waitFor<{ connection: ClientConnection<M>; ust: Timestamp } | undefined>((resume) =>
          this.network.connect(this.region, node, resume),
        );
        if (opened === undefined) {
          this.#failed(node);
          continue;
        }
        this.#connection = opened.connection;
        this.#failures.clear();
        this.onWelcome(opened.ust);
        return opened.connection;
      }
    }
  }

  /** A session needs no connection to begin. */
  *opened(): Co<void> {}

  call(
    connection: Connection<M>,
    request: (ref: number) => M,
    timeoutMs: number,
    onSent?: () => void,
  ): Co<M | undefined> {
    return waitFor<M | undefined>((resume) => {
      const late = this.time.after(timeoutMs, () => resume(undefined));
      connection.ask(request, (answer) => {
        this.time.cancel(late);
        resume(answer);
      });
      onSent?.();
    });
  }

  /** Waits until a node that it is connected to reports that every node serves `ts`; false when the time is over. */
  *stable(ts: Timestamp, timeoutMs: number): Co<boolean> {
    const endMs = this.nowMs + timeoutMs;
    while (this.nowMs < endMs) {
      yield* this.connection();
      const node = this.#connection?.host.protocol;
      node?.want(ts);
      if (node !== undefined && node.served() >= ts) return true;
      yield* this.pause(STABLE_POLL_MS);
    }
    return false;
  }

  *backOff(attempt: number): Co<void> {
    yield* this.pause(this.random.float() * Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** Math.min(attempt, 10)));
  }

  pause(ms: number): Co<void> {
    return waitFor<void>((resume) => {
      this.time.after(ms, () => resume());
    });
  }

  leave(connection: Connection<M>): void {
    this.#failed(connection.node);
    connection.close();
  }

  /** Goes to another region: what is under way is asked again from there. */
  moveTo(region: RegionId): void {
    this.region = region;
    this.#failures.clear();
    this.#connection?.close();
  }

  aside(region: RegionId, request: (ref: number) => M): void {
    const node = this.random.pick(this.topology.nodesOf(region));
    this.network.connect(this.region, node, (opened) => {
      opened?.connection.ask(request, () => opened.connection.close());
    });
  }

  /** The process of the client ends. */
  die(): void {
    this.#connection?.close();
  }

  #failed(node: NodeId): void {
    this.#failures.set(node, (this.#failures.get(node) ?? 0) + 1);
  }

  /** Nodes of the region first, in an order of the client's own, those that failed it behind. */
  #candidates(): NodeId[] {
    const { topology, region } = this;
    const others = topology.regions.filter((r) => r !== region);
    const near = shuffled(topology.nodesOf(region), this.random);
    const far = shuffled(
      others.flatMap((r) => [...topology.nodesOf(r)]),
      this.random,
    );
    const failures = (node: NodeId) => this.#failures.get(node) ?? 0;
    return [...near, ...far].sort((a, b) => failures(a) - failures(b));
  }
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = items.map((item) => ({ item, at: random.float() }));
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
