/**
 * Judges a whole history, each guarantee by itself. README.md defines them.
 *
 * Happens-before (hb) is the transitive closure of session order and write-read; it must be acyclic. All guarantees
 * that constrain the order follow one scheme: if T3 reads x from T1, and T3 must see T2, which also writes x, then T2
 * comes before T1 in the order of commits; the history keeps the guarantee exactly when all these orders and hb
 * together are acyclic (Biswas and Enea, "On the complexity of checking transactional consistency", OOPSLA 2019).
 * Causal convergence demands to see all that happened before; the others demand parts of that. It allows lost updates,
 * write skew, long forks and reads as stale as the session's past permits.
 *
 * An open point of the history is decided in favour of the store, so every violation is certain:
 * - a read of null may have seen any delete that could have been visible, see {@link resolveNullReads};
 * - an unknown transaction counts only when a read saw it, and never has to be seen by its own session;
 * - reads of aborted transactions, and of unknown ones that no read observed, are not judged.
 *
 * Cost: one vector clock entry per transaction and session; time near-linear in operations times sessions.
 */

import { Labels } from './explanation/labels.js';
import { Findings, type Stats, type Verdict } from './explanation/violations.js';
import { type HistoryRecord, isReplicaState } from './input/history.js';
import { IndexedHistory, READ } from './input/indexed-history.js';
import { ReadResolver } from './input/read-resolver.js';
import { prepareInput } from './order/analysis.js';
import { FinalStates } from './rules/convergence.js';
import { GUARANTEES, type Guarantee, type HistoryLevel, type Judgement, LEVELS } from './rules/guarantees.js';
import { judgeOrder } from './rules/order-report.js';

/** The demanded guarantees, and the bounds of explanations and memory. */
export interface CheckOptions {
  /** The level of the store; `transactional-causal` by default. */
  readonly level?: HistoryLevel;
  /** Violations to explain; the rest are only counted. 10 by default; at least one for each guarantee. */
  readonly maxViolations?: number;
  /** Memory that happens-before may take, in bytes; 4 GiB by default. */
  readonly maxClockBytes?: number;
  /** Called with the next phase, once all lines are there. */
  readonly onPhase?: (phase: string) => void;
}

/**
 * Judges a whole history; transactions of a session stand in session order.
 * @throws HistoryError when the history contradicts its own format
 * @throws HistoryTooLargeError when it does not fit in the memory allowed
 */
export function checkHistory(history: Iterable<HistoryRecord>, options: CheckOptions = {}): Verdict {
  const checker = new HistoryChecker(options);
  for (const record of history) checker.add(record);
  return checker.verdict();
}

/** The same for a history that arrives in pieces. */
export class HistoryChecker {
  readonly #options: CheckOptions;
  readonly #level: HistoryLevel;
  readonly #history: IndexedHistory;
  readonly #finals = new FinalStates();
  #lines = 0;

  constructor(options: CheckOptions = {}) {
    this.#options = options;
    this.#level = options.level ?? LEVELS['transactional-causal'];
    this.#history = new IndexedHistory(this.#level.unit);
  }

  /**
   * Takes the next line.
   * @throws HistoryError
   */
  add(record: HistoryRecord): void {
    this.#lines++;
    if (isReplicaState(record)) this.#finals.add(record, this.#lines);
    else this.#history.add(record, this.#lines);
  }

  /**
   * Judges all added lines. To be called once, at the end.
   * @throws HistoryTooLargeError
   */
  verdict(): Verdict {
    const { maxViolations = 10, maxClockBytes = 4 * 2 ** 30, onPhase = () => undefined } = this.#options;
    const history = this.#history;
    const findings = new Findings(this.#level.demands, maxViolations);
    const labels = new Labels(history);
    const counted = countsOf(history);
    this.#finals.appendTo(history);
    onPhase('finding what each read saw');
    const { included, reads, observedUnknown } = new ReadResolver(history, findings, labels);
    judgeOrder(prepareInput(history, included, maxClockBytes), reads, labels, findings, onPhase);
    this.#finals.judge(history, labels, findings);
    const { found, violations } = findings;
    const stats = { ...counted, observedUnknown, replicas: this.#finals.replicas };
    return { ok: found === 0, guarantees: this.#judgements(findings.violated), stats, found, violations };
  }

  #judgements(violated: ReadonlySet<Guarantee>): Record<Guarantee, Judgement> {
    const unjudged = new Set<Guarantee>();
    if (this.#finals.replicas === 0) unjudged.add('durability');
    if (!this.#finals.isReplicated) unjudged.add('convergence');
    const judgements = GUARANTEES.map((guarantee): [Guarantee, Judgement] => [
      guarantee,
      unjudged.has(guarantee) ? 'not-judged' : violated.has(guarantee) ? 'violated' : 'holds',
    ]);
    return Object.fromEntries(judgements) as Record<Guarantee, Judgement>;
  }
}

function countsOf(history: IndexedHistory): Omit<Stats, 'observedUnknown' | 'replicas'> {
  const count = (status: string): number => history.txStatus.reduce((n, s) => n + Number(s === status), 0);
  const readOps = history.opKind.view().reduce((n, kind) => n + Number(kind === READ), 0);
  return {
    sessions: history.sessions.length,
    transactions: history.size,
    committed: count('committed'),
    aborted: count('aborted'),
    unknown: count('unknown'),
    keys: history.keys.length,
    reads: readOps,
    writes: history.opKind.length - readOps,
  };
}
