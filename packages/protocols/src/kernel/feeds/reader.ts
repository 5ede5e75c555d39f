/** A reader of changes on this node, and its request while that waits. */
import type { PartitionId, Timestamp, Topology, WallMs } from '@isochron/core';
import type { Address } from '../../machine.js';
import type { CollectedTransactions, NetContents } from './collected.js';
import { partitionsOf, type Scope, ScopeUnion } from './scope.js';

/** A request that has no answer yet. */
export interface WaitingRequest {
  readonly ref: number;
  readonly after: Timestamp;
  readonly limitBytes: number;
  /** When it is answered without changes, at the ends of the tails. */
  readonly deadline: WallMs;
  /** When it is answered although its reader is behind. */
  readonly catchUpBy: WallMs;
  /** Everything of the scope from `after` to the reader's position. */
  readonly collected: CollectedTransactions | NetContents;
  /** Transactions that were examined for it. */
  examined: number;
}

/** One scope of a reader. */
export interface HeldScope extends Scope {
  readonly reader: Reader;
  readonly partitions: ReadonlySet<PartitionId>;
}

export class Reader {
  readonly #scopes = new Map<number, HeldScope>();
  /** How many of its scopes have keys of each partition. */
  readonly #partitions = new Map<PartitionId, number>();
  #union: ScopeUnion | undefined;
  request: WaitingRequest | undefined;
  /** Everything in the scope after `#since` up to here is empty, or collected for the request that waits. */
  #position: Timestamp = 0;
  #since: Timestamp = Number.POSITIVE_INFINITY;
  /**
   * Whether nothing in its scope lies between its position and the ends of all its partitions' tails. From then on the
   * index finds it when there is something, and it needs no look until then.
   */
  isSettled = false;
  /** A partition whose next page it waits for. */
  waitsAt: PartitionId | undefined;

  constructor(
    /** Receives the answers. */
    readonly address: Address,
    /** Whether it is a live reader, which gets net contents and keeps its scopes between requests. */
    readonly isLive: boolean,
  ) {}

  get position(): Timestamp {
    return this.#position;
  }

  /** The partitions that it reads. */
  get partitions(): ReadonlyMap<PartitionId, number> {
    return this.#partitions;
  }

  /** The union of all its scopes. */
  get scope(): ScopeUnion {
    this.#union ??= new ScopeUnion(this.#scopes.values());
    return this.#union;
  }

  /** All its scopes. */
  scopes(): IterableIterator<HeldScope> {
    return this.#scopes.values();
  }

  /** Adds a scope under a number that it does not use. Everything has to be examined again from the next request on. */
  add(number: number, { keys, ranges }: Scope, topology: Topology): HeldScope {
    const scope = { keys, ranges, reader: this, partitions: partitionsOf({ keys, ranges }, topology) };
    this.#scopes.set(number, scope);
    this.#union = undefined;
    this.#since = Number.POSITIVE_INFINITY;
    for (const partition of scope.partitions)
      this.#partitions.set(partition, (this.#partitions.get(partition) ?? 0) + 1);
    return scope;
  }

  /** Removes a scope; undefined if there is none of this number. */
  remove(number: number): HeldScope | undefined {
    const scope = this.#scopes.get(number);
    if (scope === undefined) return undefined;
    this.#scopes.delete(number);
    this.#union = undefined;
    for (const partition of scope.partitions) {
      const left = this.#partitions.get(partition)! - 1;
      if (left === 0) this.#partitions.delete(partition);
      else this.#partitions.set(partition, left);
    }
    return scope;
  }

  /** A request begins. What is known to be empty need not be examined again. */
  begin(request: WaitingRequest): void {
    this.request = request;
    if (request.after >= this.#since) this.#position = Math.max(this.#position, request.after);
    else {
      this.#position = request.after;
      this.#since = request.after;
      this.isSettled = false;
    }
  }

  /** Everything up to here is collected, or empty. */
  advanceTo(position: Timestamp): void {
    if (position > this.#position) this.#position = position;
  }

  /** The request is answered, with everything up to its position. */
  end(): void {
    if (this.request?.collected.isEmpty === false) this.#since = this.#position;
    this.request = undefined;
  }
}
