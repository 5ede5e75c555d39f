import IsochronSession

/// Documents of one type under one prefix, outside of transactions: every call is a transaction of its own, and sees
/// everything that this session has seen and written before.
///
/// Reads throw KEY_INVALID, TOO_MANY_KEYS or KEYSPACE_UNKNOWN for wrong input; VALUE_INVALID if the stored document is
/// not a `Document`; OFFLINE if no node could be reached within `requestTimeout`; CLIENT_CLOSED; `CancellationError` in
/// a cancelled task. Before that, retryable requests are repeated, on other endpoints too.
///
/// Writes are durable when they return. They take effect in the order of the calls; concurrent writes are sent
/// together. They throw VALUE_INVALID, VALUE_TOO_LARGE or KEY_INVALID for wrong input; OFFLINE if they could not be
/// sent; OUTCOME_UNKNOWN if their answer was lost and no node could be asked, or the task was cancelled after the send;
/// `CancellationError` if it was cancelled before; STORAGE_FAILED, see ``SessionStore``. Inside a transaction's
/// function they throw INVALID_REQUEST: use `set`, `delete` and `update` of the transaction.
public struct DocumentCollection<Document: Codable & Sendable>: Sendable {
    let source: OneShot
    let scope: Scope

    private var reader: Reader { Reader(source: source, scope: scope) }
    private var driver: Driver { source.driver }

    /// The document of a key; nil if the key is absent.
    public func get(_ key: String) async throws -> Document? {
        try await reader.get(key, as: Document.self)
    }

    /// The documents of several keys, in their order, from one snapshot and in one round trip.
    public func getMany(_ keys: [String]) async throws -> [Document?] {
        try await reader.getMany(keys, as: Document.self)
    }

    /// Keys and documents in key order, see ``Listing``.
    ///
    /// - Parameters:
    ///   - prefix: only keys that begin with this
    ///   - start: first key that may be listed
    ///   - deep: whether the documents of inner collections are listed, too, as `inner/<id>`
    ///   - limit: most entries in all; by default there is no limit
    ///   - pageSize: entries that are fetched at a time, 1 to 1000
    public func list(
        prefix: String = "", start: String = "", deep: Bool = false, limit: Int? = nil, pageSize: Int = 100
    ) -> Listing<Document> {
        let options = ListOptions(prefix: prefix, start: start, limit: limit, pageSize: pageSize, isDeep: deep)
        return reader.list(options, as: Document.self)
    }

    /// Stores a document.
    ///
    /// - Parameter id: name of the write, to repeat it safely. A call with a used id is the same write, whatever its
    ///   document: if that has committed, it is returned, and nothing written; while its outcome is not known, the call
    ///   throws the same OUTCOME_UNKNOWN; if it had no effect, it is repeated. A client remembers its latest 10 000
    ///   ids: after a restart, use `IsochronClient.transactionStatus(txId:sentAfter:)`.
    @discardableResult
    public func set(_ key: String, _ document: Document, id: String? = nil) async throws -> Write {
        let limits = driver.limits.get()
        let value = try driver.documents.encode(document, limits)
        return try await source.write(try scope.key(key, limits), value, id: id)
    }

    /// Deletes a key; an absent key is allowed. `id` is that of ``set(_:_:id:)``.
    @discardableResult
    public func delete(_ key: String, id: String? = nil) async throws -> Write {
        try await source.write(try scope.key(key, driver.limits.get()), nil, id: id)
    }

    /// Changes a document by a JSON merge patch (RFC 7396): members are replaced, nil removes one. An absent document
    /// counts as an empty one. The patch itself is stored, and merges with those of others.
    ///
    /// Under protocols without `updates` it reads and writes in one transaction, so that the later of two commits
    /// replaces the document as a whole; it throws as reads and writes do, and VALUE_INVALID for stored bytes. `id` is
    /// that of ``set(_:_:id:)``.
    @discardableResult
    public func update(_ key: String, _ patch: JSONValue, id: String? = nil) async throws -> Write {
        if driver.hasUpdates.get() { return try await update(key, [.mergePatch("", patch)], id: id) }
        return try await source.update(try scope.key(key, driver.limits.get()), id: id) { value, limits in
            try MergePatch.apply(patch, to: value, limits)
        }
    }

    /// Changes a document by operations, which are stored as they are, and merge with those of others in the order of
    /// the commits. It reads nothing, and the session sees it at once.
    ///
    /// Throws UPDATE_INVALID, and NOT_SUPPORTED_BY_PROTOCOL where the protocol has no `updates`. `id` is that of
    /// ``set(_:_:id:)``.
    @discardableResult
    public func update(_ key: String, _ operations: [UpdateOperation], id: String? = nil) async throws -> Write {
        let limits = driver.limits.get()
        let update = try UpdateOperation.update(operations, limits)
        return try await source.update(try scope.key(key, limits), update, id: id)
    }

    /// Stores a document under a key that has none: a user name, a seat, a job. Of all claims of a key the first in the
    /// order of commits wins, in every region, without a lock. Returns when that is decided: once the claim is stable,
    /// a round trip over the slowest link after its commit.
    ///
    /// While a node or a region is cut off nothing is decided, and it throws STABLE_TIMEOUT after `timeout`, of at most
    /// 60 seconds (INVALID_REQUEST); repeated with the same `id` it is the same claim. Throws
    /// NOT_SUPPORTED_BY_PROTOCOL where the protocol has no `updates`.
    public func claim(
        _ key: String, _ document: Document, id: String? = nil, timeout: Duration = .seconds(30)
    ) async throws -> Claim<Document> {
        let limits = driver.limits.get()
        let timeoutMs = try timeout.waitMs()
        let qualified = try scope.key(key, limits)
        guard case .json(let text) = try driver.documents.encode(document, limits) else {
            throw IsochronError(.valueInvalid, "bytes cannot be claimed")
        }
        let update = try UpdateOperation.update([.initialize(try JSONValue(DocumentCoding.raw(of: text)))], limits)
        let write = try await source.update(qualified, update, id: id)
        let commit = Committed(timestamp: write.timestamp, txId: write.txId)
        // Kept with the id: a repetition gets the decision after the snapshot has been collected, too.
        let decide = { try await driver.claimed(qualified, commit, timeoutMs: timeoutMs) }
        let claimed = try await once(id, in: driver.decided, decide) { _ in nil }
        return Claim(won: claimed.won, value: try driver.documents.decode(claimed.value, as: Document.self))
    }

    /// Changes a document by a function: its input is the present document or nil, its result the new one, or nil to
    /// delete it. The function runs exactly once. Reads and writes in one transaction; of two concurrent changes, the
    /// later commit replaces the document as a whole. `id` is that of ``set(_:_:id:)``.
    @discardableResult
    public func update(
        _ key: String, id: String? = nil, _ change: @escaping @Sendable (Document?) throws -> Document?
    ) async throws -> Write {
        let documents = driver.documents
        return try await source.update(try scope.key(key, driver.limits.get()), id: id) { value, limits in
            let changed = try change(try documents.decode(value, as: Document.self))
            return try changed.map { try documents.encode($0, limits) }
        }
    }
}

extension OneShot {
    /// Reads and writes a key in one transaction.
    @SessionActor
    func update(
        _ key: QualifiedKey, id: String?, _ change: @escaping @Sendable (Value?, Limits) throws -> Value?
    ) async throws -> Write {
        try TransactionState.checkOutside(lifetime)
        return try await named(id) {
            let handle = try driver.begin(.transaction)
            do {
                let current = try await driver.read(handle, [key]).first ?? nil
                handle.snapshot.tx.write(key, try change(current, driver.limits.get()))
            } catch {
                driver.end(handle)
                throw error
            }
            return try await driver.commit(handle)
        }
    }
}
