/// A GET as a session makes it.
public struct GetRequest: Sendable {
    /// The key that is read.
    public let key: QualifiedKey
    /// What the session has seen, in the protocol's entries; empty when that is nothing.
    public let seen: [Timestamp]
    /// The region in which it has seen that.
    public let region: RegionId
}

/// A one-shot read-only transaction as a session makes it.
public struct RotRequest: Sendable {
    /// The keys that are read.
    public let keys: [QualifiedKey]
    /// What the session has seen, in the protocol's entries; empty when that is nothing.
    public let seen: [Timestamp]
    /// The region in which it has seen that.
    public let region: RegionId
    /// Its id, under protocols that remember who has read.
    public let id: TxId?
}

/// A PUT as a session makes it: sent, and sent again under the same id, until its outcome is known.
public struct PutRequest: Sendable {
    /// Its id.
    public let txId: TxId
    /// The key that is written.
    public let key: QualifiedKey
    /// What is written; nil deletes.
    public let value: Value?
    /// What the session has seen, in the protocol's entries; empty when that is nothing.
    public let seen: [Timestamp]
    /// The region in which it has seen that.
    public let region: RegionId
    /// The highest stable time that the session knew when it first sent the PUT.
    public let sentAfter: Timestamp
    /// The region of every attempt so far; the last is this one's.
    public internal(set) var attemptRegions: [RegionId]
    /// What the version depends on, under protocols whose dependencies name keys; nil when that is nothing.
    public let depends: [Dependency]?
}

/// The answer to an operation, as far as a session remembers it.
public enum OperationAnswer: Hashable, Sendable {
    /// To a GET or a read-only transaction.
    case read(seen: [Timestamp], ust: Timestamp, depends: [Dependency]? = nil)
    /// To a PUT that has its home in `region`: what the session has seen is of that region now.
    case wrote(seen: [Timestamp], region: RegionId, ust: Timestamp, depends: [Dependency]? = nil)
}
