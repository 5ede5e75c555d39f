import type { Status } from './history.js';

/**
 * What went wrong, by the name of the weakest guarantee that it breaks.
 *
 * Decided for one transaction by itself:
 * - `internal-consistency`: it wrote a key and then did not read its own write.
 * - `non-repeatable-read`: it read a key twice, without writing it, and saw two values.
 * - `thin-air-read`: it read a value that nobody wrote.
 * - `aborted-read`: it read a write of an aborted transaction.
 * - `intermediate-read`: it read a value that its writer overwrote in the same transaction.
 *
 * Decided by the order between transactions:
 * - `cyclic-causality`: transactions that happen before themselves.
 * - `read-your-writes`: a session missed its own earlier write.
 * - `monotonic-reads`: a session had seen a transaction and later missed a write of it.
 * - `monotonic-writes`: it saw a session's later write, but missed an earlier one.
 * - `writes-follow-reads`: it saw a write, but missed one that the writer's session had seen before.
 * - `fractured-read`: it saw one write of a transaction and missed another (atomic visibility).
 * - `causal-snapshot`: it missed a write in its causal past in any other way.
 * - `divergent-order`: sessions saw concurrent writes in opposite orders, so replicas do not converge.
 */
export type ViolationName =
  | 'internal-consistency'
  | 'non-repeatable-read'
  | 'thin-air-read'
  | 'aborted-read'
  | 'intermediate-read'
  | 'cyclic-causality'
  | 'read-your-writes'
  | 'monotonic-reads'
  | 'monotonic-writes'
  | 'writes-follow-reads'
  | 'fractured-read'
  | 'causal-snapshot'
  | 'divergent-order';

/** Names a transaction of the history. */
export interface TransactionRef {
  readonly session: string;
  readonly seq: number;
  readonly tx: string;
  readonly status: Status;
  /** Line of the history file, from 1. */
  readonly line: number;
}

/** One reason why `from` comes before `to`. */
export interface Step {
  /** Session order, write-read, or the order of commits that a read forces on two writers of its key. */
  readonly relation: 'session' | 'write-read' | 'commit';
  /** Null is the state before any write. */
  readonly from: TransactionRef | null;
  readonly to: TransactionRef | null;
  /** The reason in plain words. */
  readonly text: string;
  /** For `commit`: how `from` happened before the transaction whose read forces the order. */
  readonly because: readonly Step[];
}

/** A counterexample. */
export interface Violation {
  readonly name: ViolationName;
  /** One sentence. */
  readonly message: string;
  /** The transactions involved, each once. */
  readonly transactions: readonly TransactionRef[];
  /** The steps of the cycle, each beginning where the one before ended; empty when one transaction is wrong by itself. */
  readonly cycle: readonly Step[];
}

/** What was looked at. Operations and transactions of every status count. */
export interface Stats {
  readonly sessions: number;
  readonly transactions: number;
  readonly committed: number;
  readonly aborted: number;
  readonly unknown: number;
  /** Of the unknown ones, those that a read proved to have happened. */
  readonly observedUnknown: number;
  readonly keys: number;
  readonly reads: number;
  readonly writes: number;
}

/** The decision. `found` counts all violations, `violations` holds the first of them with counterexamples. */
export type Verdict =
  | { readonly ok: true; readonly stats: Stats }
  | { readonly ok: false; readonly stats: Stats; readonly found: number; readonly violations: readonly Violation[] };

/** Counts violations and explains the first ones: a broken history may have very many, and explaining takes searching. */
export class Findings {
  readonly violations: Violation[] = [];
  found = 0;

  constructor(readonly max: number) {}

  add(explain: () => Violation): void {
    this.found++;
    if (this.violations.length < this.max) this.violations.push(explain());
  }
}
