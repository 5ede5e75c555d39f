extension DocumentCollection {
    /// The live state of one document, see ``Watch``.
    public func watch(_ key: String) -> Watch<DocumentResult<Document>> {
        source.watch(scope, key: key, as: Document.self)
    }

    /// The live documents of named keys, in the order of the keys, see ``Watch``.
    public func watch(keys: [String]) -> Watch<QueryResult<Document>> {
        source.watch(scope, keys: keys, as: Document.self)
    }

    /// The live documents of a range of keys, see ``Watch``. The client holds the whole range, at most 10,000 documents
    /// and 16 MiB: conditions, orders and the limit apply to it there.
    ///
    /// - Parameters:
    ///   - prefix: only keys that begin with this
    ///   - start: first key of the range
    ///   - end: first key behind the range
    ///   - deep: whether the documents of inner collections are part of it, too, as `inner/<id>`
    ///   - conditions: all of them have to hold
    ///   - orders: the first one that distinguishes two documents counts; then their keys
    ///   - limit: most documents of the result: the first ones
    ///   - reverse: turns the whole order around, before the limit
    public func watch(
        prefix: String = "", start: String? = nil, end: String? = nil, deep: Bool = false,
        where conditions: [Condition] = [], orderBy orders: [FieldOrder] = [], limit: Int? = nil, reverse: Bool = false
    ) -> Watch<QueryResult<Document>> {
        let query = RangeQuery(
            prefix: prefix, start: start, end: end, isDeep: deep, conditions: conditions, orders: orders,
            limit: limit, isReversed: reverse)
        return source.watch(scope, query, as: Document.self)
    }
}

extension Keyspace {
    /// The live state of one document, see ``Watch``.
    public func watch<Document: Codable & Sendable>(
        _ key: String, as type: Document.Type
    ) -> Watch<DocumentResult<Document>> {
        source.watch(scope, key: key, as: type)
    }

    /// The live documents of named keys, in the order of the keys, see ``Watch``.
    public func watch<Document: Codable & Sendable>(
        keys: [String], as type: Document.Type
    ) -> Watch<QueryResult<Document>> {
        source.watch(scope, keys: keys, as: type)
    }

    /// The live documents of a range of keys, like ``DocumentCollection``.
    public func watch<Document: Codable & Sendable>(
        prefix: String = "", start: String? = nil, end: String? = nil, deep: Bool = true,
        where conditions: [Condition] = [], orderBy orders: [FieldOrder] = [], limit: Int? = nil,
        reverse: Bool = false, as type: Document.Type
    ) -> Watch<QueryResult<Document>> {
        let query = RangeQuery(
            prefix: prefix, start: start, end: end, isDeep: deep, conditions: conditions, orders: orders,
            limit: limit, isReversed: reverse)
        return source.watch(scope, query, as: type)
    }
}

extension IsochronClient {
    /// The live state of one document, see ``Watch``.
    public nonisolated func watch<Document: Codable & Sendable>(
        _ key: String, as type: Document.Type
    ) -> Watch<DocumentResult<Document>> {
        plain.watch(key, as: type)
    }

    /// The live documents of named keys, in the order of the keys, see ``Watch``.
    public nonisolated func watch<Document: Codable & Sendable>(
        keys: [String], as type: Document.Type
    ) -> Watch<QueryResult<Document>> {
        plain.watch(keys: keys, as: type)
    }

    /// The live documents of a range of keys, like ``DocumentCollection``.
    public nonisolated func watch<Document: Codable & Sendable>(
        prefix: String = "", start: String? = nil, end: String? = nil, deep: Bool = true,
        where conditions: [Condition] = [], orderBy orders: [FieldOrder] = [], limit: Int? = nil,
        reverse: Bool = false, as type: Document.Type
    ) -> Watch<QueryResult<Document>> {
        plain.watch(
            prefix: prefix, start: start, end: end, deep: deep, where: conditions, orderBy: orders, limit: limit,
            reverse: reverse, as: type)
    }
}
