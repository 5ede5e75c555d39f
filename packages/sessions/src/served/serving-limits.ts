/** Bounds of the clients' open work on a node, in all and for each of them. */
export interface ServingLimits {
  /** Transactions that are open. */
  readonly openTransactions: number;
  readonly openTransactionsPerClient: number;
  /** Requests that wait for stable time. */
  readonly waits: number;
  readonly waitsPerClient: number;
  /** Requests that wait for changes. */
  readonly feeds: number;
  readonly feedsPerClient: number;
}

export const DEFAULT_SERVING_LIMITS: ServingLimits = {
  openTransactions: 10_000,
  openTransactionsPerClient: 2_000,
  waits: 10_000,
  waitsPerClient: 2_000,
  feeds: 50_000,
  feedsPerClient: 20_000,
};
