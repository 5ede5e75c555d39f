import IsochronSession

/// First frame of a connection. Nothing secret ever goes into the URL.
struct Hello: Sendable {
    let token: String?
    let credentials: String?
    /// Name and version of the client, for the operator's logs.
    let client: String
}

/// A request without its id.
enum Request: Sendable {
    case start(tx: TxId, at: Snapshot?)
    case read(keys: [QualifiedKey], SnapshotFields)
    case list(ListRequest, SnapshotFields)
    case commit(CommitRequest)
    /// Reads a key in exactly one snapshot, and which version made the document there.
    case origin(key: QualifiedKey, at: Timestamp, tx: TxId)
    case abort(tx: TxId)
    case status(tx: TxId, sentAfter: Timestamp?)
    case get(GetRequest, depends: [Dependency]?)
    case rot(RotRequest, depends: [Dependency]?)
    /// `attemptRegions` replaces the request's own.
    case put(PutRequest, attemptRegions: [RegionId])
    case stable(ts: Timestamp, timeoutMs: Int64)
    case ping(token: String?)
    /// Renews the credentials of the connection (U2, a session keeps its principal), by others of the same principal.
    case authenticate(credentials: String)
    case changes(ChangesRequest)
    case live(LiveRequest)
}

/// The snapshot of a read.
enum SnapshotFields: Sendable {
    /// The snapshot of the open transaction.
    case transaction(TxId)
    /// Exactly this one; nil: the newest.
    case at(Snapshot?)
}

/// Options of a listing, in keys without their keyspace.
struct ListRequest: Sendable {
    let keyspace: String
    let prefix: String
    let start: String
    let limit: Int
    /// Only keys with this many segments; nil: all.
    var level: Int?
}

/// A commit. With `at` it needs no open transaction.
struct CommitRequest: Sendable {
    let tx: TxId
    let at: Snapshot?
    let hwt: Timestamp
    let sentAfter: Timestamp
    /// The regions whose cohorts were tried, the present one last.
    let attemptRegions: [RegionId]
    /// For each of `attemptRegions` the regions that this attempt avoids, sorted.
    let avoids: [[RegionId]]
    /// The session's previous commit, if that was sent on this connection and is not answered yet.
    let after: TxId?
    let writes: [KeyWrite]
}
