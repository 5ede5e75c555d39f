import IsochronSession

/// Options of a client. The defaults suit an app.
public struct ClientOptions: Sendable {
    /// Keyspace of the client's own functions.
    public var keyspace = "default"
    /// Converts documents to JSON and back.
    public var documents = DocumentCoding()
    /// Opens a WebSocket for each client. By default clients use the platform's WebSockets, and those of a process with
    /// the same node and the same credentials share one, each on a channel of its own.
    public var transport: (any WebSocketTransport)?
    /// Certificates in PEM of the authorities that the client accepts in place of the system's, for `https://` and
    /// `wss://` endpoints. A certificate that is not accepted ends `connect` with TLS_FAILED. With a `transport`, which
    /// has authorities of its own: INVALID_REQUEST.
    public var ca: String?
    /// Receives the log messages, on any thread; by default they are dropped.
    public var logger: (@Sendable (LogLevel, String) -> Void)?

    /// `API/Generated/TimeOptions.swift` has a public property for each.
    var times = ClientTimes()
    /// The sockets that clients without an own transport share; nil for those of the process.
    var socketPool: SocketPool?
    /// Monotonic time and timers.
    var timing: any Timing = SystemTiming()
    /// Randomness for the jitter of retries: uniform in `0 ..< 1`.
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// The defaults.
    public init() {}

    /// Throws INVALID_REQUEST.
    func settings(
        credentials: String?, auth: (@Sendable () async throws -> String)?
    ) throws(IsochronError) -> Settings {
        Settings(
            keyspace: keyspace,
            client: ClientSettings(
                client: "isochron-swift/0.1.0", credentials: credentials, renewsCredentials: auth != nil,
                times: times, newId: { randomSessionId() }),
            auth: auth, sockets: try sockets(credentials: credentials, isOwn: auth != nil), timing: timing,
            random: random, logger: logger)
    }

    /// Clients whose credentials change share no socket.
    private func sockets(credentials: String?, isOwn: Bool) throws(IsochronError) -> any SessionSockets {
        if let transport {
            if ca == nil { return OwnSockets(transport: transport) }
            throw IsochronError(.invalidRequest, "a `transport` has authorities of its own: omit `ca`")
        }
        let pool = try pool
        return isOwn ? OwnSockets(transport: pool.transport) : SharedSockets(pool: pool, credentials: credentials)
    }

    private var pool: SocketPool {
        get throws(IsochronError) {
            if let socketPool { return socketPool }
            do {
                return try .ofProcess(ca: ca)
            } catch {
                throw IsochronError(.invalidRequest, error.description, cause: error)
            }
        }
    }
}
