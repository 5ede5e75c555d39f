/** Bounds of the clients' open work on a node, in all and for each of them, and of the rate of their requests. */
export interface ServingLimits {
  /** How long a client may take for its hello, and for its answer to a close frame, ms. */
  readonly helloMs: number;
  /** Transactions that are open. */
  readonly openTransactions: number;
  readonly openTransactionsPerClient: number;
  /** Requests that wait for stable time. */
  readonly waits: number;
  readonly waitsPerClient: number;
  /** Requests that wait for changes. */
  readonly feeds: number;
  readonly feedsPerClient: number;
  /** Requests of a client in a second. A request that names many keys counts as many. */
  readonly requestsPerSecondPerClient: number;
  /** Bytes of requests and answers of a client in a second. */
  readonly bytesPerSecondPerClient: number;
  /** Refusals of `RATE_LIMITED` that a client gets at once in a second; above that it is read from slowly. */
  readonly refusalsPerSecondPerClient: number;
}

export const DEFAULT_SERVING_LIMITS: ServingLimits = {
  helloMs: 5_000,
  openTransactions: 10_000,
  openTransactionsPerClient: 2_000,
  waits: 10_000,
  waitsPerClient: 2_000,
  feeds: 50_000,
  feedsPerClient: 20_000,
  requestsPerSecondPerClient: 1_000_000,
  bytesPerSecondPerClient: 2 ** 30,
  refusalsPerSecondPerClient: 1_000,
};
