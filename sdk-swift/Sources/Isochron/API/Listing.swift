import IsochronSession

/// A key and its document, as an entry of a listing.
public struct ListedDocument<Document: Sendable>: Sendable {
    /// The key, without the collection's name.
    public let key: String
    /// The document; VALUE_INVALID if the stored document is not a `Document`, FRAME_INVALID if it is damaged.
    public let result: Result<Document, IsochronError>

    /// The document. Throws the error of ``result``; the listing continues after it.
    public var value: Document {
        get throws(IsochronError) { try result.get() }
    }
}

/// A part of a listing.
public struct Page<Document: Sendable>: Sendable {
    /// In key order. About as many as the page size; fewer or none if keys were deleted.
    public let entries: [ListedDocument<Document>]
    /// Snapshot of the whole listing.
    public let timestamp: Timestamp
    /// The snapshot's age, by the node's clock.
    public let staleness: Duration?
}

/// Options of a listing.
struct ListOptions: Sendable {
    let prefix: String
    let start: String
    let limit: Int?
    let pageSize: Int
    let isDeep: Bool

    /// Throws INVALID_REQUEST.
    func check() throws {
        guard (1...1000).contains(pageSize) else {
            throw IsochronError(.invalidRequest, "pageSize is 1 to 1000, not \(pageSize)")
        }
        if let limit, limit < 0 { throw IsochronError(.invalidRequest, "limit is a number from 0 on, not \(limit)") }
    }
}

/// The entries of a keyspace or collection in key order (by UTF-8 bytes), from one snapshot, with the session's own
/// writes.
///
/// `for try await entry in listing` iterates over the entries, every loop in a snapshot of its own; ``pages`` iterates
/// a page at a time. The loop throws the errors of reads (OFFLINE, KEYSPACE_UNKNOWN, SNAPSHOT_TOO_OLD,
/// `CancellationError`), and INVALID_REQUEST for wrong options. A document of another type does not end it: its
/// ``ListedDocument/value`` throws VALUE_INVALID.
public struct Listing<Document: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = ListedDocument<Document>

    let reader: Reader
    let options: ListOptions

    /// The entries, a page at a time.
    public var pages: Pages { Pages(reader: reader, options: options) }

    /// Begins a loop in a new snapshot.
    public func makeAsyncIterator() -> Iterator {
        Iterator(cursor: Cursor(reader, options))
    }

    /// One iteration over a listing.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let cursor: Cursor<Document>
        private var page: ArraySlice<ListedDocument<Document>> = []

        fileprivate init(cursor: Cursor<Document>) {
            self.cursor = cursor
        }

        /// The next entry; nil after the last one.
        public mutating func next() async throws -> ListedDocument<Document>? {
            while page.isEmpty {
                guard let next = try await cursor.page() else { return nil }
                page = next.entries[...]
            }
            return page.popFirst()
        }
    }

    /// The pages of a listing.
    public struct Pages: AsyncSequence, Sendable {
        public typealias Element = Page<Document>

        fileprivate let reader: Reader
        fileprivate let options: ListOptions

        /// Begins a loop in a new snapshot.
        public func makeAsyncIterator() -> Iterator {
            Iterator(cursor: Cursor(reader, options))
        }

        /// One iteration over the pages.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            fileprivate let cursor: Cursor<Document>

            /// The next page; nil after the last one.
            public func next() async throws -> Page<Document>? {
                try await cursor.page()
            }
        }
    }
}

/// One iteration over a listing. Releases its snapshot when it is dropped.
private final class Cursor<Document: Decodable & Sendable>: Sendable {
    private let reader: Reader
    private let options: ListOptions
    private let state: CursorState

    init(_ reader: Reader, _ options: ListOptions) {
        self.reader = reader
        self.options = options
        state = CursorState(reader, options)
    }

    deinit {
        let state = state
        Task { @SessionActor in state.close() }
    }

    /// Nil after the last one.
    func page() async throws -> Page<Document>? {
        do {
            guard let page = try await state.page() else { return nil }
            let documents = reader.source.driver.documents
            let entries = try page.entries.compactMap { entry in
                try documents.result(of: entry.value, as: Document.self).map {
                    ListedDocument(key: reader.scope.local(entry.key), result: $0)
                }
            }
            return Page(entries: entries, timestamp: page.timestamp, staleness: page.staleness)
        } catch {
            await state.close()
            throw error
        }
    }
}

@SessionActor
private final class CursorState {
    struct RawPage: Sendable {
        let entries: ArraySlice<ListedEntry>
        let timestamp: Timestamp
        let staleness: Duration?
    }

    private let reader: Reader
    private let options: ListOptions
    private var handle: Handle?
    /// Start of the next page; nil after the last one.
    private var next: String?
    private var left: Int

    nonisolated init(_ reader: Reader, _ options: ListOptions) {
        self.reader = reader
        self.options = options
        next = reader.scope.prefix + options.start
        left = options.limit ?? .max
    }

    func page() async throws -> RawPage? {
        try options.check()
        if let problem = reader.scope.problem { throw problem }
        let level = try reader.scope.level(options.prefix, isDeep: options.isDeep)
        guard let start = next, left > 0 else { return nil }
        let handle = try self.handle ?? reader.source.borrow()
        self.handle = handle
        let page = try await reader.source.driver.list(
            handle,
            ListRequest(
                keyspace: reader.scope.keyspace, prefix: reader.scope.prefix + options.prefix, start: start,
                limit: options.pageSize, level: level))
        next = page.next
        let entries = page.entries.prefix(left)
        left -= entries.count
        let timestamp = handle.snapshot.timestamp
        if next == nil || left <= 0 { close() }
        return RawPage(
            entries: entries, timestamp: timestamp,
            staleness: reader.source.driver.age(of: timestamp))
    }

    func close() {
        next = nil
        if let handle { reader.source.giveBack(handle) }
        handle = nil
    }
}
