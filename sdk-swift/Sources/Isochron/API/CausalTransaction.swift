import IsochronSession

/// A transaction: reads one snapshot, writes at its end all or nothing. It never waits for others and never fails
/// because of them; of two that write the same key, the later commit wins. Reads see its own writes.
///
/// `Transaction` alone is a type of SwiftUI and one of StoreKit.
///
/// After its function has returned everything throws TRANSACTION_FINISHED.
public struct CausalTransaction: Sendable {
    private let state: TransactionState
    private let scope: Scope

    init(_ state: TransactionState, _ scope: Scope) {
        self.state = state
        self.scope = scope
    }

    private var reader: Reader { Reader(source: state, scope: scope) }

    /// Its id: what `IsochronClient.transactionStatus(txId:sentAfter:)` takes. Keep it before the commit where the
    /// process may die in between.
    public var id: TxId { state.id }

    /// Its snapshot; nil before the first read has been answered.
    public var timestamp: Timestamp? {
        get async { await state.handle.snapshot.tx.snapshot }
    }

    /// Age of its snapshot, by the node's clock; nil before the first read has been answered.
    public var staleness: Duration? {
        get async {
            guard let timestamp = await timestamp else { return nil }
            return await state.driver.age(of: timestamp)
        }
    }

    /// The document of a key; nil where there is none. Throws as ``DocumentCollection`` says.
    public func get<Document: Decodable & Sendable>(_ key: String, as type: Document.Type) async throws -> Document? {
        try await reader.get(key, as: type)
    }

    /// The documents of several keys, in their order, in one round trip.
    public func getMany<Document: Decodable & Sendable>(
        _ keys: [String], as type: Document.Type
    ) async throws -> [Document?] {
        try await reader.getMany(keys, as: type)
    }

    /// Keys and documents in key order, see ``Listing``.
    public func list<Document: Decodable & Sendable>(
        prefix: String = "", start: String = "", limit: Int? = nil, pageSize: Int = 100, as type: Document.Type
    ) -> Listing<Document> {
        reader.list(ListOptions(prefix: prefix, start: start, limit: limit, pageSize: pageSize), as: type)
    }

    /// Writes a document when the transaction commits.
    ///
    /// Throws KEY_INVALID, VALUE_INVALID, VALUE_TOO_LARGE, TRANSACTION_FINISHED. More writes than the cluster accepts
    /// end the transaction with TOO_MANY_KEYS.
    public func set<Document: Encodable & Sendable>(_ key: String, _ document: Document) throws {
        let limits = state.driver.limits.get()
        let qualified = try scope.key(key, limits)
        try state.write(qualified, try state.driver.documents.encode(document, limits))
    }

    /// Deletes a key when the transaction commits. Throws KEY_INVALID, TRANSACTION_FINISHED.
    public func delete(_ key: String) throws {
        try state.write(try scope.key(key, state.driver.limits.get()), nil)
    }

    /// Changes a document by a JSON merge patch, as ``DocumentCollection`` does. The commit waits for it, awaited or
    /// not; when it fails, so does the transaction.
    public func update(_ key: String, _ patch: JSONValue) async throws {
        let qualified = try scope.key(key, state.driver.limits.get())
        try await state.update(qualified) { value, limits in try MergePatch.apply(patch, to: value, limits) }
    }

    /// The same transaction in another keyspace.
    public func keyspace(_ name: String) -> CausalTransaction {
        CausalTransaction(state, Scope(keyspace: name))
    }

    /// The same transaction on the documents under `name/<id>`.
    public func collection(_ name: String) -> CausalTransaction {
        CausalTransaction(state, scope.collection(name))
    }
}
