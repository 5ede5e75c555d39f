// Generated from packages/client/src/times.ts: change the declarations there, then run
// `REWRITE=1 npm test -- test/swift-declarations`.

/// Times of a client that an application may set, in ms.
struct ClientTimes: Sendable {
    /// Limit of a request in all, waiting for a connection and retries included, in ms. Default 10 000.
    var requestTimeoutMs: Double = 10_000
    /// How long a connection may take to open, in ms. Default 5 000.
    var connectTimeoutMs: Double = 5_000
    /// How long the client asks for the outcome of a commit before it throws OUTCOME_UNKNOWN, in ms. Default 30 000.
    var commitTimeoutMs: Double = 30_000
    /// Time from leaving an endpoint to the first search for an endpoint nearer than the present endpoint, in ms;
    /// further searches come at doubling intervals, up to 10 minutes. The client goes back only to endpoints that it
    /// was given, once they are ready and have caught up, and open transactions go with it. Default 5 000; infinity
    /// disables the return.
    var returnAfterMs: Double = 5_000
}
