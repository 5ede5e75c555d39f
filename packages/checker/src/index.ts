export { type CheckOptions, checkHistory, HistoryChecker } from './check.js';
export { HistoryTooLargeError } from './clocks.js';
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
} from './guarantees.js';
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
} from './history.js';
export { type ModelOptions, modelHistory } from './model.js';
export { formatVerdict } from './report.js';
export type { Stats, Step, TransactionRef, Verdict, Violation, ViolationName } from './violations.js';
