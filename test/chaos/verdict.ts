/** The results of a run, and the exit code that follows from them. */
import { createReadStream } from 'node:fs';
import { formatVerdict, HistoryChecker, readHistory, type Verdict } from '@isochron/checker';
import type { Answered, Contents, Converged } from './convergence.js';
import type { FaultKind } from './faults.js';
import { type Audit, audit, type LedgerEntry } from './ledger.js';
import type { Tally } from './tally.js';

/** Exit codes of the command. */
export const EXIT = { fine: 0, violation: 1, notConverged: 2, harness: 3 } as const;

/** The figures of a run. */
export interface Report {
  readonly scenario: string;
  readonly seed: number;
  readonly tally: Tally;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** Time from the last fault until everything promised before was visible everywhere; undefined if it never was. */
  readonly convergence: Converged | undefined;
  /** Why it did not converge. */
  readonly notConverged?: string;
  /** The final contents of each region. These and their audits are undefined when the cluster did not converge. */
  readonly contents: Contents | undefined;
  /** Entries of the ledger by their violations. */
  readonly audit: Audit | undefined;
  /** Keys that differ between regions. */
  readonly differences: readonly string[] | undefined;
  /** Answers about the outcome of a transaction that contradict one another. */
  readonly disputed: readonly string[] | undefined;
  /** The checker's verdict on the whole history. */
  readonly history: Verdict;
  /** Nodes with timestamps from the future; undefined when the cluster never converged. */
  readonly ahead: readonly string[] | undefined;
  /** Failures of nodes that no fault explains. */
  readonly failures: readonly string[];
  /** The scenario's own lines of the table. */
  readonly figures: readonly (readonly [what: string, figure: string])[];
  /** Violations that only the scenario looks for. */
  readonly violations: Readonly<Record<string, readonly string[]>>;
}

/** All violations by their kind; undefined for a check that did not run. */
export function violationsOf(report: Report): Record<string, readonly string[] | undefined> {
  const { audit: found, differences, disputed, ahead, failures, tally, history } = report;
  return {
    'lost acknowledged writes': found?.lost,
    'partial transactions': found?.torn,
    'aborted, yet present': found?.undead,
    'never written, yet present': found?.alien,
    'not the same in all regions': differences,
    'disputed outcomes': disputed,
    'violations of causal consistency': history.ok ? [] : [formatVerdict('history', history, 0)],
    'errors that no fault explains': tally.unexplained,
    'timestamps from the future': ahead,
    'nodes that ended by themselves': failures,
    ...report.violations,
  };
}

/** The exit code: a violation counts more than a cluster that does not converge. */
export function exitCodeOf(report: Report): number {
  if (Object.values(violationsOf(report)).some((found = []) => found.length > 0)) return EXIT.violation;
  return report.convergence === undefined ? EXIT.notConverged : EXIT.fine;
}

/** Judges a history file. @throws HistoryError when it is not a history */
export async function judge(file: string): Promise<Verdict> {
  const checker = new HistoryChecker();
  for await (const transaction of readHistory(createReadStream(file))) checker.add(transaction);
  return checker.verdict();
}

/** The ledger against every region: each must hold all of it. */
export function auditAll(tally: Tally, regions: Contents): Audit {
  const audits = [...regions].map(([region, found]): [string, Audit] => [region, audit(tally.ledger, found)]);
  const all = (kind: 'lost' | 'torn' | 'undead' | 'alien') =>
    audits.flatMap(([region, found]) => found[kind].map((sentence) => `${region}: ${sentence}`));
  const resolved = audits[0]?.[1].resolved ?? { committed: 0, aborted: 0 };
  return { lost: all('lost'), torn: all('torn'), undead: all('undead'), alien: all('alien'), resolved };
}

/** Statuses that no region may report at the end of a run. */
const UNDECIDED: ReadonlySet<string> = new Set(['open', 'pending', 'deferred', 'no answer']);

/** Statuses that imply nothing about the data: the disk with the outcome was lost, or it was dropped (D5, D10). */
const INCONCLUSIVE: ReadonlySet<string> = new Set(['lost', 'forgotten']);

/** Transactions with different outcomes in different regions, or with an outcome that contradicts the data. */
export function disputes(
  answers: ReadonlyMap<string, readonly Pick<Answered, 'status'>[]>,
  entries: readonly LedgerEntry[] = [],
  contents: ReadonlyMap<string, unknown> = new Map(),
): string[] {
  const writes = new Map(entries.map((entry) => [entry.txId, entry.writes]));
  return [...answers].flatMap(([id, found]) => {
    const statuses = found.map(({ status }) => status);
    const isThere = [...(writes.get(id)?.keys() ?? [])].map((key) => contents.has(key));
    const [status] = statuses;
    const isOver = new Set(statuses).size === 1 && !UNDECIDED.has(status!);
    const fits = INCONCLUSIVE.has(status!) || isThere.every((there) => there === (status === 'committed'));
    if (isOver && fits) return [];
    return [
      `${id}: ${statuses.join(', ')}${isThere.length === 0 ? '' : `; its writes are there: ${isThere.join(', ')}`}`,
    ];
  });
}
