export type { Failure, FailureKind } from './checks/check.js';
export { type KeptSeed, readKept } from './cli/kept.js';
export { DEFAULT_SIZE, type PlanSize } from './plan/draw.js';
export { DRAW_VERSION, type FaultPlan, type Plan } from './plan/plan.js';
export { PROTOCOLS, type SimulatedProtocol } from './protocols/index.js';
export { formatFailures, formatPlan } from './run/report.js';
export { type Limits, type Result, type RunStats, worstKind } from './run/result.js';
export { runSeed } from './run/run-seed.js';
