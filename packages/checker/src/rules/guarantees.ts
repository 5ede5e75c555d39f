/**
 * The guarantees that a history can be judged by. Each is judged by itself, so that a store with a weaker level can be
 * held to just that. README.md defines them; here is what breaks each.
 *
 * - `internal-consistency`: a transaction did not read its own write, or read a key twice and saw two values.
 * - `no-thin-air-reads`: a read of a value that no transaction wrote.
 * - `no-aborted-reads`: a read of a write of an aborted transaction.
 * - `no-intermediate-reads`: a read of a value that its writer overwrote in the same transaction.
 * - `acyclic-causality`: transactions happened before themselves.
 * - `read-your-writes`, `monotonic-reads`, `monotonic-writes`, `writes-follow-reads`: the four session guarantees.
 * - `read-atomicity`: a read of one write of a transaction that missed another.
 * - `causal-convergence`: no order of transactions explains what all sessions saw (CCv). Contains all from
 *   `acyclic-causality` on, and `durability`.
 * - `convergence`: replicas ended with different values of a key.
 * - `durability`: the final state misses a write that nothing overwrote.
 */
export const GUARANTEES = [
  'internal-consistency',
  'no-thin-air-reads',
  'no-aborted-reads',
  'no-intermediate-reads',
  'acyclic-causality',
  'read-your-writes',
  'monotonic-reads',
  'monotonic-writes',
  'writes-follow-reads',
  'read-atomicity',
  'causal-convergence',
  'convergence',
  'durability',
] as const;

/** One of {@link GUARANTEES}. */
export type Guarantee = (typeof GUARANTEES)[number];

/** Whether a text is one of {@link GUARANTEES}. */
export const isGuarantee = (word: string): word is Guarantee => (GUARANTEES as readonly string[]).includes(word);

/** `not-judged`: the history lacks the final states of replicas, which the guarantee is about. */
export type Judgement = 'holds' | 'violated' | 'not-judged';

/**
 * The unit of a transaction: a line of the history; a line only if it writes nothing, with every operation of the other
 * lines by itself; or every operation.
 */
export type Unit = 'transaction' | 'read-only-transaction' | 'operation';

/** The guarantees of a store. */
export interface HistoryLevel {
  readonly unit: Unit;
  /** The guarantees that a history must not violate. All of {@link GUARANTEES} are judged, demanded or not. */
  readonly demands: readonly Guarantee[];
}

const WRITES_ARE_REAL: readonly Guarantee[] = ['no-thin-air-reads', 'no-aborted-reads', 'no-intermediate-reads'];

/** The usual levels of stores. A caller may make a level of its own. */
export const LEVELS = {
  /** Interactive transactions that read from causal snapshots. */
  'transactional-causal': { unit: 'transaction', demands: GUARANTEES },
  /** Single reads and writes, and read-only transactions that read from causal snapshots. */
  'causal-with-read-only-transactions': { unit: 'read-only-transaction', demands: GUARANTEES },
  /** Single reads and writes. */
  'causal-operations': { unit: 'operation', demands: GUARANTEES },
  /**
   * A transaction takes effect as a whole or not at all, without sessions. Not `durability`: without causality the
   * later of two writes of one session may rightly be the one that loses.
   */
  'read-atomic': {
    unit: 'transaction',
    demands: ['internal-consistency', ...WRITES_ARE_REAL, 'acyclic-causality', 'read-atomicity', 'convergence'],
  },
  /** Replicas agree in the end, and no read returns a value that was never committed. */
  eventual: { unit: 'transaction', demands: [...WRITES_ARE_REAL, 'convergence'] },
} as const satisfies Readonly<Record<string, HistoryLevel>>;

/** A name in {@link LEVELS}. */
export type LevelName = keyof typeof LEVELS;

/** Whether a text is a name in {@link LEVELS}. */
export const isLevelName = (word: string): word is LevelName => Object.hasOwn(LEVELS, word);
