/// A write of the session that its snapshots may not contain yet.
public struct CachedWrite: Hashable, Sendable {
    /// Commit timestamp.
    public let ct: Timestamp
    /// The transaction that wrote it.
    public let txId: TxId
    /// What was written; nil for a deletion.
    public let value: Value?

    /// A committed write.
    public init(ct: Timestamp, txId: TxId, value: Value?) {
        self.ct = ct
        self.txId = txId
        self.value = value
    }
}

/// A key of the write cache with its write.
public struct CacheEntry: Hashable, Sendable {
    /// The key that was written.
    public let key: QualifiedKey
    /// Its newest write.
    public let write: CachedWrite

    /// An entry of the cache.
    public init(key: QualifiedKey, write: CachedWrite) {
        self.key = key
        self.write = write
    }

    public static func == (left: CacheEntry, right: CacheEntry) -> Bool {
        isSameText(left.key, right.key) && left.write == right.write
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactString(key))
        hasher.combine(write)
    }
}

/// The client's private cache of own writes above the stable snapshot. Keeps the greatest `(ct, txId)` of each key.
///
/// A value: a copy at a transaction's start does not change with the session. A session commits in the order of its
/// timestamps, so the entries are in that order, and pruning visits only the removed ones.
public struct WriteCache: Sendable {
    private var writes = OrderedMap<ExactString, CachedWrite>()

    /// A cache with these entries, in their order. Of two entries of one key the later counts.
    public init(_ entries: [CacheEntry] = []) {
        for entry in entries { writes[ExactString(entry.key)] = entry.write }
    }

    /// Number of keys.
    public var count: Int { writes.count }

    /// The entries, the oldest first.
    public var entries: [CacheEntry] {
        writes.entries.map { CacheEntry(key: $0.key.text, write: $0.element) }
    }

    /// The newest own write of a key.
    public subscript(key: QualifiedKey) -> CachedWrite? {
        writes[ExactString(key)]
    }

    /// Adds a write, unless it has a newer one of the key.
    public mutating func add(_ key: QualifiedKey, _ write: CachedWrite) {
        let name = ExactString(key)
        if let old = writes[name], (old.ct, old.txId) >= (write.ct, write.txId) { return }
        writes[name] = nil
        writes[name] = write
    }

    /// Removes the entries that every snapshot from `floor` on contains.
    public mutating func prune(upTo floor: Timestamp) {
        while let oldest = writes.first, oldest.element.ct <= floor { writes[oldest.key] = nil }
    }
}
