import IsochronSession

extension ChangesPage {
    /// Validates the answer to a request. Throws FRAME_INVALID.
    init(_ members: Raw.Members, after: Timestamp?) throws {
        try self.init(members)
        if to < from || after.map({ $0 != from }) ?? false {
            throw IsochronError.malformed("a page of changes that was not asked for")
        }
        try check(transactions.map(\.ts), after: from, upTo: to)
    }
}

extension LiveAnswer {
    /// Validates the answer to a request. Throws FRAME_INVALID.
    init(_ members: Raw.Members, after: Timestamp) throws {
        try self.init(members)
        if to < after { throw IsochronError.malformed("changes up to a time before the one that they follow") }
        for one in changes { try check(one.changes.map(\.ct), after: after, upTo: to) }
    }
}

/// Throws FRAME_INVALID unless the timestamps lie in `(after, to]`, in their order.
private func check(_ stamps: [Timestamp], after: Timestamp, upTo to: Timestamp) throws {
    let inOrder = zip(stamps, stamps.dropFirst()).allSatisfy { $0 <= $1 }
    if !inOrder || stamps.contains(where: { $0 <= after || $0 > to }) {
        throw IsochronError.malformed("changes out of their range")
    }
}

extension KeyChanges {
    init(key: String, changes: [CachedWrite]) {
        self.init(key: ExactString(key), changes: changes)
    }
}

extension EndedScope {
    init(watch: Int64, code: String, detail: String) {
        self.init(
            watch: watch,
            error: .ofServer(code: code, detail: detail, retryable: false, retryAfterMs: nil))
    }
}

extension WatchedScope {
    init(watch: Int64, range: LiveRange) {
        switch range {
        case .keys(let keys):
            self.init(watch: watch, keys: keys.map(\.text).sorted(by: keyPrecedes))
        case .range(let start, let end, let level):
            self.init(watch: watch, keys: [], start: start.text, end: end.text, level: level.map(Int64.init))
        }
    }
}
