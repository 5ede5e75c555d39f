/** What a run came to, and what that means for its exit code. */
import { createReadStream } from 'node:fs';
import { formatVerdict, HistoryChecker, readHistory, type Verdict } from '@isochron/checker';
import type { Contents, Converged } from './convergence.js';
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
  /** From the end of the last fault until everything promised before was visible everywhere; undefined when it never was. */
  readonly convergence: Converged | undefined;
  /** Why it never was. */
  readonly notConverged?: string;
  /** What each region held in the end. It and what follows from it are undefined when the cluster never converged. */
  readonly contents: Contents | undefined;
  /** Entries of the ledger by what was found of them. */
  readonly audit: Audit | undefined;
  /** Keys that are not the same in all regions. */
  readonly differences: readonly string[] | undefined;
  /** Answers about the end of a transaction that contradict one another. */
  readonly disputed: readonly string[] | undefined;
  /** The checker's word on the whole history. */
  readonly history: Verdict;
  /** Nodes with timestamps from the future; undefined when the cluster never converged. */
  readonly ahead: readonly string[] | undefined;
  /** What nodes did that nobody asked for. */
  readonly failures: readonly string[];
  /** Lines of a scenario's own, for the table. */
  readonly figures: readonly (readonly [what: string, figure: string])[];
  /** What a scenario found besides that must not be. */
  readonly violations: Readonly<Record<string, readonly string[]>>;
}

/** Everything that must not be, by what it is; undefined where it was not looked for. */
export function violationsOf(report: Report): Record<string, readonly string[] | undefined> {
  const { audit: found, differences, disputed, ahead, failures, tally, history } = report;
  return {
    'lost acknowledged writes': found?.lost,
    'half transactions': found?.torn,
    'aborted, yet there': found?.undead,
    'never written, yet there': found?.alien,
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

/** Judges a history file. @throws HistoryError when it is none */
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

/** What must not be said when everything is over. */
const UNDECIDED: ReadonlySet<string> = new Set(['open', 'pending', 'no answer']);

/** These say nothing about the data: who knew how it ended has lost its disk, or keeps outcomes for a time only (D5, D10). */
const WITHOUT_MEMORY: ReadonlySet<string> = new Set(['lost', 'forgotten']);

/** Transactions about whose end regions do not say the same, or not what the data says. */
export function disputes(
  answers: ReadonlyMap<string, readonly string[]>,
  entries: readonly LedgerEntry[] = [],
  found: ReadonlyMap<string, unknown> = new Map(),
): string[] {
  const writes = new Map(entries.map((entry) => [entry.txId, entry.writes]));
  return [...answers].flatMap(([id, said]) => {
    const isThere = [...(writes.get(id)?.keys() ?? [])].map((key) => found.has(key));
    const [status] = said;
    const isOver = new Set(said).size === 1 && !UNDECIDED.has(status!);
    const fits = WITHOUT_MEMORY.has(status!) || isThere.every((there) => there === (status === 'committed'));
    if (isOver && fits) return [];
    return [`${id}: ${said.join(', ')}${isThere.length === 0 ? '' : `; its writes are there: ${isThere.join(', ')}`}`];
  });
}
