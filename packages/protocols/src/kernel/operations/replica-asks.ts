/** What a replica asks of other partitions of its region: each question is asked until it is answered. */
import type { NodeId, PartitionId, WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { Addresses, type NodeState } from '../node-state.js';
import type { Ref } from '../replication/messages.js';
import { type Answer, type AnswerType, Asks, type Requester } from './asks.js';
import type { OperationMessage } from './messages.js';

type Out = Effects<OperationMessage>;

/** What the answers to some questions are for; they can be given up together. */
export type Matter = Requester;

export class ReplicaAsks {
  readonly #asks: Asks;
  readonly #addresses: Addresses;

  constructor(
    readonly self: Address,
    readonly state: NodeState,
  ) {
    this.#asks = new Asks(state.clock, state.settings.readTimeoutMs);
    this.#addresses = new Addresses(state.topology);
  }

  /** How many are not answered yet. */
  get size(): number {
    return this.#asks.size;
  }

  /** A matter of its own, to ask about. */
  matter(): Matter {
    return { from: this.self, ref: 0 };
  }

  /** @param taken is called once, with the answer */
  ask<T extends AnswerType>(
    matter: Matter,
    partition: PartitionId,
    request: (ref: Ref) => OperationMessage,
    answer: T,
    taken: (answer: Answer<T>, now: WallMs, out: Out) => void,
    now: WallMs,
    out: Out,
  ): void {
    const to = this.#addresses.replica(partition, this.state.region);
    this.#asks.ask(
      { requester: matter, to, request, answer, taken, until: Number.POSITIVE_INFINITY, late: NEVER },
      now,
      out,
    );
  }

  /** Nobody wants the answers any more. */
  end(matter: Matter): void {
    this.#asks.end(matter);
  }

  take(answer: Answer<AnswerType>, from: Address, now: WallMs, out: Out): void {
    this.#asks.take(answer, from, now, out);
  }

  /** A node is there again that may have lost a question. */
  reachable(node: NodeId, now: WallMs, out: Out): void {
    this.#asks.reachable(node, now, out);
  }

  retry(now: WallMs, out: Out): void {
    this.#asks.sweep(now, out);
  }
}

const NEVER = { code: 'REPLICA_UNREACHABLE', detail: '' } as const;
