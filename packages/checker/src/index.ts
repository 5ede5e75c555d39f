export { type CheckOptions, checkHistory, HistoryChecker } from './check.js';
export { HistoryTooLargeError } from './clocks.js';
export {
  HistoryError,
  type Op,
  parseHistory,
  parseLine,
  readHistory,
  type Status,
  type Transaction,
} from './history.js';
export { type ModelOptions, modelHistory } from './model.js';
export { formatVerdict } from './report.js';
export type { Stats, Step, TransactionRef, Verdict, Violation, ViolationName } from './violations.js';
