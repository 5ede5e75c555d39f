// Generated from packages/wire/src/session-frames: change the declarations there, then run
// `REWRITE=1 npm test -- test/swift-declarations`.

import IsochronSession

/// Answer to hello.
struct Welcome: Sendable {
    let region: String
    let node: String
    /// Id of the cluster: sessions do not cross clusters.
    let cluster: String
    let `protocol`: String
    /// The capabilities of the protocol, and of this server.
    let capabilities: [String]
    /// The highest snapshot that the session has seen: none of its snapshots lies below.
    let ust: Snapshot
    /// The node's stable time, if the protocol's snapshots are not stable: a commit's `sentAfter` may not lie far
    /// below.
    let stable: Timestamp?
    /// The state of the token's session, under protocols of single operations: the protocol's client reads it.
    let seen: Raw?
    /// Commit timestamp of the session's last write, if that is above `ust`; else 0. A client that has the token but
    /// not the writes sees all of them once `ust` has passed it.
    let hwt: Timestamp
    let freshness: Freshness
    /// Absent if every node answers.
    let unresponsive: Unresponsive?
    /// Version of the node's map of the cluster (M6); absent for map 0.
    let map: Int64?
    /// Of the maps above that of the token; absent without any.
    let cuts: [SessionCut]
    /// When the credentials expire, by the node's wall clock: from then on it serves nothing but `authenticate` (U1).
    /// Absent for credentials that do not expire.
    let expiresAt: Int64?
    let token: String
    /// Requests that may be in flight; 0 means 1.
    let credits: Int64
    let limits: Limits
    /// How long a transaction may stay open.
    let maxTransactionMs: Int64
    /// Stable time that is further behind is stale.
    let stalenessAlertMs: Int64?
    /// All regions and the API endpoints of their nodes, for failover.
    let regions: [RegionEndpoints]
}

/// A request failed, or (with an `id` that is absent or nil) the connection did.
struct ErrorFrame: Sendable {
    let id: Int64?
    let code: String
    let detail: String
    let retryable: Bool
    /// Of `RATE_LIMITED`: ms after which the request may be sent again.
    let retryAfterMs: Int64?
}

/// The stable time or its freshness has changed: sent at most once a second while the connection carries no other
/// stable time, and less often to a client that sends nothing. It is sent at once when a node stops answering, or
/// answers again.
struct UstFrame: Sendable {
    let ust: Timestamp
    let freshness: Freshness
    /// Absent if every node answers.
    let unresponsive: Unresponsive?
    /// Version of the node's map of the cluster: it comes before any other frame of that map. Absent for map 0.
    let map: Int64?
    /// Of the maps that are new to the connection; absent without any.
    let cuts: [SessionCut]
}

/// The node is about to close: connect to another one, this one after `delayMs`. Until it closes it answers requests on
/// this connection, so that a client can leave when it has another connection.
struct GoawayFrame: Sendable {
    let reason: String
    let delayMs: Int64
}

/// Answer to `get`, with one value, and to `rot`. The client merges its `seen` with the session's, by the protocol's
/// rule.
struct Got: Sendable {
    let values: [ServedVersion?]
    let seen: [Timestamp]
    let depends: [Dependency]?
    /// The node's stable time.
    let ust: Timestamp
}

/// Answer to `put`: durable.
struct Written: Sendable {
    let seen: [Timestamp]
    let region: String
    let depends: [Dependency]?
    let ts: Timestamp
    let ust: Timestamp
}

/// Answer to `changes`: all transactions of the scope with `from < ts <= to`, in the order `(ts, tx)`.
struct ChangesPage: Sendable {
    let from: Timestamp
    /// Nothing at or below here will come later.
    let to: Timestamp
    let transactions: [FeedTransaction]
}

struct Authenticated: Sendable {
    /// The node's wall clock, ms since 1970.
    let now: Int64
    /// As in `welcome`, for the new credentials.
    let expiresAt: Int64?
}

/// The cause of a late stable time: some replica has the writes of this region only up to a time that lies far back.
public struct HeldBack: Hashable, Sendable {
    /// The region whose writes are missing.
    public let region: String
    /// The node of that region whose writes are missing; nil if only the region is known.
    public let node: String?
    /// Partition that lacks the changes; nil if another node holds the partition.
    public let partition: String?
}

/// The freshness of a node's snapshots.
struct Freshness: Hashable, Sendable {
    /// The node's wall clock, ms since 1970: the age of a timestamp is counted by it, not by the client's clock.
    let now: Int64
    /// Age of the node's stable snapshot, in ms.
    let stalenessMs: Int64
    /// Whether that is above the cluster's `stalenessAlertMs`, as while a region is down.
    let stale: Bool
    /// Nil while nothing is stale, or if the cause is unknown.
    let heldBackBy: HeldBack?
}

/// The nodes and regions that do not answer a node: the link is down, or no frame has come for a second.
struct Unresponsive: Hashable, Sendable {
    /// Names of nodes, for the status.
    let nodes: [String]
    /// Regions in which one of them hosts partitions, sorted: new attempts of a commit avoid them.
    let regions: [String]
}

struct RegionEndpoints: Hashable, Sendable {
    let id: String
    let endpoints: [String]
}

struct FeedTransaction: Hashable, Sendable {
    let tx: String
    let ts: Timestamp
    let writes: [KeyWrite]
}

extension Answer {
    /// The frame of an answer, without its head.
    enum Body: Sendable {
        case started(snapshot: Snapshot)
        case values(snapshot: Snapshot, values: [ServedVersion?])
        /// A page of a listing.
        case listed(snapshot: Snapshot, entries: [ListedEntry], next: String?)
        case committed(ts: Snapshot, map: Int64?, nodes: [Int64]?)
        /// Answer to `origin`. For a caller that may not read the document, `value` is nil, and `origin` names the
        /// claim's own version or is nil.
        case origin(value: ServedVersion?, origin: Origin?)
        case aborted
        case status(status: TransactionStatus.State, ts: Timestamp?)
        /// `ust` is a time that every node of every region serves: new sessions see everything up to it.
        case stable(ust: Timestamp)
        case pong
        /// Answer to `get`, with one value, and to `rot`. The client merges its `seen` with the session's, by the
        /// protocol's rule.
        case got(Raw.Members)
        /// Answer to `put`: durable.
        case written(Raw.Members)
        /// Answer to `changes`: all transactions of the scope with `from < ts <= to`, in the order `(ts, tx)`.
        case changes(Raw.Members)
        /// Answer to `live`: everything in the scopes of the connection after the request's `after`, up to `to`.
        case live(Raw.Members)
        case authenticated(Raw.Members)
    }
}

extension Answer.Body {
    /// Nil for an unknown type.
    init?(_ type: String, _ members: Raw.Members) throws {
        switch type {
        case "started":
            self = .started(snapshot: try members.snapshot("snapshot"))
        case "values":
            self = .values(
                snapshot: try members.snapshot("snapshot"),
                values: try members.items("values").map { try $0.present?.servedVersion("values") }
            )
        case "listed":
            self = .listed(
                snapshot: try members.snapshot("snapshot"),
                entries: try members.items("entries").map { try $0.listedEntry("entries") },
                next: try members.required("next").present?.text("next")
            )
        case "committed":
            self = .committed(
                ts: try members.snapshot("ts"),
                map: try members["map"]?.count("map"),
                nodes: try members["nodes"]?.items("nodes").map { try $0.count("nodes") }
            )
        case "origin":
            self = .origin(
                value: try members.required("value").present?.servedVersion("value"),
                origin: try members.required("origin").present?.origin("origin")
            )
        case "aborted": self = .aborted
        case "status":
            self = .status(
                status: try members.required("status").choice("status"),
                ts: try members.required("ts").present?.timestamp("ts")
            )
        case "stable":
            self = .stable(ust: try members.timestamp("ust"))
        case "pong": self = .pong
        case "got": self = .got(members)
        case "written": self = .written(members)
        case "changes": self = .changes(members)
        case "live": self = .live(members)
        case "authenticated": self = .authenticated(members)
        default: return nil
        }
    }

    /// The type, for error messages.
    var name: String {
        switch self {
        case .started: "started"
        case .values: "values"
        case .listed: "listed"
        case .committed: "committed"
        case .origin: "origin"
        case .aborted: "aborted"
        case .status: "status"
        case .stable: "stable"
        case .pong: "pong"
        case .got: "got"
        case .written: "written"
        case .changes: "changes"
        case .live: "live"
        case .authenticated: "authenticated"
        }
    }
}

extension Welcome {
    init(_ members: Raw.Members) throws {
        self.init(
            region: try members.text("region"),
            node: try members.text("node"),
            cluster: try members.text("cluster"),
            protocol: try members.text("protocol"),
            capabilities: try members.items("capabilities").map { try $0.text("capabilities") },
            ust: try members.snapshot("ust"),
            stable: try members["stable"]?.timestamp("stable"),
            seen: members["seen"],
            hwt: try members.timestamp("hwt"),
            freshness: try members.required("freshness").freshness("freshness"),
            unresponsive: try members["unresponsive"]?.unresponsive("unresponsive"),
            map: try members["map"]?.count("map"),
            cuts: try members["cuts"]?.items("cuts").map { try $0.sessionCut("cuts") } ?? [],
            expiresAt: try members["expiresAt"]?.count("expiresAt"),
            token: try members.text("token"),
            credits: try members.count("credits"),
            limits: try members.required("limits").limits("limits"),
            maxTransactionMs: try members.count("maxTransactionMs"),
            stalenessAlertMs: try members["stalenessAlertMs"]?.count("stalenessAlertMs"),
            regions: try members.items("regions").map { try $0.regionEndpoints("regions") }
        )
    }
}

extension ErrorFrame {
    init(_ members: Raw.Members) throws {
        self.init(
            id: try members["id"]?.present?.count("id"),
            code: try members.text("code"),
            detail: try members.text("detail"),
            retryable: members["retryable"] == .bool(true),
            retryAfterMs: try members["retryAfterMs"]?.count("retryAfterMs")
        )
    }
}

extension UstFrame {
    init(_ members: Raw.Members) throws {
        self.init(
            ust: try members.timestamp("ust"),
            freshness: try members.required("freshness").freshness("freshness"),
            unresponsive: try members["unresponsive"]?.unresponsive("unresponsive"),
            map: try members["map"]?.count("map"),
            cuts: try members["cuts"]?.items("cuts").map { try $0.sessionCut("cuts") } ?? []
        )
    }
}

extension GoawayFrame {
    init(_ members: Raw.Members) throws {
        self.init(reason: try members.text("reason"), delayMs: try members.count("delayMs"))
    }
}

extension Got {
    init(_ members: Raw.Members) throws {
        self.init(
            values: try members.items("values").map { try $0.present?.servedVersion("values") },
            seen: try members.items("seen").map { try $0.timestamp("seen") },
            depends: try members["depends"]?.items("depends").map { try $0.dependency("depends") }.nonEmpty,
            ust: try members.timestamp("ust")
        )
    }
}

extension Written {
    init(_ members: Raw.Members) throws {
        self.init(
            seen: try members.items("seen").map { try $0.timestamp("seen") },
            region: try members.text("region"),
            depends: try members["depends"]?.items("depends").map { try $0.dependency("depends") }.nonEmpty,
            ts: try members.timestamp("ts"),
            ust: try members.timestamp("ust")
        )
    }
}

extension ChangesPage {
    init(_ members: Raw.Members) throws {
        self.init(
            from: try members.timestamp("from"),
            to: try members.timestamp("to"),
            transactions: try members.items("transactions").map { try $0.feedTransaction("transactions") }
        )
    }
}

extension LiveAnswer {
    init(_ members: Raw.Members) throws {
        self.init(
            to: try members.timestamp("to"),
            changes: try members.items("changes").map { try $0.keyChanges("changes") },
            ended: try members["ended"]?.items("ended").map { try $0.endedScope("ended") } ?? []
        )
    }
}

extension Authenticated {
    init(_ members: Raw.Members) throws {
        self.init(now: try members.count("now"), expiresAt: try members["expiresAt"]?.count("expiresAt"))
    }
}

extension Raw {
    func heldBack(_ name: String) throws -> HeldBack {
        let members = try members(name)
        return HeldBack(
            region: try members.text("region"),
            node: try members.required("node").present?.text("node"),
            partition: try members.required("partition").present?.text("partition")
        )
    }

    func freshness(_ name: String) throws -> Freshness {
        let members = try members(name)
        return Freshness(
            now: try members.count("now"),
            stalenessMs: try members.count("stalenessMs"),
            stale: members["stale"] == .bool(true),
            heldBackBy: try members.required("heldBackBy").present?.heldBack("heldBackBy")
        )
    }

    func unresponsive(_ name: String) throws -> Unresponsive {
        let members = try members(name)
        return Unresponsive(
            nodes: try members.items("nodes").map { try $0.text("nodes") },
            regions: try members.items("regions").map { try $0.text("regions") }
        )
    }

    func sessionCut(_ name: String) throws -> SessionCut {
        let members = try members(name)
        return SessionCut(
            map: try members.count("map"),
            horizon: try members.timestamp("horizon"),
            nodes: try members.items("nodes").map { try $0.count("nodes") }
        )
    }

    func limits(_ name: String) throws -> Limits {
        let members = try members(name)
        return Limits(
            maxKeyBytes: try members.size("maxKeyBytes"),
            maxValueBytes: try members.size("maxValueBytes"),
            maxKeysPerRequest: try members.size("maxKeysPerRequest"),
            maxRequestBytes: try members.size("maxRequestBytes")
        )
    }

    func regionEndpoints(_ name: String) throws -> RegionEndpoints {
        let members = try members(name)
        return RegionEndpoints(
            id: try members.text("id"),
            endpoints: try members.items("endpoints").map { try $0.text("endpoints") }
        )
    }

    func servedVersion(_ name: String) throws -> ServedVersion {
        let parts = try parts(name, 2)
        return ServedVersion(ts: try parts[0].timestamp(name), value: try parts[1].value())
    }

    func listedEntry(_ name: String) throws -> ListedEntry {
        let parts = try parts(name, 3)
        _ = try parts[1].timestamp(name)
        return ListedEntry(key: try parts[0].text(name), value: try parts[2].value())
    }

    func origin(_ name: String) throws -> Origin {
        let parts = try parts(name, 2)
        return Origin(ts: try parts[0].timestamp(name), txId: try parts[1].text(name))
    }

    func dependency(_ name: String) throws -> Dependency {
        let members = try members(name)
        return Dependency(
            key: try members.text("key"),
            source: try members.count("source"),
            ts: try members.timestamp("ts"),
            near: members["near"] == .bool(true)
        )
    }

    func keyWrite(_ name: String) throws -> KeyWrite {
        let members = try members(name)
        return KeyWrite(key: try members.text("key"), content: try members.required("value").content())
    }

    func feedTransaction(_ name: String) throws -> FeedTransaction {
        let members = try members(name)
        return FeedTransaction(
            tx: try members.text("tx"),
            ts: try members.timestamp("ts"),
            writes: try members.items("writes").map { try $0.keyWrite("writes") }
        )
    }

    func cachedWrite(_ name: String) throws -> CachedWrite {
        let parts = try parts(name, 3)
        return CachedWrite(
            ct: try parts[0].timestamp(name),
            txId: try parts[1].text(name),
            content: try parts[2].content()
        )
    }

    func keyChanges(_ name: String) throws -> KeyChanges {
        let parts = try parts(name, 2)
        return KeyChanges(
            key: try parts[0].text(name),
            changes: try parts[1].items(name).map { try $0.cachedWrite(name) }
        )
    }

    func endedScope(_ name: String) throws -> EndedScope {
        let parts = try parts(name, 3)
        return EndedScope(
            watch: try parts[0].count(name),
            code: try parts[1].text(name),
            detail: try parts[2].text(name)
        )
    }

    func exportedSeen(_ name: String) throws -> ExportedSeen {
        let members = try members(name)
        return ExportedSeen(
            seen: try members.items("seen").map { try $0.timestamp("seen") },
            region: try members.text("region"),
            depends: try members["depends"]?.items("depends").map { try $0.dependency("depends") }.nonEmpty
        )
    }
}
