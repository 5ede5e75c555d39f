// Generated from packages/client/src/times.ts: change the declarations there, then run
// `REWRITE=1 npm test -- test/swift-declarations`.

extension ClientOptions {
    /// Limit of a request in all, waiting for a connection and retries included. Default 10 s.
    public var requestTimeout: Duration {
        get { .ofMs(times.requestTimeoutMs) }
        set { times.requestTimeoutMs = newValue.inMs }
    }

    /// How long a connection may take to open. Default 5 s.
    public var connectTimeout: Duration {
        get { .ofMs(times.connectTimeoutMs) }
        set { times.connectTimeoutMs = newValue.inMs }
    }

    /// How long the client asks for the outcome of a commit before it throws OUTCOME_UNKNOWN. Default 30 s.
    public var commitTimeout: Duration {
        get { .ofMs(times.commitTimeoutMs) }
        set { times.commitTimeoutMs = newValue.inMs }
    }

    /// Time from leaving an endpoint to the first search for an endpoint nearer than the present endpoint; further
    /// searches come at doubling intervals, up to 10 minutes. The client goes back only to endpoints that it was given,
    /// once they are ready and have caught up, and open transactions go with it. Default 5 s; nil disables the return.
    public var returnAfter: Duration? {
        get { times.returnAfterMs.isFinite ? .ofMs(times.returnAfterMs) : nil }
        set { times.returnAfterMs = newValue?.inMs ?? .infinity }
    }
}
