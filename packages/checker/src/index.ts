export { type CheckOptions, checkHistory, HistoryChecker } from './check.js';
export { formatVerdict } from './explanation/report.js';
export type { Stats, Step, TransactionRef, Verdict, Violation, ViolationName } from './explanation/violations.js';
export {
  type FinalValue,
  HistoryError,
  type HistoryRecord,
  isReplicaState,
  type Op,
  parseHistory,
  parseLine,
  type ReplicaState,
  readHistory,
  type Status,
  type Transaction,
} from './input/history.js';
export { type ModelOptions, modelHistory } from './model.js';
export { HistoryTooLargeError } from './order/clocks.js';
export {
  GUARANTEES,
  type Guarantee,
  type HistoryLevel,
  isGuarantee,
  isLevelName,
  type Judgement,
  LEVELS,
  type LevelName,
  type Unit,
} from './rules/guarantees.js';
