import IsochronSession

/// A live query: its result now, and again after every change, as the client's snapshot moves. Nothing is read before
/// the first loop, and every loop begins anew.
///
/// `for try await result in watch` gives the newest result when the loop is ready for it: changes that came meanwhile
/// are in one result. Leaving the loop, or cancelling its task, ends it.
///
/// What a client shows is always one snapshot, across all of its watches: no part of a transaction without the rest, no
/// effect without its cause (LQ1). Own writes show at once, and are pending until they are stable (LQ2); a write that
/// the cluster refuses goes again. Connections may break: the watch goes on from its snapshot, at any node of any
/// region, and never back (LQ3).
///
/// The loop throws INVALID_REQUEST, KEY_INVALID, VALUE_INVALID or KEYSPACE_UNKNOWN for a wrong query; WATCH_TOO_LARGE
/// for more than 10,000 documents or 16 MiB; PERMISSION_DENIED, which names the access rule, where a query of it is not
/// permitted, and at the first change after its permission has gone; NOT_SUPPORTED_BY_PROTOCOL under protocols without
/// live queries; CLIENT_CLOSED; `CancellationError`. A document of another type does not end it: its `value` throws VALUE_INVALID.
public struct Watch<Shown: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Shown

    /// Makes the results of one loop.
    typealias Show = @Sendable (TakenState, ArraySlice<[QueryRows.Row]>) throws -> Shown

    let lifetime: Lifetime
    /// The number of its queries.
    let count: Int
    let plans: LiveReader.Plans
    let show: @Sendable () -> Show

    /// Begins a loop.
    public func makeAsyncIterator() -> Iterator {
        Iterator(loop: WatchLoop(lifetime, plans), show: show())
    }

    /// One loop over a watch.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let loop: WatchLoop
        fileprivate let show: Show

        /// The newest result, once it differs from the last one; nil after an error.
        public func next() async throws -> Shown? {
            guard let state = try await loop.reader.next() else { return nil }
            return try show(state, state.rows[...])
        }
    }
}

/// Ends its reader when it is dropped.
private final class WatchLoop: Sendable {
    private let lifetime: Lifetime
    let reader: LiveReader

    init(_ lifetime: Lifetime, _ plans: @escaping LiveReader.Plans) {
        self.lifetime = lifetime
        reader = LiveReader(lifetime.driver, plans)
    }

    deinit {
        let reader = reader
        Task { @SessionActor in reader.close() }
    }
}

extension OneShot {
    /// A query for a range of keys.
    func watch<Document: Decodable & Sendable>(
        _ scope: Scope, _ query: RangeQuery, as type: Document.Type
    ) -> Watch<QueryResult<Document>> {
        watch(scope) { [try query.plan(in: scope, $0)] }
    }

    /// A query for named keys, in their order.
    func watch<Document: Decodable & Sendable>(
        _ scope: Scope, keys: [String], as type: Document.Type
    ) -> Watch<QueryResult<Document>> {
        watch(scope) { [try scope.plan(named: keys, $0)] }
    }

    /// A query for one key.
    func watch<Document: Decodable & Sendable>(
        _ scope: Scope, key: String, as type: Document.Type
    ) -> Watch<DocumentResult<Document>> {
        let query = watch(scope, keys: [key], as: type)
        return Watch(lifetime: lifetime, count: 1, plans: query.plans) {
            let show = query.show()
            return { state, rows in
                let result = try show(state, rows)
                let document = result.documents.first
                return DocumentResult(
                    key: key, result: document.map { $0.result.map { $0 } } ?? .success(nil),
                    isPending: document?.isPending ?? false, snapshot: result.snapshot, meta: result.meta)
            }
        }
    }

    private func watch<Document: Decodable & Sendable>(
        _ scope: Scope, _ plans: @escaping LiveReader.Plans
    ) -> Watch<QueryResult<Document>> {
        let documents = driver.documents
        return Watch(lifetime: lifetime, count: 1, plans: plans) {
            let maker = ResultMaker<Document>(documents, scope)
            return { state, rows in try maker.result(state, rows.first ?? []) }
        }
    }
}

extension IsochronClient {
    /// Two watches of this client as one: its results have both at one snapshot. For more of them, nest it.
    ///
    /// The loop throws INVALID_REQUEST for watches of another client.
    public nonisolated func live<A: Sendable, B: Sendable>(_ a: Watch<A>, _ b: Watch<B>) -> Watch<(A, B)> {
        let own = lifetime
        return Watch(lifetime: own, count: a.count + b.count) { limits in
            if a.lifetime !== own || b.lifetime !== own {
                throw IsochronError(.invalidRequest, "a watch belongs to another client")
            }
            return try a.plans(limits) + b.plans(limits)
        } show: {
            let (first, second) = (a.show(), b.show())
            return { state, rows in
                (try first(state, rows.prefix(a.count)), try second(state, rows.dropFirst(a.count)))
            }
        }
    }

    /// Three watches of this client as one: its results have all of them at one snapshot.
    public nonisolated func live<A: Sendable, B: Sendable, C: Sendable>(
        _ a: Watch<A>, _ b: Watch<B>, _ c: Watch<C>
    ) -> Watch<(A, B, C)> {
        let all = live(live(a, b), c)
        return Watch(lifetime: lifetime, count: all.count, plans: all.plans) {
            let show = all.show()
            return { state, rows in
                let ((a, b), c) = try show(state, rows)
                return (a, b, c)
            }
        }
    }
}
