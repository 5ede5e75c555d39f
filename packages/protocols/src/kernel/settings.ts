/** The timings of a node, in milliseconds. */
export interface ProtocolSettings {
  /** Δ_R: how often committed transactions are applied and replicated. */
  readonly applyIntervalMs: number;
  /** Δ_G and Δ_U: how often stable times are aggregated. */
  readonly gossipIntervalMs: number;
  /** The greatest factor of the intervals of an idle node: they double with each second without a write. */
  readonly idleBackoff: number;
  /** Lease of an open transaction (P9). */
  readonly maxTransactionMs: number;
  /** Versions that a snapshot of this age needs are kept. */
  readonly retentionMs: number;
  /** How long the log keeps transactions for readers of changes, counted back from stable time (CF2). */
  readonly changeRetentionMs: number;
  /** Bytes that they may take in one partition's log, as an estimate. */
  readonly changeRetentionBytes: number;
  /** How long the outcome of a transaction is kept (D5). */
  readonly outcomeRetentionMs: number;
  /** How far clocks of different nodes may differ, and how far ahead an adopted timestamp may lie (T1, K1). */
  readonly maxClockDriftMs: number;
  /** A prepare without a decision after this time asks the other cohorts (D2); above the WAN round trip. */
  readonly resolveAfterMs: number;
  /** A remote read without an answer after this time goes to another replica (P10). */
  readonly readTimeoutMs: number;
  /** A read that no replica answered until then is refused. */
  readonly readDeadlineMs: number;
  /** A commit that is not decided until then is answered with OUTCOME_PENDING. */
  readonly commitTimeoutMs: number;
  /** Bound of the wait for a snapshot that this node does not have yet (P5). */
  readonly snapshotWaitMs: number;
  /** Children of a node in the region's aggregation tree. */
  readonly treeFanOut: number;
  /** Estimated memory of the writes that one replica keeps because they cannot be applied yet (D11). */
  readonly maxPendingBytes: number;
  /** A started node continues unverified if, for some partition, no peer replica has reported by then (D10). */
  readonly verifyTimeoutMs: number;
  /** A member that does not answer a majority of the voters is suspended after this time; 0: never. */
  readonly suspendAfterMs: number;
}

export const DEFAULT_SETTINGS: ProtocolSettings = {
  applyIntervalMs: 10,
  gossipIntervalMs: 10,
  idleBackoff: 16,
  maxTransactionMs: 30_000,
  retentionMs: 30_000,
  changeRetentionMs: 3_600_000,
  changeRetentionBytes: 256 * 2 ** 20,
  outcomeRetentionMs: 24 * 3_600_000,
  maxClockDriftMs: 5_000,
  resolveAfterMs: 2_000,
  readTimeoutMs: 1_000,
  readDeadlineMs: 8_000,
  commitTimeoutMs: 10_000,
  snapshotWaitMs: 2_000,
  treeFanOut: 4,
  maxPendingBytes: 64 * 2 ** 20,
  verifyTimeoutMs: 30_000,
  suspendAfterMs: 0,
};
