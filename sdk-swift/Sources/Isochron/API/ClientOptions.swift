import IsochronSession

/// How a client works. The defaults suit an app.
public struct ClientOptions: Sendable {
    /// Keyspace of the client's own functions.
    public var keyspace = "default"
    /// How long a request may take in all, waiting for a connection and retries included.
    public var requestTimeout = Duration.seconds(10)
    /// How long a connection may take to open.
    public var connectTimeout = Duration.seconds(5)
    /// How long the client asks for the outcome of a commit before it throws OUTCOME_UNKNOWN.
    public var commitTimeout = Duration.seconds(30)
    /// How long after it had to leave an endpoint the client first looks whether a nearer one than the present is there
    /// again; further looks come at doubling distances, up to 10 minutes. It goes back to endpoints that it was given
    /// only, once they are ready and have caught up, and open transactions go with it. Nil stays where it is.
    public var returnAfter: Duration? = .seconds(5)
    /// How documents become JSON.
    public var documents = DocumentCoding()
    /// Opens a WebSocket for each client. By default clients have the platform's own, and those of a process that are
    /// connected to the same node with the same credentials share one, on which each has a channel.
    public var transport: (any WebSocketTransport)?
    /// Where the client tells what it does; by default nowhere. Called from any thread.
    public var logger: (@Sendable (LogLevel, String) -> Void)?

    /// The sockets that clients share without a transport of their own.
    var socketPool = SocketPool.ofProcess
    /// Monotonic time and timers.
    var timing: any Timing = SystemTiming()
    /// Spreads retries: uniform in `0 ..< 1`.
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// The defaults.
    public init() {}

    func settings(credentials: String?) -> Settings {
        let shared = SharedSockets(pool: socketPool, credentials: credentials)
        return Settings(
            keyspace: keyspace,
            client: ClientSettings(
                client: "isochron-swift/0.1.0", credentials: credentials, requestTimeoutMs: requestTimeout.inMs,
                connectTimeoutMs: connectTimeout.inMs, commitTimeoutMs: commitTimeout.inMs,
                returnAfterMs: returnAfter?.inMs ?? .infinity, newId: { randomSessionId() }),
            sockets: transport.map { OwnSockets(transport: $0) } ?? shared, timing: timing, random: random,
            logger: logger)
    }
}
