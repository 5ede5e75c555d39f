import IsochronSession

/// A request for changes that was answered.
struct LiveAsked: Hashable, Sendable {
    /// It named the scopes whose `since` is at or below.
    let number: Int
    let after: Timestamp
}

/// An answer of the feed.
struct LiveAnswer: Sendable {
    /// Everything up to here is in the answer, or lies at or below the request's `after`.
    let to: Timestamp
    let changes: [KeyChanges]
    /// Scopes that access rules have ended at `to` (AR4).
    var ended: [EndedScope] = []
}

/// A scope that the node has dropped, by its number on the connection, and the reason.
struct EndedScope: Sendable {
    let watch: Int64
    let error: IsochronError
}

/// Live queries of a client: it has one snapshot, its position, with the documents of all scopes, and its own writes
/// above. Pure: no I/O, no clock.
///
/// - All scopes are at one position, and move to the next one together (LQ1). A new scope is read at a snapshot of its
///   own, and joins when the position is there; without other scopes, the position begins at its snapshot.
/// - A request names a time at or below the position of each scope, and changes at or below a scope's position are
///   dropped: so answers may overlap, and come late or twice. An answer is about the scopes that its request, or one
///   before, named.
/// - An own write is laid over until the position has passed its timestamp (LQ2). While a write may have had an effect,
///   its timestamp is unknown, and may lie anywhere: an answer that comes meanwhile is applied once it is decided.
/// - If the log does not go back to the position, all scopes are read anew at one snapshot above it, and replaced (LQ3).
struct LiveState: Sendable {
    private struct Held: Sendable {
        let asked: LiveAsked
        let answer: LiveAnswer
        let doubts: Set<WriteNumber>
    }

    /// Nil until the first scope is live.
    private(set) var at: Timestamp?
    private(set) var scopes: [ScopeId: LiveScope] = [:]
    private var readings: [Int: LiveReading] = [:]
    private var own: OwnWrites
    /// The snapshot at the position, without own writes.
    private var values: [ExactString: Value] = [:]
    private var held: [Held] = []
    /// Commits of the session are deferred: they lie above the position, which does not move until they are committed
    /// again (M10).
    var isDeferred = false
    private var dirty: Set<ScopeId> = []
    /// Times that the log did not go back to the position, since the last answer.
    private(set) var timesGone = 0
    private var lastId = 0

    init(_ own: OwnWrites = OwnWrites()) {
        self.own = own
    }

    // Scopes.

    /// The scope of a range, which watches share, and whether it is new: then it has to be read.
    mutating func scope(of range: LiveRange) -> (id: ScopeId, isNew: Bool) {
        if let known = scopes.first(where: { $0.value.range == range }) { return (known.key, false) }
        scopes[nextId()] = LiveScope(range)
        return (lastId, true)
    }

    /// A scope is not watched any more. Returns the readings that are of no use without it.
    mutating func drop(_ id: ScopeId) -> [Int] {
        guard let scope = scopes.removeValue(forKey: id) else { return [] }
        dirty.remove(id)
        values = values.filter { !scope.range.contains($0.key) || isShown($0.key) }
        var useless: [Int] = []
        for (number, reading) in readings where reading.scopes.contains(id) {
            readings[number]?.scopes.remove(id)
            if reading.scopes.count == 1 { useless.append(number) }
        }
        for number in useless { readings[number] = nil }
        joinAll()
        return useless
    }

    /// The request of the present connection that named a scope was answered.
    mutating func named(_ id: ScopeId, by request: Int) {
        scopes[id]?.since = request
    }

    /// The node does not know a scope any more.
    mutating func unnamed(_ id: ScopeId) {
        scopes[id]?.since = .max
    }

    /// The scopes whose documents have changed, with the changed keys, since the last call.
    mutating func takeChanges() -> [ScopeId: Set<ExactString>] {
        defer { dirty = [] }
        var changes: [ScopeId: Set<ExactString>] = [:]
        for id in dirty { changes[id] = scopes[id]?.takeChanged() }
        return changes
    }

    // Positions.

    /// The lowest position of a scope; nil while none is fed.
    var after: Timestamp? {
        (readings.values.compactMap(\.position) + (some(.live) ? [at ?? 0] : [])).min()
    }

    /// Whether a scope waits for the position to reach its first read.
    var isBehind: Bool {
        let isLive = some(.live)
        return readings.values.contains { isReady($0) && (isLive || standsAlone($0)) }
    }

    // First reads.

    /// Begins the read of some scopes. Returns its number.
    ///
    /// - Parameter seen: the session's snapshot
    mutating func read(_ ids: Set<ScopeId>, seen: Timestamp) -> Int {
        readings[nextId()] = LiveReading(ids, fed: timesGone > 0 ? nil : seen)
        return lastId
    }

    /// All scopes of a reading have been read, at one snapshot.
    mutating func hasRead(
        _ number: Int, at snapshot: Timestamp, _ values: [ExactString: Value], doubts: Set<WriteNumber>
    ) {
        readings[number]?.complete(snapshot, values, doubts: doubts)
        joinAll()
    }

    // The feed.

    /// Takes the answer to a request. Returns whether it was applied; else it waits for own writes.
    ///
    /// - Parameter doubts: own writes that may have had an effect
    mutating func answered(_ asked: LiveAsked, _ answer: LiveAnswer, doubts: Set<WriteNumber>) -> Bool {
        if doubts.isEmpty, held.isEmpty, !isDeferred {
            apply(asked, answer)
            return true
        }
        held.append(Held(asked: asked, answer: answer, doubts: doubts))
        return false
    }

    /// The log does not go back to the position: all scopes have to be read anew.
    mutating func gone() {
        timesGone += 1
        readings = [:]
        held = []
        for (id, scope) in scopes where scope.phase == .live { scopes[id]?.phase = .stale }
    }

    /// Gives up the reads under way: others follow.
    mutating func endReadings() {
        readings = [:]
    }

    // Own writes.

    mutating func called(_ number: WriteNumber, _ writes: [KeyWrite], expected: Timestamp? = nil) {
        refresh(own.called(number, writes, expected: expected))
    }

    /// Returns the answers that have waited for it, and are applied.
    mutating func committed(_ number: WriteNumber, _ version: Origin) -> [LiveAnswer] {
        refresh(own.committed(number, version))
        return release()
    }

    /// It has had no effect, or its session goes on without it.
    mutating func dropped(_ number: WriteNumber) -> [LiveAnswer] {
        refresh(own.dropped(number))
        return release()
    }

    /// A commit that was deferred is committed again.
    mutating func moved(_ version: Origin) {
        own.moved(version)
    }

    /// Returns the answers that are applied now, after others have waited.
    mutating func release() -> [LiveAnswer] {
        var released: [LiveAnswer] = []
        while !isDeferred, let first = held.first, !first.doubts.contains(where: own.isUndecided) {
            held.removeFirst()
            apply(first.asked, first.answer)
            released.append(first.answer)
        }
        joinAll()
        return released
    }

    private mutating func apply(_ asked: LiveAsked, _ answer: LiveAnswer) {
        timesGone = 0
        for number in readings.map(\.key) {
            let its = readings[number]?.scopes ?? []
            guard its.allSatisfy({ isNamed($0, asked) }) else { continue }
            let ranges = its.compactMap { scopes[$0]?.range }
            readings[number]?.take(answer.changes, after: asked.after, to: answer.to) { key in
                ranges.contains { $0.contains(key) }
            }
        }
        let shown = scopes.filter { $0.value.phase != .reading }
        let moves = !shown.isEmpty && shown.allSatisfy { $0.value.phase == .live && isNamed($0.key, asked) }
        if moves, let at, asked.after <= at { advance(from: at, answer) }
        joinAll()
    }

    private func isNamed(_ id: ScopeId, _ asked: LiveAsked) -> Bool {
        (scopes[id]?.since ?? .max) <= asked.number
    }

    private mutating func advance(from at: Timestamp, _ answer: LiveAnswer) {
        var touched: Set<ExactString> = []
        for one in answer.changes where isShown(one.key) {
            guard let value = one.applied(to: values[one.key], above: at) else { continue }
            values[one.key] = value
            touched.insert(one.key)
        }
        move(to: max(at, answer.to), touched)
    }

    private mutating func move(to ts: Timestamp, _ touched: Set<ExactString>) {
        at = ts
        refresh(touched.union(own.passed(ts)))
    }

    /// First reads whose time has come join the position, or make it.
    private mutating func joinAll() {
        for number in readings.keys.sorted() {
            guard let reading = readings[number], isReady(reading), let position = reading.position else { continue }
            if !standsAlone(reading) {
                if !some(.stale), position == at { join(number, reading) }
            } else if position >= at ?? 0 {
                // It may have begun before the position got there: nothing that was shown goes back.
                begin(number, reading, at: position)
            }
        }
    }

    /// Whether it has been read, and holds no own write whose timestamp is not known.
    private func isReady(_ reading: LiveReading) -> Bool {
        reading.snapshot != nil && !reading.doubts.contains(where: own.isUndecided)
    }

    /// Whether no other scope has documents.
    private func standsAlone(_ reading: LiveReading) -> Bool {
        scopes.allSatisfy { id, scope in
            scope.phase == .reading || (scope.phase == .stale && reading.scopes.contains(id))
        }
    }

    private mutating func begin(_ number: Int, _ reading: LiveReading, at position: Timestamp) {
        let old = Set(values.keys)
        enter(number, reading)
        values = documents(of: reading)
        move(to: position, old.union(values.keys).union(own.keys))
    }

    private mutating func join(_ number: Int, _ reading: LiveReading) {
        enter(number, reading)
        let documents = documents(of: reading)
        values.merge(documents) { $1 }
        refresh(Set(documents.keys).union(own.keys))
    }

    /// Without those of scopes that were dropped meanwhile: the feed has not brought their changes.
    private func documents(of reading: LiveReading) -> [ExactString: Value] {
        let ranges = reading.scopes.compactMap { scopes[$0]?.range }
        return reading.documents().filter { key, _ in ranges.contains { $0.contains(key) } }
    }

    private mutating func enter(_ number: Int, _ reading: LiveReading) {
        readings[number] = nil
        for id in reading.scopes {
            scopes[id]?.phase = .live
            dirty.insert(id)
        }
    }

    // Documents.

    /// Keys of the snapshot, or of own writes, may have changed.
    private mutating func refresh(_ keys: Set<ExactString>) {
        // Not the keys of the dictionary: they would keep a copy of it, and every change would copy all documents.
        let ids = scopes.map(\.key)
        for key in keys {
            let writes = own.of(key)
            let value = laidOver(.some(values[key]), writes) ?? nil
            let document = value.map { LiveDocument(value: $0, isPending: !writes.isEmpty) }
            for id in ids where shows(id, key) {
                if scopes[id]?.show(key, document) == true { dirty.insert(id) }
            }
        }
    }

    private func shows(_ id: ScopeId, _ key: ExactString) -> Bool {
        scopes[id].map { $0.phase != .reading && $0.range.contains(key) } ?? false
    }

    private func isShown(_ key: ExactString) -> Bool { scopes.keys.contains { shows($0, key) } }

    private func some(_ phase: LiveScope.Phase) -> Bool { scopes.values.contains { $0.phase == phase } }

    private mutating func nextId() -> Int {
        lastId += 1
        return lastId
    }
}
