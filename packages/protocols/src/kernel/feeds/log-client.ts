/** Requests the logs of partitions, from this node where it has them, and otherwise from a replica elsewhere (CF5). */
import type { NodeId, PartitionId, Timestamp, WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { FeedsState } from './log-server.js';
import { type ChangesPageResp, FEEDS_MACHINE, type FeedMessage } from './messages.js';

type Out = Effects<FeedMessage>;

/** Requests for one partition at a time: the live one, and some for readers that are behind. */
const MAX_REQUESTS = 8;

interface LogRequest {
  readonly partition: PartitionId;
  readonly after: Timestamp;
  /** It waits at the replica until UST is above it: its page is the next one for every reader at the end. */
  readonly live: boolean;
  /** Replicas whose log does not reach back to it. */
  readonly gone: Set<NodeId>;
  turn: number;
  sentAt: WallMs;
}

/** A page came, or no replica that can be reached has its range any more. */
export type PageOutcome = 'page' | 'gone' | 'none';

export class LogClient {
  readonly #requests = new Map<PartitionId, Map<Timestamp, LogRequest>>();
  /** At the start, all other nodes: a link event removes them. */
  readonly #down: Set<NodeId>;

  constructor(readonly state: FeedsState) {
    this.#down = new Set(state.topology.nodes.filter((node) => node !== state.node));
  }

  /** Requests without an answer. */
  get size(): number {
    let size = 0;
    for (const requests of this.#requests.values()) size += requests.size;
    return size;
  }

  /** Requests the page after a timestamp, unless a request will bring it. */
  ask(partition: PartitionId, after: Timestamp, now: WallMs, out: Out): void {
    const requests = this.#requests.get(partition) ?? new Map<Timestamp, LogRequest>();
    this.#requests.set(partition, requests);
    if (requests.has(after) || requests.size >= MAX_REQUESTS) return;
    for (const other of requests.values()) if (other.live && other.after <= after) return;
    const live = after >= this.state.stable.value;
    const request: LogRequest = { partition, after, live, gone: new Set(), turn: 0, sentAt: now };
    requests.set(after, request);
    this.#send(request, now, out);
  }

  onPage(
    { partition, after, upTo, truncatedUpTo }: ChangesPageResp,
    from: Address,
    now: WallMs,
    out: Out,
  ): PageOutcome {
    const request = this.#requests.get(partition)?.get(after);
    if (request === undefined || !this.#replicas(partition).includes(from.node)) return 'none';
    if (truncatedUpTo <= after && upTo > after) {
      this.#requests.get(partition)!.delete(after);
      return 'page';
    }
    request.gone.add(from.node);
    if (this.#send(request, now, out)) return 'none';
    this.#requests.get(partition)!.delete(after);
    return 'gone';
  }

  /** Sends requests that were not answered for some time to the next replica. */
  retry(now: WallMs, out: Out): void {
    for (const requests of this.#requests.values())
      for (const request of requests.values())
        if (now - request.sentAt >= this.state.settings.readTimeoutMs) {
          request.turn++;
          this.#send(request, now, out);
        }
  }

  /** No reader waits any more. */
  clear(): void {
    this.#requests.clear();
  }

  link(node: NodeId, up: boolean): void {
    if (up) this.#down.delete(node);
    else this.#down.add(node);
  }

  /** The nodes with a replica, the nearest first. */
  #replicas(partition: PartitionId): NodeId[] {
    const { topology, region } = this.state;
    return topology.preferredRegions(partition, region).map((other) => topology.replicaNode(partition, other)!);
  }

  /** Returns whether there is a replica to ask. */
  #send(request: LogRequest, now: WallMs, out: Out): boolean {
    request.sentAt = now;
    const { partition, after, gone, turn } = request;
    const nodes = this.#replicas(partition).filter((node) => !this.#down.has(node) && !gone.has(node));
    const node = nodes[turn % nodes.length];
    if (node === undefined) return false;
    out.send({ node, machine: FEEDS_MACHINE }, { type: 'ChangesPageReq', partition, after });
    return true;
  }
}
