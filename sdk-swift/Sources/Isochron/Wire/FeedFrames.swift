import IsochronSession

/// A page of the change feed. With the capability `changes`.
struct ChangesRequest: Sendable {
    /// Prefix of the qualified keys; empty for all.
    let scope: String
    /// The cursor: the end of the last page. Nil for the present end, which is answered at once.
    let after: Timestamp?
    /// How long to wait for the first change.
    let waitMs: Int64
}

/// The changes of all scopes of the connection after a timestamp. It ends the one that waits. With the capability
/// `live-queries`.
struct LiveRequest: Sendable {
    let after: Timestamp
    let add: [WatchedScope]
    let remove: [Int64]
    let waitMs: Int64
}

/// What a live client watches, under a number that is used once on a connection.
struct WatchedScope: Sendable {
    let watch: Int64
    let range: LiveRange
}

/// A transaction of the change feed, with its writes in the scope.
struct FeedTransaction: Sendable {
    let tx: TxId
    let ts: Timestamp
    let writes: [KeyWrite]
}

/// A page of the change feed.
struct ChangesPage: Sendable {
    /// Nothing at or below here is in the page.
    let from: Timestamp
    /// Nothing at or below here will come later.
    let to: Timestamp
    /// In their order.
    let transactions: [FeedTransaction]

    /// Validates the answer to a request. Throws FRAME_INVALID.
    init(_ frame: Raw.Members, after: Timestamp?) throws {
        from = try frame.timestamp("from")
        to = try frame.timestamp("to")
        transactions = try frame.required("transactions").items("transactions").map { try $0.feedTransaction() }
        if to < from || after.map({ $0 != from }) ?? false {
            throw IsochronError.malformed("a page of changes that was not asked for")
        }
        try check(transactions.map(\.ts), after: from, upTo: to)
    }
}

extension LiveAnswer {
    /// Validates the answer to a request. Throws FRAME_INVALID.
    init(_ frame: Raw.Members, after: Timestamp) throws {
        to = try frame.timestamp("to")
        changes = try frame.required("changes").items("changes").map { try $0.keyChanges() }
        ended = try frame["ended"]?.items("ended").map { try $0.endedScope() } ?? []
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

extension Raw {
    fileprivate func feedTransaction() throws -> FeedTransaction {
        let members = try members("transaction")
        let writes = try members.required("writes").items("writes").map { raw in
            let write = try raw.members("write")
            return KeyWrite(key: try write.text("key"), content: try write.required("value").content())
        }
        return FeedTransaction(tx: try members.text("tx"), ts: try members.timestamp("ts"), writes: writes)
    }

    /// `[key, [[commit timestamp, transaction, content], …]]`.
    fileprivate func keyChanges() throws -> KeyChanges {
        let pair = try items("changes of a key")
        guard pair.count >= 2 else { throw IsochronError.malformed("changes of a key that are no pair") }
        return KeyChanges(
            key: ExactString(try pair[0].text("key")), changes: try pair[1].items("changes").map { try $0.change() })
    }

    /// `[number, code, detail]`.
    fileprivate func endedScope() throws -> EndedScope {
        let triple = try items("ended scope")
        guard triple.count >= 3 else { throw IsochronError.malformed("an ended scope that is no triple") }
        let reason = IsochronError.ofServer(
            code: try triple[1].text("code"), detail: try triple[2].text("detail"), retryable: false, retryAfterMs: nil)
        return EndedScope(watch: try triple[0].count("number"), error: reason)
    }

    private func change() throws -> CachedWrite {
        let triple = try items("change")
        guard triple.count >= 3 else { throw IsochronError.malformed("a change that is no triple") }
        return CachedWrite(
            ct: try triple[0].timestamp("commit timestamp"), txId: try triple[1].text("transaction"),
            content: try triple[2].content())
    }
}
