import IsochronSession

/// A frame of a server, validated.
enum Incoming: Sendable {
    case welcome(Welcome)
    case answer(Answer)
    case error(ErrorFrame)
    case ust(UstFrame)
    case goaway(GoawayFrame)
}

/// Answer to hello.
struct Welcome: Sendable {
    let region: RegionId
    let node: String
    /// Sessions do not cross clusters.
    let cluster: String
    let `protocol`: String
    let capabilities: Set<String>
    /// The snapshot that the session has seen: no later snapshot lies below it.
    let seenSnapshot: Snapshot
    /// The node's stable time, if the protocol's snapshots are not stable times.
    let stable: Timestamp?
    /// State of the token's session, under protocols of single operations: not validated yet.
    let seen: Raw?
    /// Commit timestamp of the session's last write, if that is not visible everywhere; else 0.
    let hwt: Timestamp
    let freshness: Freshness
    /// Longest time that a transaction stays open, ms; nil before the welcome.
    let maxTransactionMs: Int64?
    /// Age of stable time from which on it is stale, ms.
    let stalenessAlertMs: Int64?
    let unresponsive: Unresponsive
    /// When the credentials expire, by the node's wall clock (U1); nil if they do not.
    let expiresAt: Int64?
    let token: String
    /// Requests that may be in flight.
    let credits: Int
    let limits: Limits
    let regions: [RegionEndpoints]
}

/// A region and the API endpoints of its nodes.
struct RegionEndpoints: Sendable {
    let id: RegionId
    let endpoints: [String]
}

/// The cause of old stable time: some replica has the writes of this region only up to a time far in the past.
public struct HeldBack: Hashable, Sendable {
    /// The region whose writes are missing.
    public let region: RegionId
    /// The node of that region whose writes are missing; nil where only the region is known.
    public let node: String?
    /// The partition that lacks them; nil if none of the connected node's does.
    public let partition: String?
}

/// How fresh the snapshots of a node are.
struct Freshness: Sendable, Hashable {
    /// The node's wall clock, ms since 1970.
    let now: Int64
    /// Age of the node's stable snapshot, in ms.
    let stalenessMs: Int64
    /// Whether that is above the cluster's alert limit.
    let stale: Bool
    let heldBackBy: HeldBack?
}

/// Nodes that do not answer a node: the link is down, or no frame has arrived for a second.
struct Unresponsive: Sendable, Hashable {
    /// Every node answers.
    static let nothing = Unresponsive(nodes: [], regions: [])

    /// Names of nodes, for the status.
    let nodes: [String]
    /// Regions in which one of them hosts partitions: new attempts of a commit avoid them.
    let regions: [RegionId]
}

/// A request failed, or (without `id`) the connection did.
struct ErrorFrame: Sendable {
    let id: Int64?
    let error: IsochronError
}

/// Stable time has advanced, or its freshness has changed.
struct UstFrame: Sendable {
    let ust: Timestamp
    let freshness: Freshness
    let unresponsive: Unresponsive
}

/// The node is about to close.
struct GoawayFrame: Sendable {
    let reason: String
    /// Clients may connect again after this many ms.
    let delayMs: Int64
}

/// An answer to a request.
struct Answer: Sendable {
    let id: Int64
    /// A newer session token.
    let token: String?
    let body: Body

    enum Body: Sendable {
        case started(Snapshot)
        case values(Snapshot, [ServedVersion?])
        case listed(Snapshot, entries: [ListedEntry], next: String?)
        case committed(Snapshot)
        /// Validated by its exchange, as `Got` and `Written`: damage matters only if a caller waits for the answer.
        case got(Raw.Members)
        case written(Raw.Members)
        /// A document in one snapshot, and the version that made it. Nil without a document.
        case origin(ServedVersion?, Origin?)
        case aborted
        case status(TransactionStatus.State, Timestamp?)
        case stable(Timestamp)
        case pong
        /// Validated by its exchange.
        case authenticated(Raw.Members)
        /// Validated by their exchanges, which know the timestamp that they asked for.
        case changes(Raw.Members)
        case live(Raw.Members)
    }
}

/// A key of a listing, without its keyspace, and its value.
struct ListedEntry: Sendable {
    let key: String
    let value: Value
}

/// Answer to a GET or a read-only transaction.
struct Got: Sendable {
    let values: [ServedVersion?]
    let seen: [Timestamp]
    /// Nil, never empty, without dependencies.
    let depends: [Dependency]?
    let ust: Timestamp
}

/// Answer to a PUT.
struct Written: Sendable {
    let ts: Timestamp
    let seen: ExportedSeen
    let ust: Timestamp
}
