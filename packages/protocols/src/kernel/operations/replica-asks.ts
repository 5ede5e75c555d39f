/** A replica's questions to other partitions of its region, each repeated until it is answered. */
import type { NodeId, PartitionId, WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { Addresses, type NodeState } from '../node-state.js';
import type { Ref } from '../replication/messages.js';
import { type AnswerOf, type AnswerType, Asks, type Requester } from './asks.js';
import type { OperationMessage } from './messages.js';

type Out = Effects<OperationMessage>;

/** The purpose of some questions, which can be dropped together. */
export type Matter = Requester;

export class ReplicaAsks {
  readonly #asks: Asks;
  readonly #addresses: Addresses;

  constructor(
    readonly self: Address,
    readonly state: NodeState,
  ) {
    this.#asks = new Asks(state.clock, state.settings.readTimeoutMs);
    this.#addresses = new Addresses(state.maps);
  }

  /** Number of open questions. */
  get size(): number {
    return this.#asks.size;
  }

  /** A new matter for questions. */
  matter(): Matter {
    return { from: this.self, ref: 0 };
  }

  /** @param taken is called once, with the answer */
  ask<T extends AnswerType>(
    matter: Matter,
    partition: PartitionId,
    request: (ref: Ref) => OperationMessage,
    answer: T,
    taken: (answer: AnswerOf<T>, now: WallMs, out: Out) => void,
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

  /** The answers are not needed any more. */
  end(matter: Matter): void {
    this.#asks.end(matter);
  }

  take(answer: AnswerOf<AnswerType>, from: Address, now: WallMs, out: Out): void {
    this.#asks.take(answer, from, now, out);
  }

  /** A node that may have lost a question is reachable again. */
  reachable(node: NodeId, now: WallMs, out: Out): void {
    this.#asks.reachable(node, now, out);
  }

  retry(now: WallMs, out: Out): void {
    this.#asks.sweep(now, out);
  }
}

const NEVER = { code: 'REPLICA_UNREACHABLE', detail: '' } as const;
