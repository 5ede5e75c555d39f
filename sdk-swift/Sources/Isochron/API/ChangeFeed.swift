import IsochronSession

/// What a write of the feed stored.
public enum ChangedContent: Hashable, Sendable {
    /// A document, in the place of what was there.
    case stored(Document)
    /// Operations, which change the document below.
    case updated([UpdateOperation])
    /// The key was deleted.
    case deleted
    /// The JSON text of a document or of operations with names that Unicode calls equal: ``JSONValue`` cannot keep both.
    case text(String)
}

/// A write in the feed.
public struct ChangedKey: Hashable, Sendable {
    /// The keyspace.
    public let keyspace: String
    /// The whole key, without its keyspace.
    public let key: String
    /// What was stored.
    public let content: ChangedContent
}

/// A transaction in the feed, with all of its writes in the scope.
public struct ChangedTransaction: Hashable, Sendable {
    /// Its id.
    public let id: TxId
    /// Its commit timestamp.
    public let timestamp: Timestamp
    /// Its writes.
    public let writes: [ChangedKey]
}

/// All transactions of a range of time: `from < timestamp <= to`. Nothing at or below `to` is added later.
public struct ChangesMessage: Hashable, Sendable {
    /// The begin.
    public let from: Timestamp
    /// A reader that has applied everything up to here holds the snapshot at this timestamp.
    public let to: Timestamp
    /// The position behind the message, for `since`: with this scope, at any node of any region.
    public let cursor: String
    /// In their order; without any, only `to` has moved.
    public let transactions: [ChangedTransaction]
}

/// The committed transactions of a scope, each once and as a whole, in one order that is the same in all regions, up to
/// stable time.
///
/// `for try await message in changes` asks for a message when the loop is ready for it: the server keeps nothing for a
/// slow reader. The first message comes at once, the later ones when there are transactions, or after a while without.
/// Every loop begins anew.
///
/// A lost connection or region costs nothing: the feed waits, and goes on where it was. The loop throws CHANGES_GONE
/// when its position is older than the cluster keeps; CURSOR_INVALID for a `since` of another scope; KEYSPACE_UNKNOWN,
/// KEY_INVALID, INVALID_REQUEST, NOT_SUPPORTED_BY_PROTOCOL; CLIENT_CLOSED; `CancellationError`.
public struct ChangeFeed: AsyncSequence, Sendable {
    public typealias Element = ChangesMessage

    let lifetime: Lifetime
    let options: ChangesOptions

    /// Begins a loop.
    public func makeAsyncIterator() -> Iterator {
        Iterator(lifetime: lifetime, options: options)
    }

    /// One loop over a feed.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        /// How long a request waits for transactions.
        private static let waitMs = 30_000.0

        private enum Position: Sendable {
            case begin
            case behind(Timestamp)
            case ended
        }

        fileprivate let lifetime: Lifetime
        fileprivate let options: ChangesOptions
        private var position = Position.begin

        fileprivate init(lifetime: Lifetime, options: ChangesOptions) {
            self.lifetime = lifetime
            self.options = options
        }

        /// The next message; nil after an error.
        public mutating func next() async throws -> ChangesMessage? {
            if case .ended = position { return nil }
            do {
                let scope = try options.scope(lifetime.driver.limits.get())
                let after: Timestamp?
                switch position {
                case .begin: after = try options.begin(scope)
                case .behind(let ts): after = ts
                case .ended: return nil
                }
                let page = try await page(scope, after)
                position = .behind(page.to)
                return try ChangesMessage(page, scope)
            } catch {
                position = .ended
                throw error
            }
        }

        /// A fault that may pass is waited for.
        private func page(_ scope: String, _ after: Timestamp?) async throws -> ChangesPage {
            while true {
                do {
                    return try await lifetime.driver.changes(scope, after: after, waitMs: Self.waitMs)
                } catch let error as IsochronError where error.retryable {
                    try Task.checkCancellation()
                }
            }
        }
    }
}

/// The scope and the begin of a feed.
struct ChangesOptions: Sendable {
    let keyspace: String?
    let prefix: String?
    let since: String?
    let at: Timestamp?

    /// The prefix of the qualified keys. Throws KEYSPACE_UNKNOWN, KEY_INVALID, INVALID_REQUEST.
    func scope(_ limits: Limits) throws -> String {
        guard let keyspace else {
            if prefix != nil { throw IsochronError(.invalidRequest, "prefix needs a keyspace") }
            return ""
        }
        return try Scope(keyspace: keyspace).bound(prefix ?? "", limits)
    }

    /// The timestamp behind which a feed begins; nil for the present end. Throws CURSOR_INVALID, INVALID_REQUEST.
    func begin(_ scope: String) throws -> Timestamp? {
        if since != nil, at != nil { throw IsochronError(.invalidRequest, "since and at exclude each other") }
        if let at, !isTimestamp(at) { throw IsochronError(.invalidRequest, "\(at) is no timestamp") }
        guard let since else { return at }
        let parts = since.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, (1...16).contains(parts[0].count), parts[0].allSatisfy({ (0x30...0x39).contains($0) }),
            let to = Timestamp(String(decoding: parts[0], as: UTF8.self)), isTimestamp(to),
            parts[1].elementsEqual(scope.utf8)
        {
            return to
        }
        let why = "the cursor is damaged, or of another keyspace or prefix: read the data anew, and begin with `at`"
        throw IsochronError(.cursorInvalid, why)
    }
}

extension ChangesMessage {
    fileprivate init(_ page: ChangesPage, _ scope: String) throws {
        (from, to, cursor) = (page.from, page.to, "\(page.to):\(scope)")
        transactions = try page.transactions.map { transaction in
            ChangedTransaction(
                id: transaction.tx, timestamp: transaction.ts,
                writes: try transaction.writes.map { write in
                    let (keyspace, key) = unqualify(write.key)
                    return ChangedKey(keyspace: keyspace, key: key, content: try ChangedContent(write.content))
                })
        }
    }
}

extension ChangedContent {
    fileprivate init(_ content: Content) throws {
        switch content {
        case .put(.bytes(let bytes)): self = .stored(.bytes(bytes))
        case .put(.json(let text)):
            self = try Self.held(text) { .stored(.json(try JSONValue(DocumentCoding.raw(of: text)))) }
        case .update(let update):
            self = try Self.held(update.operations) { .updated(try UpdateOperation.operations(of: update)) }
        case .delete: self = .deleted
        }
    }

    private static func held(_ text: String, _ content: () throws -> ChangedContent) throws -> ChangedContent {
        do {
            return try content()
        } catch let error as IsochronError where error.code == .valueInvalid {
            return .text(text)
        }
    }
}

extension IsochronClient {
    /// The change feed: every committed transaction once, in one order that is the same in all regions, see
    /// ``ChangeFeed``. Without `since` and `at` it begins at the present end.
    ///
    /// - Parameters:
    ///   - keyspace: only keys of this keyspace; by default all keyspaces
    ///   - prefix: only keys that begin with this; it needs a `keyspace`
    ///   - since: goes on behind a message: its ``ChangesMessage/cursor``
    ///   - at: begins behind a snapshot: its timestamp
    public nonisolated func changes(
        keyspace: String? = nil, prefix: String? = nil, since: String? = nil, at: Timestamp? = nil
    ) -> ChangeFeed {
        ChangeFeed(
            lifetime: lifetime, options: ChangesOptions(keyspace: keyspace, prefix: prefix, since: since, at: at))
    }
}
