import IsochronSession

/// A session as data, see ``CausalSession/export()``.
public typealias ExportedSession = IsochronSession.ExportedSession
/// A hybrid logical timestamp, an integer below 2^53 that grows with time.
public typealias Timestamp = IsochronSession.Timestamp
/// The id of a transaction.
public typealias TxId = IsochronSession.TxId

/// A connected client: one causal session. Its own functions use the keyspace of its options.
///
/// It fails over to other nodes and regions and reconnects by itself; requests wait meanwhile, up to `requestTimeout`.
/// Every function may be called from any thread, any number of them at the same time. In a cancelled task, a request
/// that was not sent throws `CancellationError`; a commit that was sent throws OUTCOME_UNKNOWN, and is resolved in the
/// background.
///
/// Close a client that is not needed any more. A client without references closes itself.
public actor IsochronClient {
    nonisolated let lifetime: Lifetime
    nonisolated let plain: Keyspace

    init(_ driver: Driver) {
        lifetime = Lifetime(driver)
        plain = Keyspace(source: OneShot(lifetime: lifetime), scope: Scope(keyspace: driver.settings.keyspace))
    }

    /// The executor of all clients, so that calls between them do not change threads.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { SessionActor.sharedUnownedExecutor }

    /// Connects to the nearest of the endpoints, and opens or continues a session.
    ///
    /// - Parameters:
    ///   - endpoints: base URLs of nodes, `http(s)://` or `ws(s)://`. The nearest one is used, the others serve for
    ///     failover.
    ///   - credentials: API key, if the cluster requires one. Sent in the first frame, never in the URL.
    ///   - auth: gives the newest credentials, such as the access token of an identity provider, in place of
    ///     `credentials`. The client calls it before it connects, before the credentials expire, and after the cluster
    ///     has refused them; one call at a time. The session, its transactions and its watches go on. While it throws,
    ///     or returns credentials that are refused, it is called again and again, with growing pauses; requests that
    ///     wait for it throw CREDENTIALS_UNAVAILABLE after `requestTimeout`. New credentials have to be of the same
    ///     user: another one needs a client of its own. It is cancelled when the client closes. With `credentials`:
    ///     INVALID_REQUEST.
    ///   - session: an exported session: this client continues it, causally after everything that it has seen and
    ///     written
    ///   - token: a session token, for instance of an HTTP answer: this session's reads contain everything that the
    ///     session of the token saw and wrote. The token does not hold the writes themselves, so `connect` waits until
    ///     they are visible everywhere. With a `session` or a `store`: INVALID_REQUEST.
    ///   - store: keeps the session between launches, see ``SessionStore``. A given `session` takes precedence.
    ///   - options: options of the client
    /// - Throws: CONNECTION_LOST if no endpoint can be reached; TLS_FAILED if the certificate of none is accepted;
    ///   CREDENTIALS_UNAVAILABLE if `auth` gave none that the cluster accepts within `requestTimeout`; the cluster's
    ///   refusal (UNAUTHENTICATED, TOKEN_INVALID, TOKEN_FOREIGN, …); TOKEN_INVALID for a session of another
    ///   protocol; INVALID_REQUEST for endpoints that are not URLs, and for a `ca` without certificates;
    ///   KEYSPACE_UNKNOWN; SESSION_GAP if the writes of a `token` were not visible within `requestTimeout`; errors of
    ///   the store; `CancellationError`.
    public static func connect(
        endpoints: [String], credentials: String? = nil, auth: (@Sendable () async throws -> String)? = nil,
        session: ExportedSession? = nil, token: String? = nil, store: (any SessionStore)? = nil,
        options: ClientOptions = ClientOptions()
    ) async throws -> IsochronClient {
        try Task.checkCancellation()
        // The store would keep a session before its gap is closed; a restart would not wait for the missing writes.
        if token != nil, session != nil || store != nil {
            let message = "a token begins a session: omit the session and the store"
            throw IsochronError(.invalidRequest, message)
        }
        if auth != nil, credentials != nil {
            throw IsochronError(.invalidRequest, "`auth` and `credentials` exclude each other")
        }
        let settings = try options.settings(credentials: credentials, auth: auth)
        if let problem = Scope(keyspace: settings.keyspace).problem { throw problem }
        var imported = session
        if imported == nil { imported = try await store?.load() }
        let driver = try await Driver(
            endpoints, token: token, imported: imported, store: store, options.documents, settings)
        do {
            try await driver.connect()
            return IsochronClient(driver)
        } catch {
            await driver.close()
            throw error
        }
    }

    /// The causal session, for export.
    public nonisolated var session: CausalSession { CausalSession(lifetime: lifetime) }

    /// The client's state: now, and after every change, at most once a turn. A slow consumer receives only the newest
    /// state. Ends with the client.
    public nonisolated var status: AsyncStream<ClientStatus> {
        let (stream, follower) = AsyncStream.makeStream(of: ClientStatus.self, bufferingPolicy: .bufferingNewest(1))
        let driver = lifetime.driver
        let following = Task { @SessionActor in driver.followers.follow(follower) }
        follower.onTermination = { _ in
            Task { @SessionActor in
                if let id = await following.value { driver.followers.unfollow(id) }
            }
        }
        return stream
    }

    /// The client's present state.
    public var currentStatus: ClientStatus {
        get async { await lifetime.driver.status }
    }

    /// Another keyspace in the same session. With an invalid name every call throws KEYSPACE_UNKNOWN.
    public nonisolated func keyspace(_ name: String) -> Keyspace {
        Keyspace(source: OneShot(lifetime: lifetime), scope: Scope(keyspace: name))
    }

    /// The documents under keys `name/<id>`; its functions take and return ids. With an empty name every call throws
    /// KEY_INVALID.
    public nonisolated func collection<Document: Codable & Sendable>(
        _ name: String, of type: Document.Type
    ) -> DocumentCollection<Document> {
        plain.collection(name, of: type)
    }

    /// A snapshot for many reads: the session's newest, or exactly the one at a timestamp.
    ///
    /// - Parameter at: The timestamp means the same in every region. The session's own writes above it are not part of
    ///   it. The server waits a moment for a timestamp that is not stable yet, then throws SNAPSHOT_UNAVAILABLE; a
    ///   timestamp whose versions were collected throws SNAPSHOT_TOO_OLD.
    /// - Throws: as reads do; NOT_SUPPORTED_BY_PROTOCOL if the cluster's protocol has no snapshots
    public nonisolated func snapshot(at: Timestamp? = nil) async throws -> SnapshotView {
        try await SnapshotView.open(lifetime, plain.scope, at)
    }

    /// The status of a transaction, of this client or any other, also after a restart.
    ///
    /// With `sentAfter`, as in an OUTCOME_UNKNOWN, the answer separates *forgotten* from *unknown*; the timestamp of
    /// any snapshot before the commit serves, too. The call changes nothing. Throws INVALID_REQUEST for an invalid id,
    /// OFFLINE, CLIENT_CLOSED, NOT_SUPPORTED_BY_PROTOCOL, `CancellationError`.
    public nonisolated func transactionStatus(txId: TxId, sentAfter: Timestamp? = nil) async throws -> TransactionStatus
    {
        try await lifetime.driver.transactionStatus(txId, sentAfter)
    }

    /// Call it after a change of the network, as when the app comes to the foreground or `NWPathMonitor` reports
    /// another path: the client tests its connection, or without one connects at once.
    public nonisolated func networkChanged() async {
        await lifetime.driver.step(.network)
    }

    /// Gives up the order behind a commit without a known outcome, so that later writes do not wait for it.
    ///
    /// The client continues in a new session, which has seen everything that the old one has seen and written, but does
    /// not follow that commit: it may become visible later, or never, and a later write of the same key by this client
    /// may be ordered before or after it. Reads do not show it until it is decided.
    ///
    /// The client asks for its outcome in the background: the waiting call ends as before, and
    /// ``ClientStatus/pendingCommits`` counts the commit.
    ///
    /// While commits of the session are deferred (``ClientStatus/deferredCommits``), the session goes on without these
    /// instead: they may be committed again later, or never.
    ///
    /// - Returns: the id of its transaction, of the first deferred one if there are any; nil if no commit of the session
    ///   is in doubt or deferred: then nothing has changed
    @discardableResult
    public nonisolated func detach() async -> TxId? {
        await lifetime.driver.detach()
    }

    /// Saves the session now, if the client has a store, for instance before an app is suspended. Throws the store's
    /// errors.
    public nonisolated func save() async throws {
        try await lifetime.driver.saver?.save()
    }

    /// Ends reads and watches, which throw CLIENT_CLOSED, and takes no further calls. Writes that were called before go
    /// on for at most `flush`. Then those that have had no effect throw CLIENT_CLOSED, and those that were sent and not
    /// answered OUTCOME_UNKNOWN. Returns a report of both once the socket is closed, at the latest a second later, and
    /// the session saved, if the client has a store. May be called again, also to end the writes earlier.
    @discardableResult
    public nonisolated func close(flush: Duration = .seconds(5)) async -> CloseReport {
        await lifetime.driver.close(flushMs: max(0, flush.inMs))
    }
}

/// The client's own keys.
extension IsochronClient {
    /// The document of a key; nil if the key is absent. Throws as ``DocumentCollection`` does.
    public nonisolated func get<Document: Decodable & Sendable>(
        _ key: String, as type: Document.Type
    ) async throws -> Document? {
        try await plain.get(key, as: type)
    }

    /// The documents of several keys, in their order, from one snapshot and in one round trip.
    public nonisolated func getMany<Document: Decodable & Sendable>(
        _ keys: [String], as type: Document.Type
    ) async throws -> [Document?] {
        try await plain.getMany(keys, as: type)
    }

    /// Keys and documents in key order, see ``Listing``.
    public nonisolated func list<Document: Decodable & Sendable>(
        prefix: String = "", start: String = "", deep: Bool = true, limit: Int? = nil, pageSize: Int = 100,
        as type: Document.Type
    ) -> Listing<Document> {
        plain.list(prefix: prefix, start: start, deep: deep, limit: limit, pageSize: pageSize, as: type)
    }

    /// Stores a document. `id` is that of ``DocumentCollection/set(_:_:id:)``.
    @discardableResult
    public nonisolated func set<Document: Codable & Sendable>(
        _ key: String, _ document: Document, id: String? = nil
    ) async throws -> Write {
        try await plain.set(key, document, id: id)
    }

    /// Deletes a key; an absent key is allowed.
    @discardableResult
    public nonisolated func delete(_ key: String, id: String? = nil) async throws -> Write {
        try await plain.delete(key, id: id)
    }

    /// Changes a document by a JSON merge patch, like ``DocumentCollection``.
    @discardableResult
    public nonisolated func update(_ key: String, _ patch: JSONValue, id: String? = nil) async throws -> Write {
        try await plain.update(key, patch, id: id)
    }

    /// Changes a document by operations, like ``DocumentCollection``.
    @discardableResult
    public nonisolated func update(
        _ key: String, _ operations: [UpdateOperation], id: String? = nil
    ) async throws -> Write {
        try await plain.update(key, operations, id: id)
    }

    /// Stores a document under a key that has none, like ``DocumentCollection``: of all claims one wins.
    public nonisolated func claim<Document: Codable & Sendable>(
        _ key: String, _ document: Document, id: String? = nil, timeout: Duration = .seconds(30)
    ) async throws -> Claim<Document> {
        try await plain.claim(key, document, id: id, timeout: timeout)
    }

    /// Runs a function in a transaction, exactly once: transactions do not conflict, so none is run again. When the
    /// function returns, its writes are committed, all or none; when it throws, the transaction is aborted and the same
    /// error thrown.
    ///
    /// Costs two round trips with reads (the start travels with the first read), one without. The write is nil if the
    /// function wrote nothing.
    ///
    /// - Parameters:
    ///   - at: reads exactly this snapshot, without the session's own later writes
    ///   - id: name of the transaction, to repeat it safely, see ``DocumentCollection/set(_:_:id:)``: if a transaction
    ///     of this id has committed, its result is returned, and the function does not run
    ///   - isolation: the isolation of the caller, in which the function runs
    ///   - run: the function
    /// - Throws: as reads and writes do; TRANSACTION_EXPIRED if the function took longer than the cluster allows;
    ///   TRANSACTION_ABORTED if the commit was aborted; OUTCOME_UNKNOWN; TOO_MANY_KEYS for more writes than the cluster
    ///   accepts; `CancellationError` in a cancelled task, if the commit has not been sent.
    @discardableResult
    public func transaction<Output: Sendable>(
        at: Timestamp? = nil, id: String? = nil, isolation: isolated (any Actor)? = #isolation,
        _ run: (CausalTransaction) async throws -> Output
    ) async throws -> (result: Output, write: Write?) {
        try await runTransaction(lifetime, plain.scope, at, id, run)
    }
}
