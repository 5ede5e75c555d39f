/// A write of the session that its snapshots may not contain yet.
public struct CachedWrite: Hashable, Sendable {
    /// Commit timestamp.
    public let ct: Timestamp
    /// The transaction that wrote it.
    public let txId: TxId
    /// What was written.
    public let content: Content

    /// A committed write.
    public init(ct: Timestamp, txId: TxId, content: Content) {
        self.ct = ct
        self.txId = txId
        self.content = content
    }

    /// A committed write of a value, or with nil a deletion.
    public init(ct: Timestamp, txId: TxId, value: Value?) {
        self.init(ct: ct, txId: txId, content: Content(value))
    }

    fileprivate func precedes(_ other: CachedWrite) -> Bool { (ct, txId) < (other.ct, other.txId) }
}

/// A key of the write cache with its write.
public struct CacheEntry: Hashable, Sendable {
    /// The key that was written.
    public let key: QualifiedKey
    /// A write of the key.
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

/// A write of the session, perhaps of an open transaction.
public struct OwnWrite: Hashable, Sendable {
    /// What was written.
    public let content: Content
    /// Its version; nil before the commit.
    public let version: Origin?

    /// A write with its version.
    public init(content: Content, version: Origin?) {
        self.content = content
        self.version = version
    }
}

/// The document after own writes, in their order, over the document below them. Nil if that is needed and not given.
///
/// - Parameter below: the document, which may be absent; nil if it is not known
public func laidOver(_ below: Value??, _ writes: [OwnWrite]) -> Value?? {
    var fold = below.map { Fold($0) }
    for write in writes {
        switch write.content {
        case .put(let value): fold = Fold(value)
        case .delete: fold = Fold(nil)
        case .update(let update):
            if fold == nil { return nil }
            fold?.apply(update, at: write.version)
        }
    }
    return fold.map(\.result)
}

/// The client's private cache of own writes above the stable snapshot. Keeps of each key, in the order of `(ct, txId)`,
/// the newest write that is no update and every update after it.
///
/// A value: a copy at a transaction's start does not change with the session. A session commits in the order of its
/// timestamps, so the entries are in that order, and pruning visits only the removed ones.
public struct WriteCache: Sendable {
    private var writes = OrderedMap<ExactString, [CachedWrite]>()
    /// Every snapshot contains the writes up to here.
    private var floor: Timestamp = 0

    /// A cache with these entries, in their order.
    public init(_ entries: [CacheEntry] = []) {
        for entry in entries { add(entry.key, entry.write) }
    }

    /// Number of keys.
    public var count: Int { writes.count }

    /// The keys, the one with the oldest last write first.
    public var keys: [QualifiedKey] { writes.entries.map(\.key.text) }

    /// The entries by their keys, those of a key in their order.
    public var entries: [CacheEntry] {
        writes.entries.flatMap { key, all in all.map { CacheEntry(key: key.text, write: $0) } }
    }

    /// Own writes of a key in their order.
    public subscript(key: QualifiedKey) -> [CachedWrite] {
        writes[ExactString(key)] ?? []
    }

    /// Adds a write, unless the cache contains it or needs it not.
    public mutating func add(_ key: QualifiedKey, _ write: CachedWrite) {
        let name = ExactString(key)
        guard let all = inserted(write, into: writes[name] ?? []) else { return }
        writes[name] = nil
        writes[name] = all
    }

    /// A commit that was deferred has another timestamp.
    mutating func move(_ txId: TxId, to ct: Timestamp) {
        for (key, all) in writes.entries where all.contains(where: { isSameText($0.txId, txId) }) {
            writes[key] = all.map { write in
                isSameText(write.txId, txId) ? CachedWrite(ct: ct, txId: txId, content: write.content) : write
            }
        }
    }

    /// Removes the keys whose writes every snapshot from `floor` on contains.
    public mutating func prune(upTo floor: Timestamp) {
        self.floor = max(self.floor, floor)
        while let oldest = writes.first, let newest = oldest.element.last, newest.ct <= floor {
            writes[oldest.key] = nil
        }
    }

    private func inserted(_ write: CachedWrite, into old: [CachedWrite]) -> [CachedWrite]? {
        let before = old.prefix { !write.precedes($0) }
        if let same = before.last, same.ct == write.ct, same.txId == write.txId { return nil }
        let after = old[before.count...]
        if after.contains(where: { !$0.content.isUpdate }) { return nil }
        if !write.content.isUpdate { return [write] + after }
        return before.filter { $0.ct > floor } + [write] + after
    }
}
