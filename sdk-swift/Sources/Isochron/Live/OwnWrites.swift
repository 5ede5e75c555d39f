import IsochronSession

/// The number of a write of the session, in the order of the calls.
typealias WriteNumber = Int

/// The client's own writes above the position of its watches, in the session's order (LQ2): those that wait or are under
/// way, and committed ones. A committed write stays until the position, not the session's snapshot, has passed it.
struct OwnWrites: Sendable {
    private struct Own: Sendable {
        /// Nil for those of the session's cache.
        let number: WriteNumber?
        let content: Content
        /// The version that it would get at its call: so `serverTimestamp` gives a document the place in queries at
        /// once that it is going to have.
        var expected: Origin?
        /// Once it has committed.
        var version: Origin?

        func isOf(_ txId: TxId) -> Bool {
            version.map { isSameText($0.txId, txId) } ?? false
        }
    }

    private var byKey: [ExactString: [Own]] = [:]
    private var undecided: [WriteNumber: [ExactString]] = [:]
    private var position: Timestamp = 0

    /// - Parameters:
    ///   - cache: the session's committed writes that its snapshots may lack, each key's in their order
    init(cache: [CacheEntry] = []) {
        for entry in cache {
            let version = Origin(ts: entry.write.ct, txId: entry.write.txId)
            let own = Own(number: nil, content: entry.write.content, version: version)
            byKey[ExactString(entry.key), default: []].append(own)
        }
    }

    /// The own writes of a key, in their order.
    func of(_ key: ExactString) -> [OwnWrite] {
        (byKey[key] ?? []).map { OwnWrite(content: $0.content, version: $0.version ?? $0.expected) }
    }

    /// The keys with own writes.
    var keys: Set<ExactString> { Set(byKey.keys) }

    func isUndecided(_ number: WriteNumber) -> Bool { undecided[number] != nil }

    /// Adds writes that wait for their turn. Returns the keys that have changed.
    ///
    /// - Parameter expected: the timestamp that they would get now
    mutating func called(_ number: WriteNumber, _ writes: [KeyWrite], expected: Timestamp?) -> Set<ExactString> {
        let version = expected.map { Origin(ts: $0, txId: "") }
        for write in writes {
            byKey[ExactString(write.key), default: []].append(
                Own(number: number, content: write.content, expected: version))
        }
        undecided[number] = writes.map { ExactString($0.key) }
        return Set(undecided[number] ?? [])
    }

    /// They have committed.
    mutating func committed(_ number: WriteNumber, _ version: Origin) -> Set<ExactString> {
        change(number) { [position] own in
            if version.ts <= position { return nil }
            var own = own
            own.version = version
            return own
        }
    }

    /// A commit that was deferred is committed again.
    mutating func moved(_ version: Origin) {
        for (key, all) in byKey where all.contains(where: { $0.isOf(version.txId) }) {
            byKey[key] = all.map { own in
                var own = own
                if own.isOf(version.txId) { own.version = version }
                return own
            }
        }
    }

    /// They have had no effect, or the session goes on without them.
    mutating func dropped(_ number: WriteNumber) -> Set<ExactString> {
        change(number) { _ in nil }
    }

    /// The documents contain everything up to here. Returns the keys of the own writes that are no longer above them.
    mutating func passed(_ position: Timestamp) -> Set<ExactString> {
        self.position = position
        var gone: Set<ExactString> = []
        for (key, all) in byKey {
            let left = all.filter { $0.version.map { $0.ts > position } ?? true }
            if left.count == all.count { continue }
            gone.insert(key)
            byKey[key] = left.isEmpty ? nil : left
        }
        return gone
    }

    private mutating func change(_ number: WriteNumber, _ body: (Own) -> Own?) -> Set<ExactString> {
        let keys = Set(undecided.removeValue(forKey: number) ?? [])
        for key in keys {
            let left = (byKey[key] ?? []).compactMap { $0.number == number ? body($0) : $0 }
            byKey[key] = left.isEmpty ? nil : left
        }
        return keys
    }
}
