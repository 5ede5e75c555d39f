import type { Failure, FailureKind } from '../checks/check.js';
import type { Plan } from '../plan/plan.js';
import type { TraceLine } from './trace.js';

/** The result of a run. */
export interface Result {
  readonly protocol: string;
  readonly seed: number;
  readonly ok: boolean;
  /** The first failure of each check, in the order in which they were noticed. */
  readonly failures: readonly Failure[];
  readonly stats: RunStats;
  readonly plan: Plan;
  /** Empty unless a trace was asked for. */
  readonly trace: readonly TraceLine[];
}

export interface RunStats {
  readonly steps: number;
  readonly virtualMs: number;
  readonly transactions: number;
  readonly committed: number;
  readonly unknown: number;
  readonly aborted: number;
  readonly faults: number;
  readonly crashes: number;
}

/** The limits of a run. */
export interface Limits {
  /** Virtual time after healing until all work must have ended, ms; one minute by default. */
  readonly livenessMs?: number;
  /** Events until a run counts as endless; 3 000 000 by default. */
  readonly maxSteps?: number;
  /** Ends at the first failure of which this is true, instead of gathering the failures of all checks. */
  readonly stopAt?: (failure: Failure) => boolean;
  /** Keeps a trace of everything; passes every line to `onLine` as well. */
  readonly trace?: boolean;
  readonly onLine?: (line: TraceLine) => void;
}

/** The worst kind among failures: a broken promise before a thrown error before unfinished work. */
export function worstKind(failures: readonly Failure[]): FailureKind | undefined {
  const order: readonly FailureKind[] = ['safety', 'crash', 'liveness'];
  return order.find((kind) => failures.some((failure) => failure.kind === kind));
}
