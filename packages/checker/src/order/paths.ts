import { NONE } from '../input/indexed-history.js';
import { type Groups, groupBy, type IntList } from '../input/ints.js';
import type { Reads } from '../input/reads.js';
import type { SessionOrder } from './session-order.js';

const RELATIONS = ['session', 'write-read', 'commit', 'final-state'] as const;

/** One step of a path. `ref` is the read for `write-read`, the forced order for `commit`. */
export interface Hop {
  readonly relation: (typeof RELATIONS)[number];
  readonly from: number;
  readonly to: number;
  readonly ref: number;
}

/** Orders of commits that a guarantee forces: edge i goes from `from[i]` to `to[i]`. */
export interface ForcedEdges {
  readonly from: IntList;
  readonly to: IntList;
  /** The same order, from earlier writers in the session of `from[i]`. */
  earlier(i: number): Iterable<Hop>;
}

/** The bounds of a search. */
export interface SearchLimits {
  /** Also go along forced orders of commits. */
  readonly commits?: boolean;
  /** Stay inside. */
  readonly within?: (tx: number) => boolean;
  /** Give up beyond this many hops. */
  readonly maxHops?: number;
}

/**
 * Shortest paths, searched backwards from their end. From one transaction of a session to a later one is a single hop,
 * however far apart they are: this is how people read session order.
 */
export class PathFinder {
  readonly #order: SessionOrder;
  readonly #reads: Reads;
  readonly #commitOrder: ForcedEdges | undefined;
  #commitsInto: Groups | undefined;
  readonly #round: Int32Array;
  readonly #hops: Int32Array;
  readonly #next: Int32Array;
  readonly #relation: Uint8Array;
  readonly #ref: Int32Array;
  readonly #queue: Int32Array;
  /** Per session, the rank below which all transactions are in the queue already. */
  readonly #swept: Int32Array;
  #current = 0;
  #end = 0;
  /** Transactions visited by all searches so far. */
  visited = 0;

  constructor(order: SessionOrder, reads: Reads, commitOrder?: ForcedEdges) {
    const size = order.rank.length;
    this.#order = order;
    this.#reads = reads;
    this.#commitOrder = commitOrder;
    this.#round = new Int32Array(size);
    this.#hops = new Int32Array(size);
    this.#next = new Int32Array(size);
    this.#relation = new Uint8Array(size);
    this.#ref = new Int32Array(size);
    this.#queue = new Int32Array(size);
    this.#swept = new Int32Array(order.members.starts.length);
  }

  /** The shortest path to `goal` from any transaction that `isStart` accepts; `goal` itself is not asked. */
  find(goal: number, isStart: (tx: number) => boolean, limits: SearchLimits = {}): Hop[] | undefined {
    this.#current++;
    this.#end = 0;
    this.#swept.fill(0);
    this.#round[goal] = this.#current;
    this.#hops[goal] = 0;
    this.#queue[this.#end++] = goal;
    for (let i = 0; i < this.#end; i++) {
      const tx = this.#queue[i]!;
      this.visited++;
      if (tx !== goal && isStart(tx)) return this.#trace(tx, goal);
      if (this.#hops[tx]! < (limits.maxHops ?? Number.POSITIVE_INFINITY)) this.#expand(tx, limits);
    }
    return undefined;
  }

  #expand(tx: number, { commits = false, within }: SearchLimits): void {
    const reach = (from: number, relation: number, ref: number): void => {
      if (this.#round[from] === this.#current || within?.(from) === false) return;
      this.#round[from] = this.#current;
      this.#hops[from] = this.#hops[tx]! + 1;
      this.#next[from] = tx;
      this.#relation[from] = relation;
      this.#ref[from] = ref;
      this.#queue[this.#end++] = from;
    };
    if (tx === this.#order.final) {
      this.#expandFinalState((from) => reach(from, 3, NONE));
      return;
    }
    for (let read = this.#reads.from[tx]!; read < this.#reads.to[tx]!; read++) {
      const writer = this.#reads.writer(read);
      if (writer !== NONE) reach(writer, 1, read);
    }
    this.#expandSession(tx, (from) => reach(from, 0, NONE));
    if (commits) this.#expandCommits(tx, (from, ref) => reach(from, 2, ref));
  }

  /** Every transaction comes before the final state. */
  #expandFinalState(reach: (from: number) => void): void {
    for (const tx of this.#order.members.items) if (tx !== this.#order.final) reach(tx);
  }

  #expandSession(tx: number, reach: (from: number) => void): void {
    const session = this.#order.sessionOf(tx);
    const rank = this.#order.rank[tx]!;
    const swept = this.#swept[session]!;
    for (let r = rank - 1; r >= swept; r--) {
      const from = this.#order.at(session, r);
      if (this.#order.isOrdered(from)) reach(from);
    }
    this.#swept[session] = Math.max(swept, rank);
  }

  #expandCommits(tx: number, reach: (from: number, ref: number) => void): void {
    const commitOrder = this.#commitOrder;
    if (commitOrder === undefined) return;
    this.#commitsInto ??= groupBy(commitOrder.to.view(), this.#round.length);
    const { starts, items } = this.#commitsInto;
    for (const ref of items.subarray(starts[tx]!, starts[tx + 1]!)) {
      reach(commitOrder.from.at(ref), ref);
      for (const { from } of commitOrder.earlier(ref)) reach(from, ref);
    }
  }

  #trace(start: number, goal: number): Hop[] {
    const path: Hop[] = [];
    for (let tx = start; tx !== goal; tx = this.#next[tx]!) {
      const relation = RELATIONS[this.#relation[tx]!]!;
      path.push({ relation, from: tx, to: this.#next[tx]!, ref: this.#ref[tx]! });
    }
    return path;
  }
}
