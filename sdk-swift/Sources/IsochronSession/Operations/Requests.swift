/// A GET of a session.
public struct GetRequest: Sendable {
    /// The key that is read.
    public let key: QualifiedKey
    /// The seen timestamps, in the protocol's entries; empty before the first.
    public let seen: [Timestamp]
    /// The region in which they were seen.
    public let region: RegionId
}

/// A one-shot read-only transaction of a session.
public struct RotRequest: Sendable {
    /// The keys that are read.
    public let keys: [QualifiedKey]
    /// The seen timestamps, in the protocol's entries; empty before the first.
    public let seen: [Timestamp]
    /// The region in which they were seen.
    public let region: RegionId
    /// Its id, under protocols that record readers.
    public let id: TxId?
}

/// A PUT of a session: sent repeatedly under the same id, until its outcome is known.
public struct PutRequest: Sendable {
    /// Its id.
    public let txId: TxId
    /// The key that is written.
    public let key: QualifiedKey
    /// The written value; nil deletes.
    public let value: Value?
    /// The seen timestamps, in the protocol's entries; empty before the first.
    public let seen: [Timestamp]
    /// The region in which they were seen.
    public let region: RegionId
    /// The highest stable time of the session when it first sent the PUT.
    public let sentAfter: Timestamp
    /// The region of every attempt so far; the last is this one's.
    public internal(set) var attemptRegions: [RegionId]
    /// The versions that it depends on, under protocols whose dependencies name keys; nil without dependencies.
    public let depends: [Dependency]?
}

/// The part of an operation's answer that a session stores.
public enum OperationAnswer: Hashable, Sendable {
    /// To a GET or a read-only transaction.
    case read(seen: [Timestamp], ust: Timestamp, depends: [Dependency]? = nil)
    /// To a PUT with its home in `region`: the seen entries are of that region now.
    case wrote(seen: [Timestamp], region: RegionId, ust: Timestamp, depends: [Dependency]? = nil)
}
