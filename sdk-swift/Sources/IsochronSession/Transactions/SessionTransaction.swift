/// One transaction of a session: its snapshot, its reads and its writes.
///
/// Reads look at the write set, the read set and the session's write cache as it was at the start, in this order; a key
/// in none of them is read from a node. The read set stores absent keys, too: a transaction never sees two answers for
/// one key.
public struct SessionTransaction: Sendable {
    /// Its id, which no other transaction has.
    public let id: TxId
    /// The lowest snapshot that it may be given: the one that its session had seen at the start.
    public let seen: Snapshot

    private let rules: SessionRules
    private let cache: WriteCache
    private var reads: [ExactString: ReadResult] = [:]
    private var written = OrderedMap<ExactString, Value?>()
    private var assigned: Snapshot?

    /// A transaction. ``Session/begin()`` makes those of a session; a snapshot of the past is read without cache and
    /// rules.
    public init(
        id: TxId, seen: Snapshot, cache: WriteCache = WriteCache(), rules: SessionRules = .withoutCache
    ) {
        self.id = id
        self.seen = seen
        self.cache = cache
        self.rules = rules
    }

    /// Timestamp of the lowest snapshot that it may be given.
    public var floor: Timestamp { seen.ts }

    /// The snapshot's timestamp, once it is assigned.
    public var snapshot: Timestamp? { assigned?.ts }

    /// The snapshot's other entries.
    public var deps: [Timestamp]? { assigned?.deps }

    /// Own writes up to this timestamp are part of every snapshot that it may have.
    public var covered: Timestamp { rules.covers(assigned ?? seen) }

    /// Whether it has written anything.
    public var hasWrites: Bool { !written.isEmpty }

    /// Its writes, in the order in which their keys were first written.
    public var writes: [KeyWrite] {
        written.entries.map { KeyWrite(key: $0.key.text, value: $0.element) }
    }

    /// Takes the assigned snapshot of a node.
    ///
    /// Throws `snapshotBelowSeen` if the session has seen more, `snapshotChanged` after another assignment.
    public mutating func started(_ snapshot: Snapshot) throws(SessionError) {
        guard snapshot.ts >= floor else { throw .snapshotBelowSeen(snapshot: snapshot.ts, seen: floor) }
        if let assigned, assigned.ts != snapshot.ts { throw .snapshotChanged(from: assigned.ts, to: snapshot.ts) }
        assigned = snapshot
    }

    /// The transaction's own result for a key; nil: ask a node, and ``record(_:_:)`` its answer.
    public func lookup(_ key: QualifiedKey) -> ReadResult? {
        ownWrite(ExactString(key)) ?? reads[ExactString(key)] ?? cached(key)
    }

    /// Adds a node's answer for a key to the read set, and returns the transaction's result.
    public mutating func record(_ key: QualifiedKey, _ version: ServedVersion?) -> ReadResult {
        let name = ExactString(key)
        if let own = ownWrite(name) { return own }
        let served = ReadResult(value: version?.value, ts: version?.ts)
        let result = reads[name] ?? cached(key) ?? served
        reads[name] = result
        return result
    }

    /// Writes a key; nil deletes it.
    public mutating func write(_ key: QualifiedKey, _ value: Value?) {
        written[ExactString(key)] = .some(value)
    }

    /// Own writes, of this transaction and earlier ones, above the snapshot: a listing adds them to its pages. Each key
    /// once.
    public func overlay() -> [OverlayEntry] {
        var overlay = OrderedMap<ExactString, ReadResult>()
        for entry in cache.entries { overlay[ExactString(entry.key)] = cached(entry.key) }
        for write in writes { overlay[ExactString(write.key)] = ReadResult(value: write.value, ts: nil) }
        return overlay.entries.map { OverlayEntry(key: $0.key.text, result: $0.element) }
    }

    private func ownWrite(_ name: ExactString) -> ReadResult? {
        written[name].map { ReadResult(value: $0, ts: nil) }
    }

    /// The cache's entry counts exactly if it lies above the snapshot; before that is known, no entry does.
    private func cached(_ key: QualifiedKey) -> ReadResult? {
        guard assigned != nil, let write = cache[key], write.ct > covered else { return nil }
        return ReadResult(value: write.value, ts: write.ct)
    }
}

/// A key of an overlay, with the transaction's result.
public struct OverlayEntry: Sendable {
    /// The key that was written.
    public let key: QualifiedKey
    /// The result of its reads.
    public let result: ReadResult
}
