import type { Status } from '../input/history.js';
import type { Guarantee, Judgement } from '../rules/guarantees.js';

/**
 * The kinds of violations, each named after the most particular guarantee that it breaks.
 *
 * Decided for one transaction by itself:
 * - `internal-consistency`: it wrote a key and then did not read its own write.
 * - `non-repeatable-read`: it read a key twice, without writing it, and saw two values.
 * - `thin-air-read`: it read a value that no transaction wrote.
 * - `aborted-read`: it read a write of an aborted transaction.
 * - `intermediate-read`: it read a value that its writer overwrote in the same transaction.
 *
 * Decided by the order between transactions:
 * - `cyclic-causality`: transactions that happen before themselves.
 * - `read-your-writes`: a session missed its own earlier write.
 * - `fractured-read`: a transaction saw one write of a transaction and missed another (atomic visibility).
 * - `monotonic-reads`: a session had seen a transaction and later missed a write of it.
 * - `monotonic-writes`: a transaction saw a session's later write, but missed an earlier one.
 * - `writes-follow-reads`: it saw a write, but missed one that its writer had seen before.
 * - `causal-snapshot`: it missed a write in its causal past in any other way.
 * - `divergent-order`: sessions saw concurrent writes in opposite orders, so replicas do not converge.
 *
 * Decided by the final states of replicas:
 * - `lost-write`: a write is missing, and no later write replaces it.
 * - `divergent-replicas`: replicas ended with different values of a key.
 */
export type ViolationName =
  | 'internal-consistency'
  | 'non-repeatable-read'
  | 'thin-air-read'
  | 'aborted-read'
  | 'intermediate-read'
  | 'cyclic-causality'
  | 'read-your-writes'
  | 'fractured-read'
  | 'monotonic-reads'
  | 'monotonic-writes'
  | 'writes-follow-reads'
  | 'causal-snapshot'
  | 'divergent-order'
  | 'lost-write'
  | 'divergent-replicas';

/** Names a transaction of the history, or the final state. */
export interface TransactionRef {
  readonly session: string;
  readonly seq: number;
  /** Position in `ops` when an operation was judged as a transaction by itself; null otherwise. */
  readonly op: number | null;
  readonly tx: string;
  readonly status: Status | 'final-state';
  /** Line of the history file, from 1. */
  readonly line: number;
}

/** One reason why `from` comes before `to`. */
export interface Step {
  /**
   * Session order, write-read, the order of commits that a read forces on two writers of its key, or the final state,
   * which comes after everything.
   */
  readonly relation: 'session' | 'write-read' | 'commit' | 'final-state';
  /** Null is the state before any write. */
  readonly from: TransactionRef | null;
  readonly to: TransactionRef | null;
  /** The key that was read; null for a step without a read. */
  readonly key: string | null;
  /** The reason as text. */
  readonly text: string;
  /** For `commit`: why `from` must not be missed by the transaction whose read forces the order. */
  readonly because: readonly Step[];
}

/** A counterexample. */
export interface Violation {
  readonly name: ViolationName;
  /** Every guarantee that this counterexample breaks. */
  readonly breaks: readonly Guarantee[];
  /** One sentence. */
  readonly message: string;
  /** The keys, sessions and transactions involved, each once. */
  readonly keys: readonly string[];
  readonly sessions: readonly string[];
  readonly transactions: readonly TransactionRef[];
  /**
   * The steps of the cycle, each beginning where the one before ended; empty when one transaction is wrong by itself.
   */
  readonly cycle: readonly Step[];
}

/** The extent of the check. Operations and transactions of every status count. */
export interface Stats {
  readonly sessions: number;
  readonly transactions: number;
  readonly committed: number;
  readonly aborted: number;
  readonly unknown: number;
  /** Unknown transactions that a read proved to have happened. */
  readonly observedUnknown: number;
  readonly keys: number;
  readonly reads: number;
  readonly writes: number;
  /** Replicas whose final state is known. */
  readonly replicas: number;
}

/** The decision. */
export interface Verdict {
  /** Whether no demanded guarantee is violated. */
  readonly ok: boolean;
  readonly guarantees: Readonly<Record<Guarantee, Judgement>>;
  readonly stats: Stats;
  /** The number of violations of demanded guarantees, and the first of them with counterexamples. */
  readonly found: number;
  readonly violations: readonly Violation[];
}

/** A violation without the guarantees that it breaks. */
export type Counterexample = Omit<Violation, 'breaks'>;

/**
 * Counts violations and explains the first ones, at least one for each guarantee: a broken history may have very many,
 * and explaining takes searching.
 */
export class Findings {
  readonly violations: Violation[] = [];
  readonly violated = new Set<Guarantee>();
  found = 0;
  readonly #demands: ReadonlySet<Guarantee>;
  readonly #max: number;
  readonly #shown = new Set<Guarantee>();

  constructor(demands: Iterable<Guarantee>, max: number) {
    this.#demands = new Set(demands);
    this.#max = max;
  }

  /** A violation of a guarantee that is not demanded is counted, but not explained. */
  add(breaks: readonly Guarantee[], explain: () => Counterexample): void {
    for (const guarantee of breaks) this.violated.add(guarantee);
    const demanded = breaks.filter((guarantee) => this.#demands.has(guarantee));
    if (demanded.length === 0) return;
    this.found++;
    if (this.violations.length >= this.#max && demanded.every((guarantee) => this.#shown.has(guarantee))) return;
    for (const guarantee of demanded) this.#shown.add(guarantee);
    this.violations.push({ ...explain(), breaks });
  }
}
