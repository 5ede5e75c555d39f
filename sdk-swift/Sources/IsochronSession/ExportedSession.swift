/// A session as data, to continue it on another device or after a restart. Treat it as opaque, and keep it secret: it
/// contains the token.
///
/// The same for every SDK: as JSON it is `{ "version": 1, "token", "protocol"?, "ust", "deps"?, "hwt", "writes": [[key,
/// ct, txId, value]], "commits"?, "seen"? }`, where a value is its JSON text as a string, `{ "bytes": base64 }`, or null
/// for a deletion. `protocol` is absent for PaRiS, `commits` without any.
public struct ExportedSession: Hashable, Sendable {
    /// The only version so far.
    public static let version = 1
    /// The protocol of exports that name none.
    public static let unnamedProtocol = "paris"

    /// The session's token.
    public let token: String
    /// Protocol of the cluster.
    public let protocolName: String
    /// Timestamp of the seen snapshot; under protocols of single operations the highest stable time.
    public let ust: Timestamp
    /// The entries of the seen snapshot beside `ust`, under protocols that have them.
    public let deps: [Timestamp]?
    /// Commit timestamp of the last write; zero under protocols of single operations.
    public let hwt: Timestamp
    /// Own writes that may not be stable yet.
    public let writes: [CacheEntry]
    /// The commits of these writes, where the session judges them: with their attempts, so that they can be sent again.
    public let commits: [OwnCommit]
    /// The seen entries, under protocols of single operations.
    public let seen: ExportedSeen?

    /// All parts of an export.
    public init(
        token: String, protocolName: String = ExportedSession.unnamedProtocol, ust: Timestamp, deps: [Timestamp]? = nil,
        hwt: Timestamp, writes: [CacheEntry] = [], commits: [OwnCommit] = [], seen: ExportedSeen? = nil
    ) {
        self.token = token
        self.protocolName = protocolName
        self.ust = ust
        self.deps = deps
        self.hwt = hwt
        self.writes = writes
        self.commits = commits
        self.seen = seen
    }

    /// The export of a session of transactions.
    public init(state: SessionState, token: String, protocolName: String) {
        self.init(
            token: token, protocolName: protocolName, ust: state.ust, deps: state.deps, hwt: state.hwt,
            writes: state.cache, commits: state.own
        )
    }

    /// The export of a session of single operations.
    public init(state: OperationSessionState, token: String, protocolName: String) {
        let seen = ExportedSeen(seen: state.seen, region: state.region, depends: state.depends)
        self.init(token: token, protocolName: protocolName, ust: state.ust, hwt: 0, seen: seen)
    }

    /// The state of a session of transactions.
    public var sessionState: SessionState {
        SessionState(ust: ust, deps: deps, hwt: hwt, cache: writes, own: commits)
    }

    /// The state of a session of single operations, to continue where a node has the stable time `stable`. Nil for
    /// other exports.
    public func operationState(stable: Timestamp = 0) -> OperationSessionState? {
        seen.map { seen in
            OperationSessionState(seen: seen.seen, region: seen.region, ust: max(stable, ust), depends: seen.depends)
        }
    }
}

/// The state that a session of single operations has seen, and its region.
public struct ExportedSeen: Hashable, Sendable {
    /// The seen timestamps, in the protocol's entries.
    public let seen: [Timestamp]
    /// The region in which they were seen.
    public let region: RegionId
    /// The versions that the session depends on; nil without dependencies.
    public let depends: [Dependency]?

    /// Makes it from its parts.
    public init(seen: [Timestamp], region: RegionId, depends: [Dependency]? = nil) {
        self.seen = seen
        self.region = region
        self.depends = depends
    }
}
