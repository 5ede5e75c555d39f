import IsochronSession

/// Many reads from one snapshot. It holds garbage collection back until it is closed, even without reads: close it when
/// it is not needed any more, or drop it. Without a connection for longer than a transaction may be open, its versions
/// may be collected.
///
/// Reads throw as in ``DocumentCollection``, and TRANSACTION_FINISHED after ``close()``.
public struct SnapshotView: Sendable {
    private let source: SnapshotSource
    private let scope: Scope
    /// Its timestamp: `snapshot(at:)` with it reads the same values, in any region.
    public let timestamp: Timestamp

    private var reader: Reader { Reader(source: source, scope: scope) }

    /// Opens a snapshot: one round trip.
    @SessionActor
    static func open(_ lifetime: Lifetime, _ scope: Scope, _ at: Timestamp?) async throws -> SnapshotView {
        let driver = lifetime.driver
        let core = driver.core
        _ = try core.transactions
        if !core.can("snapshots") { throw core.unsupported("has no snapshots") }
        if let at, !isTimestamp(at) { throw IsochronError(.invalidRequest, "\(at) is no timestamp") }
        let handle = try driver.begin(.snapshot, at: at)
        do {
            try await driver.open(handle)
        } catch {
            driver.end(handle)
            throw error
        }
        let source = SnapshotSource(lifetime, handle)
        return SnapshotView(source: source, scope: scope, timestamp: handle.snapshot.timestamp)
    }

    /// Age of its timestamp, by the node's clock: grows while the snapshot is open. Nil before the first stable time.
    public var staleness: Duration? {
        get async { await source.driver.age(of: timestamp) }
    }

    /// The document of a key; nil if the key is absent.
    public func get<Document: Decodable & Sendable>(_ key: String, as type: Document.Type) async throws -> Document? {
        try await reader.get(key, as: type)
    }

    /// The documents of several keys, in their order.
    public func getMany<Document: Decodable & Sendable>(
        _ keys: [String], as type: Document.Type
    ) async throws -> [Document?] {
        try await reader.getMany(keys, as: type)
    }

    /// Keys and documents in key order, see ``Listing``.
    public func list<Document: Decodable & Sendable>(
        prefix: String = "", start: String = "", deep: Bool = true, limit: Int? = nil, pageSize: Int = 100,
        as type: Document.Type
    ) -> Listing<Document> {
        let options = ListOptions(prefix: prefix, start: start, limit: limit, pageSize: pageSize, isDeep: deep)
        return reader.list(options, as: type)
    }

    /// The same snapshot of another keyspace.
    public func keyspace(_ name: String) -> SnapshotView {
        SnapshotView(source: source, scope: Scope(keyspace: name), timestamp: timestamp)
    }

    /// The same snapshot of the documents under `name/<id>`.
    public func collection(_ name: String) -> SnapshotView {
        SnapshotView(source: source, scope: scope.collection(name), timestamp: timestamp)
    }

    /// Releases the snapshot. Later reads throw TRANSACTION_FINISHED.
    public func close() async {
        await source.close()
    }
}

/// The state that the views of one snapshot share.
@SessionActor
private final class SnapshotSource: HandleSource {
    nonisolated let lifetime: Lifetime
    private let handle: Handle
    private var isClosed = false

    init(_ lifetime: Lifetime, _ handle: Handle) {
        self.lifetime = lifetime
        self.handle = handle
    }

    deinit {
        let (driver, handle) = (lifetime.driver, handle)
        Task { @SessionActor in driver.end(handle) }
    }

    func borrow() throws -> Handle {
        if isClosed { throw IsochronError(.transactionFinished, "the snapshot has ended") }
        return handle
    }

    func read(_ keys: [QualifiedKey]) async throws -> [Value?] {
        try await driver.read(try borrow(), keys)
    }

    func giveBack(_ handle: Handle) {}

    func close() {
        isClosed = true
        driver.end(handle)
    }
}
