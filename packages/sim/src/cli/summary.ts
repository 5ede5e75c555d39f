import type { Failure } from '../checks/check.js';
import type { Result, RunStats } from '../run/result.js';

/** The summary of one run of many: a line of `--json`. */
export interface Summary extends RunStats {
  readonly protocol: string;
  readonly seed: number;
  readonly ok: boolean;
  /** Names of the checks that failed, in the order in which they did. */
  readonly failed: readonly string[];
  readonly failures: readonly Failure[];
}

export const summaryOf = ({ protocol, seed, ok, failures, stats }: Result): Summary => ({
  protocol,
  seed,
  ok,
  failed: failures.map(({ check }) => check),
  failures,
  ...stats,
});
