/** Times of a client that an application may set, in ms. The Swift client has the same, with the same defaults. */
export interface ClientTimes {
  /** Limit of a request in all, waiting for a connection and retries included, in ms. Default 10 000. */
  readonly requestTimeoutMs: number;
  /** How long a connection may take to open, in ms. Default 5 000. */
  readonly connectTimeoutMs: number;
  /** How long the client asks for the outcome of a commit before it throws OUTCOME_UNKNOWN, in ms. Default 30 000. */
  readonly commitTimeoutMs: number;
  /**
   * Time from leaving an endpoint to the first search for an endpoint nearer than the present endpoint, in ms; further
   * searches come at doubling intervals, up to 10 minutes. The client goes back only to endpoints that it was given,
   * once they are ready and have caught up, and open transactions go with it. Default 5 000; `Infinity` disables the
   * return.
   */
  readonly returnAfterMs: number;
}

export const DEFAULT_TIMES: ClientTimes = {
  requestTimeoutMs: 10_000,
  connectTimeoutMs: 5_000,
  commitTimeoutMs: 30_000,
  returnAfterMs: 5_000,
};
