import IsochronSession

/// A keyspace: its keys, and collections in it. Throws as ``DocumentCollection`` does, and KEYSPACE_UNKNOWN for an
/// invalid name, or a keyspace that this cluster does not have.
public struct Keyspace: Sendable {
    let source: OneShot
    let scope: Scope

    private func documents<Document: Codable & Sendable>(of type: Document.Type) -> DocumentCollection<Document> {
        DocumentCollection(source: source, scope: scope)
    }

    private var reader: Reader { Reader(source: source, scope: scope) }

    /// The document of a key; nil if the key is absent.
    public func get<Document: Decodable & Sendable>(_ key: String, as type: Document.Type) async throws -> Document? {
        try await reader.get(key, as: type)
    }

    /// The documents of several keys, in their order, from one snapshot and in one round trip.
    public func getMany<Document: Decodable & Sendable>(
        _ keys: [String], as type: Document.Type
    ) async throws -> [Document?] {
        try await reader.getMany(keys, as: type)
    }

    /// Keys and documents in key order, see ``DocumentCollection/list(prefix:start:deep:limit:pageSize:)``.
    public func list<Document: Decodable & Sendable>(
        prefix: String = "", start: String = "", deep: Bool = true, limit: Int? = nil, pageSize: Int = 100,
        as type: Document.Type
    ) -> Listing<Document> {
        let options = ListOptions(prefix: prefix, start: start, limit: limit, pageSize: pageSize, isDeep: deep)
        return reader.list(options, as: type)
    }

    /// Stores a document. `id` is that of ``DocumentCollection/set(_:_:id:)``.
    @discardableResult
    public func set<Document: Codable & Sendable>(
        _ key: String, _ document: Document, id: String? = nil
    ) async throws -> Write {
        try await documents(of: Document.self).set(key, document, id: id)
    }

    /// Deletes a key; an absent key is allowed.
    @discardableResult
    public func delete(_ key: String, id: String? = nil) async throws -> Write {
        try await documents(of: JSONValue.self).delete(key, id: id)
    }

    /// Changes a document by a JSON merge patch, see ``DocumentCollection/update(_:_:id:)``.
    @discardableResult
    public func update(_ key: String, _ patch: JSONValue, id: String? = nil) async throws -> Write {
        try await documents(of: JSONValue.self).update(key, patch, id: id)
    }

    /// Changes a document by operations, like ``DocumentCollection``.
    @discardableResult
    public func update(_ key: String, _ operations: [UpdateOperation], id: String? = nil) async throws -> Write {
        try await documents(of: JSONValue.self).update(key, operations, id: id)
    }

    /// Stores a document under a key that has none, like ``DocumentCollection``: of all claims one wins.
    public func claim<Document: Codable & Sendable>(
        _ key: String, _ document: Document, id: String? = nil, timeout: Duration = .seconds(30)
    ) async throws -> Claim<Document> {
        try await documents(of: Document.self).claim(key, document, id: id, timeout: timeout)
    }

    /// The documents under keys `name/<id>`; its functions take and return ids. With an empty name every call throws
    /// KEY_INVALID.
    public func collection<Document: Codable & Sendable>(
        _ name: String, of type: Document.Type
    ) -> DocumentCollection<Document> {
        DocumentCollection(source: source, scope: scope.collection(name))
    }
}
