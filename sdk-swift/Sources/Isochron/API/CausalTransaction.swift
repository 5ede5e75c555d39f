import IsochronSession

/// A transaction: it reads one snapshot and its own writes, and commits all its writes at its end or none. It waits for
/// no other transaction and never fails because of one; of two writes of one key, the later commit wins.
///
/// SwiftUI and StoreKit have a type `Transaction` each, hence the name.
///
/// Every call throws TRANSACTION_FINISHED after the transaction's function has returned.
public struct CausalTransaction: Sendable {
    private let state: TransactionState
    private let scope: Scope

    init(_ state: TransactionState, _ scope: Scope) {
        self.state = state
        self.scope = scope
    }

    private var reader: Reader { Reader(source: state, scope: scope) }

    /// Its id, for `IsochronClient.transactionStatus(txId:sentAfter:)`. Store it before the commit if the process may
    /// die in between.
    public var id: TxId { state.id }

    /// Timestamp of its snapshot; nil before the answer to its first read.
    public var timestamp: Timestamp? {
        get async { await state.handle.snapshot.tx.snapshot }
    }

    /// Age of its snapshot, by the node's clock; nil before the answer to its first read.
    public var staleness: Duration? {
        get async {
            guard let timestamp = await timestamp else { return nil }
            return await state.driver.age(of: timestamp)
        }
    }

    /// The document of a key; nil if the key is absent. Throws as ``DocumentCollection`` does.
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
        prefix: String = "", start: String = "", deep: Bool = true, limit: Int? = nil, pageSize: Int = 100,
        as type: Document.Type
    ) -> Listing<Document> {
        let options = ListOptions(prefix: prefix, start: start, limit: limit, pageSize: pageSize, isDeep: deep)
        return reader.list(options, as: type)
    }

    /// Writes a document when the transaction commits.
    ///
    /// Throws KEY_INVALID, VALUE_INVALID, VALUE_TOO_LARGE, TRANSACTION_FINISHED. More writes than the cluster accepts
    /// end the transaction with TOO_MANY_KEYS.
    public func set<Document: Encodable & Sendable>(_ key: String, _ document: Document) throws {
        let limits = state.driver.limits.get()
        let qualified = try scope.key(key, limits)
        try state.write(qualified, .put(try state.driver.documents.encode(document, limits)))
    }

    /// Deletes a key when the transaction commits. Throws KEY_INVALID, TRANSACTION_FINISHED.
    public func delete(_ key: String) throws {
        try state.write(try scope.key(key, state.driver.limits.get()), .delete)
    }

    /// Changes a document by a JSON merge patch, like ``DocumentCollection``. The commit waits for the update, awaited
    /// or not; a failed update fails the transaction.
    public func update(_ key: String, _ patch: JSONValue) async throws {
        if state.driver.hasUpdates.get() { return try update(key, [.mergePatch("", patch)]) }
        let qualified = try scope.key(key, state.driver.limits.get())
        try await state.update(qualified) { value, limits in try MergePatch.apply(patch, to: value, limits) }
    }

    /// Changes a document by operations when the transaction commits, like ``DocumentCollection``. Several updates of a
    /// key apply in their order, and the transaction's own reads have their result.
    ///
    /// Throws KEY_INVALID, UPDATE_INVALID, TRANSACTION_FINISHED, and NOT_SUPPORTED_BY_PROTOCOL where the protocol has
    /// no `updates`.
    public func update(_ key: String, _ operations: [UpdateOperation]) throws {
        guard state.driver.hasUpdates.get() else { throw IsochronError.noUpdates }
        let limits = state.driver.limits.get()
        try state.write(try scope.key(key, limits), .update(try UpdateOperation.update(operations, limits)))
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
