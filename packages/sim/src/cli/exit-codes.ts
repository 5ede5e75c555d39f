import type { FailureKind } from '../checks/check.js';

/** Exit codes of the command. They tell a broken promise, a standstill, a thrown error and a broken simulator apart. */
export const EXIT = { passed: 0, safety: 1, usage: 2, liveness: 3, crash: 4, broken: 5 } as const;

/** The code for the kind of a failure. */
export const exitCodeOf = (kind: FailureKind | undefined): number => (kind === undefined ? EXIT.passed : EXIT[kind]);
