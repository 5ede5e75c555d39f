/// The snapshot of a transaction or session: a timestamp, and under some protocols further entries.
public struct Snapshot: Hashable, Sendable {
    /// Its timestamp.
    public let ts: Timestamp
    /// The other entries, which the protocol defines.
    public let deps: [Timestamp]?

    /// A snapshot of a timestamp, and the entries beside it.
    public init(ts: Timestamp, deps: [Timestamp]? = nil) {
        self.ts = ts
        self.deps = deps
    }
}

/// The whole session of transactions, to continue it elsewhere.
public struct SessionState: Hashable, Sendable {
    /// Timestamp of the seen snapshot.
    public let ust: Timestamp
    /// The other entries of the seen snapshot, under protocols that have them.
    public let deps: [Timestamp]?
    /// Commit timestamp of the last write.
    public let hwt: Timestamp
    /// Own writes that may not be stable yet, the oldest first.
    public let cache: [CacheEntry]
    /// The commits of these writes, where the session judges them by cuts (M10).
    public let own: [OwnCommit]

    /// By default a session that has seen nothing.
    public init(
        ust: Timestamp = 0, deps: [Timestamp]? = nil, hwt: Timestamp = 0, cache: [CacheEntry] = [],
        own: [OwnCommit] = []
    ) {
        self.ust = ust
        self.deps = deps
        self.hwt = hwt
        self.cache = cache
        self.own = own
    }
}

/// The fields of one commit, unchanged in retries.
public struct CommitAttempt: Hashable, Sendable {
    /// The transaction.
    public let txId: TxId
    /// What it depends on, beside `hwt`: the snapshot of its reads, or more; without reads the seen snapshot of its
    /// session.
    public let snapshot: Timestamp
    /// The other entries of `snapshot`.
    public let deps: [Timestamp]?
    /// Commit timestamp of the session's last write before it.
    public let hwt: Timestamp
    /// A stable time when it was made: separates *forgotten* from *unknown*.
    public let sentAfter: Timestamp
    /// Its writes, in the order in which their keys were first written.
    public let writes: [KeyWrite]

    /// An attempt to commit.
    public init(
        txId: TxId, snapshot: Timestamp, deps: [Timestamp]?, hwt: Timestamp, sentAfter: Timestamp, writes: [KeyWrite]
    ) {
        self.txId = txId
        self.snapshot = snapshot
        self.deps = deps
        self.hwt = hwt
        self.sentAfter = sentAfter
        self.writes = writes
    }
}
