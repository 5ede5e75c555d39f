import type { FailureKind } from '../checks/check.js';

/** Exit codes of the command: they tell a broken promise, a standstill and a thrown error apart, and a broken simulator. */
export const EXIT = { passed: 0, safety: 1, usage: 2, liveness: 3, crash: 4, broken: 5 } as const;

/** The code for what was found. */
export const exitCodeOf = (kind: FailureKind | undefined): number => (kind === undefined ? EXIT.passed : EXIT[kind]);
