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
    private var cache: WriteCache
    private var reads: [ExactString: ReadResult] = [:]
    private var written = OrderedMap<ExactString, Content>()
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

    /// The snapshot that it reads from, or the lowest one that it may be given.
    public var readsFrom: Snapshot { assigned ?? seen }

    /// The other entries of the snapshot, or of the lowest one that it may be given.
    public var deps: [Timestamp]? { readsFrom.deps }

    /// Own writes up to this timestamp are part of every snapshot that it may have.
    public var covered: Timestamp { rules.covers(assigned ?? seen) }

    /// Whether it has written anything.
    public var hasWrites: Bool { !written.isEmpty }

    /// Its writes, in the order in which their keys were first written.
    public var writes: [KeyWrite] {
        written.entries.map { KeyWrite(key: $0.key.text, content: $0.element) }
    }

    /// Takes the assigned snapshot of a node.
    ///
    /// Throws `snapshotBelowSeen` if the session has seen more, `snapshotChanged` after another assignment.
    public mutating func started(_ snapshot: Snapshot) throws(SessionError) {
        guard snapshot.ts >= floor else { throw .snapshotBelowSeen(snapshot: snapshot.ts, seen: floor) }
        if let assigned, assigned.ts != snapshot.ts { throw .snapshotChanged(from: assigned.ts, to: snapshot.ts) }
        assigned = snapshot
    }

    /// The transaction's own result for a key; nil: ask a node, and ``record(_:_:)`` its answer. A node is asked for the
    /// document below own updates, too.
    public func lookup(_ key: QualifiedKey) -> ReadResult? {
        let name = ExactString(key)
        if let own = ownValue(name) { return own }
        return (reads[name] ?? cached(key, nil)).map { updated($0, name) }
    }

    /// Adds a node's answer for a key to the read set, and returns the transaction's result.
    public mutating func record(_ key: QualifiedKey, _ version: ServedVersion?) -> ReadResult {
        let name = ExactString(key)
        if let own = ownValue(name) { return own }
        let served = ReadResult(value: version?.value, ts: version?.ts)
        let result = reads[name] ?? cached(key, .some(served.value)) ?? served
        reads[name] = result
        return updated(result, name)
    }

    /// Writes a key; nil deletes it.
    public mutating func write(_ key: QualifiedKey, _ value: Value?) {
        write(key, Content(value))
    }

    /// Writes a key. An update follows the writes of the key before it.
    public mutating func write(_ key: QualifiedKey, _ content: Content) {
        let name = ExactString(key)
        if case .update(let update) = content, let older = written[name] {
            written[name] = older.followed(by: update)
        } else {
            written[name] = content
        }
    }

    /// A commit that was deferred has another timestamp: also in the cache of a transaction that has begun before.
    mutating func moved(_ id: TxId, to ct: Timestamp) {
        cache.move(id, to: ct)
    }

    /// Own writes, of this transaction and earlier ones, above the snapshot, in their order: a listing lays them over
    /// its pages. Each key once.
    public func overlay() -> [OverlayEntry] {
        var overlay = OrderedMap<ExactString, [OwnWrite]>()
        for key in cache.keys + written.entries.map(\.key.text) {
            let own = own(key)
            if !own.isEmpty { overlay[ExactString(key)] = own }
        }
        return overlay.entries.map { OverlayEntry(key: $0.key.text, writes: $0.element) }
    }

    /// The own writes of one key in ``overlay()``.
    private func own(_ key: QualifiedKey) -> [OwnWrite] {
        above(key) + (written[ExactString(key)].map { [OwnWrite(content: $0, version: nil)] } ?? [])
    }

    /// The result of a write of this transaction that is no update.
    private func ownValue(_ name: ExactString) -> ReadResult? {
        switch written[name] {
        case .put(let value)?: ReadResult(value: value, ts: nil)
        case .delete?: ReadResult(value: nil, ts: nil)
        case .update?, nil: nil
        }
    }

    /// A result after the update of this transaction, if there is one.
    private func updated(_ below: ReadResult, _ name: ExactString) -> ReadResult {
        guard let update = written[name], let value = laidOver(below.value, [OwnWrite(content: update, version: nil)])
        else { return below }
        return ReadResult(value: value, ts: nil)
    }

    /// The document that earlier own writes give; nil without one, or if they need the document below.
    private func cached(_ key: QualifiedKey, _ below: Value??) -> ReadResult? {
        let writes = above(key)
        guard let last = writes.last, let value = laidOver(below, writes) else { return nil }
        return ReadResult(value: value, ts: last.version?.ts)
    }

    /// The cache's entries count exactly if they lie above the snapshot; before that is known, none does.
    private func above(_ key: QualifiedKey) -> [OwnWrite] {
        guard assigned != nil else { return [] }
        let covered = covered
        return cache[key].filter { $0.ct > covered }.map { write in
            OwnWrite(content: write.content, version: Origin(ts: write.ct, txId: write.txId))
        }
    }
}

/// A key of an overlay.
public struct OverlayEntry: Sendable {
    /// The key that was written.
    public let key: QualifiedKey
    /// Its own writes in their order. Those of the open transaction are one, the last.
    public let writes: [OwnWrite]

    /// A key with its own writes.
    public init(key: QualifiedKey, writes: [OwnWrite]) {
        self.key = key
        self.writes = writes
    }
}
