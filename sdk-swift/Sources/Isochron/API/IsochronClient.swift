import IsochronSession

/// A session as data, see ``CausalSession/export()``.
public typealias ExportedSession = IsochronSession.ExportedSession
/// A hybrid logical timestamp, a whole number below 2^53 that grows with time.
public typealias Timestamp = IsochronSession.Timestamp
/// A transaction's id.
public typealias TxId = IsochronSession.TxId

/// A connected client: one causal session. Its own functions work on the keyspace of its options.
///
/// It fails over to other nodes and regions and reconnects by itself; requests wait meanwhile, up to `requestTimeout`.
/// Every function may be called from anywhere, and any number of them at the same time. In a cancelled task, what was
/// not sent throws `CancellationError`; a commit that was sent throws OUTCOME_UNKNOWN, and is resolved in the
/// background.
///
/// Close a client that is not needed any more. One that nobody holds any more closes itself.
public actor IsochronClient {
    nonisolated let lifetime: Lifetime
    private nonisolated let plain: Keyspace

    init(_ driver: Driver) {
        lifetime = Lifetime(driver)
        plain = Keyspace(source: OneShot(lifetime: lifetime), scope: Scope(keyspace: driver.settings.keyspace))
    }

    /// That of all clients, so that calls between them do not change threads.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { SessionActor.sharedUnownedExecutor }

    /// Connects to the nearest of the endpoints and opens a session, or continues one.
    ///
    /// - Parameters:
    ///   - endpoints: base URLs of nodes, `http(s)://` or `ws(s)://`. The nearest one is used, the others are there to
    ///     fail over to.
    ///   - credentials: API key, where the cluster asks for one. Sent in the first frame, never in the URL.
    ///   - session: a session that another client exported: this one continues it, causally after everything that one
    ///     saw and wrote
    ///   - token: a session token, for instance from an HTTP answer: what this session reads contains what that one saw
    ///     and wrote. The token does not hold the writes themselves, so `connect` waits until they are visible
    ///     everywhere. Not together with a `session` or a `store`: INVALID_REQUEST.
    ///   - store: where the session is kept between launches, see ``SessionStore``. A `session` that is given goes
    ///     first.
    ///   - options: how the client works
    /// - Throws: CONNECTION_LOST when no endpoint can be reached; the cluster's refusal (UNAUTHENTICATED,
    ///   TOKEN_INVALID, TOKEN_FOREIGN, …); TOKEN_INVALID for a session of another protocol; INVALID_REQUEST for
    ///   endpoints that are no URLs; KEYSPACE_UNKNOWN; SESSION_GAP when what the session of a `token` wrote was not
    ///   visible within `requestTimeout`; what the store throws; `CancellationError`.
    public static func connect(
        endpoints: [String], credentials: String? = nil, session: ExportedSession? = nil, token: String? = nil,
        store: (any SessionStore)? = nil, options: ClientOptions = ClientOptions()
    ) async throws -> IsochronClient {
        try Task.checkCancellation()
        // The store would keep a session before its gap is closed, and nobody would look for the missing writes again.
        if token != nil, session != nil || store != nil {
            let message = "a token is where a session begins: give no session and no store beside it"
            throw IsochronError(.invalidRequest, message)
        }
        let settings = options.settings(credentials: credentials)
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

    /// The causal session, to hand on.
    public nonisolated var session: CausalSession { CausalSession(lifetime: lifetime) }

    /// How the client is doing: now, and after every change, once a turn at most. Who is slow misses all but the
    /// newest. Ends with the client.
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

    /// How the client is doing at this moment.
    public var currentStatus: ClientStatus {
        get async { await lifetime.driver.status }
    }

    /// Another keyspace in the same session. With a name that none can have every call is KEYSPACE_UNKNOWN.
    public nonisolated func keyspace(_ name: String) -> Keyspace {
        Keyspace(source: OneShot(lifetime: lifetime), scope: Scope(keyspace: name))
    }

    /// The documents under keys `name/<id>`; its functions take and return ids. With an empty name every call is
    /// KEY_INVALID.
    public nonisolated func collection<Document: Codable & Sendable>(
        _ name: String, of type: Document.Type
    ) -> DocumentCollection<Document> {
        plain.collection(name, of: type)
    }

    /// A snapshot for many reads: the session's newest, or exactly the one at a timestamp.
    ///
    /// - Parameter at: The same in every region. The session's own writes above it are not part of it. A timestamp that
    ///   is not stable yet is waited for by the server for a moment, then SNAPSHOT_UNAVAILABLE; one whose versions were
    ///   collected is SNAPSHOT_TOO_OLD.
    /// - Throws: as reads do; NOT_SUPPORTED_BY_PROTOCOL where the cluster's protocol has no snapshots
    public nonisolated func snapshot(at: Timestamp? = nil) async throws -> SnapshotView {
        try await SnapshotView.open(lifetime, plain.scope, at)
    }

    /// What became of a transaction: of this client or any other, also after a restart.
    ///
    /// With `sentAfter`, as an OUTCOME_UNKNOWN has it, *forgotten* is told from *unknown*; any snapshot's timestamp
    /// from before the commit will do for it. A question changes nothing. Throws INVALID_REQUEST for what is no id,
    /// OFFLINE, CLIENT_CLOSED, NOT_SUPPORTED_BY_PROTOCOL, `CancellationError`.
    public nonisolated func transactionStatus(txId: TxId, sentAfter: Timestamp? = nil) async throws -> TransactionStatus
    {
        try await lifetime.driver.transactionStatus(txId, sentAfter)
    }

    /// Tells the client that the network may be another one, gone, or back, as when the app comes to the foreground or
    /// `NWPathMonitor` reports another path: it tries its connection, and where it has none, looks for one at once.
    public nonisolated func networkChanged() async {
        await lifetime.driver.step(.network)
    }

    /// Gives up the order behind a commit whose outcome is not known, so that later writes do not wait for it.
    ///
    /// The client goes on in a new session, which has seen everything that the old one has seen and written, but does
    /// not follow that commit: it may still become visible later, or never, and a later write of the same key by this
    /// client may be ordered before it or after it. Reads do not show it until it is decided.
    ///
    /// The client goes on asking for its outcome in the background: the call that waits for it ends as before, and
    /// ``ClientStatus/pendingCommits`` counts it.
    ///
    /// - Returns: the id of its transaction; nil where no commit of the session is in doubt, and then nothing has
    ///   changed
    @discardableResult
    public nonisolated func detach() async -> TxId? {
        await lifetime.driver.detach()
    }

    /// Saves the session now, where there is a store: before an app is suspended, for instance. Throws what the store
    /// throws.
    public nonisolated func save() async throws {
        try await lifetime.driver.saver?.save()
    }

    /// Closes the connection, and saves the session where there is a store.
    ///
    /// What is pending throws CLIENT_CLOSED; commits that were sent and not answered throw OUTCOME_UNKNOWN. Returns
    /// once the socket is closed, after a second at the latest, and the session saved. May be called twice.
    public nonisolated func close() async {
        await lifetime.driver.close()
    }
}

/// The client's own keys.
extension IsochronClient {
    /// The document of a key; nil where there is none. Throws as ``DocumentCollection`` says.
    public nonisolated func get<Document: Decodable & Sendable>(
        _ key: String, as type: Document.Type
    ) async throws -> Document? {
        try await plain.get(key, as: type)
    }

    /// The documents of several keys, in their order, all of one snapshot and in one round trip.
    public nonisolated func getMany<Document: Decodable & Sendable>(
        _ keys: [String], as type: Document.Type
    ) async throws -> [Document?] {
        try await plain.getMany(keys, as: type)
    }

    /// Keys and documents in key order, see ``Listing``.
    public nonisolated func list<Document: Decodable & Sendable>(
        prefix: String = "", start: String = "", limit: Int? = nil, pageSize: Int = 100, as type: Document.Type
    ) -> Listing<Document> {
        plain.list(prefix: prefix, start: start, limit: limit, pageSize: pageSize, as: type)
    }

    /// Stores a document. `id` is that of ``DocumentCollection/set(_:_:id:)``.
    @discardableResult
    public nonisolated func set<Document: Codable & Sendable>(
        _ key: String, _ document: Document, id: String? = nil
    ) async throws -> Write {
        try await plain.set(key, document, id: id)
    }

    /// Deletes a key; a key without a document may be deleted too.
    @discardableResult
    public nonisolated func delete(_ key: String, id: String? = nil) async throws -> Write {
        try await plain.delete(key, id: id)
    }

    /// Changes a document by a JSON merge patch, as ``DocumentCollection`` does.
    @discardableResult
    public nonisolated func update(_ key: String, _ patch: JSONValue, id: String? = nil) async throws -> Write {
        try await plain.update(key, patch, id: id)
    }

    /// Runs a function in a transaction, exactly once: there are no conflicts, so nothing is ever run again. When it
    /// has returned, what it wrote is committed, all or nothing; when it throws, the transaction is aborted and the
    /// same error thrown.
    ///
    /// Costs two round trips with reads (the start travels with the first read), one without. The write is nil when
    /// nothing was written.
    ///
    /// - Parameters:
    ///   - at: reads exactly this snapshot, which the session's own later writes are not part of
    ///   - id: name of the transaction, to repeat it safely, as ``DocumentCollection/set(_:_:id:)`` says: where one of
    ///     this id has committed, its result is returned, and the function does not run
    ///   - isolation: where the caller runs, and with it the function
    ///   - run: the function
    /// - Throws: as reads and writes do; TRANSACTION_EXPIRED when the function took longer than the cluster allows;
    ///   TRANSACTION_ABORTED when the commit was aborted; OUTCOME_UNKNOWN; TOO_MANY_KEYS for more writes than the
    ///   cluster accepts; `CancellationError` in a cancelled task, where the commit has not been sent.
    @discardableResult
    public func transaction<Output: Sendable>(
        at: Timestamp? = nil, id: String? = nil, isolation: isolated (any Actor)? = #isolation,
        _ run: (CausalTransaction) async throws -> Output
    ) async throws -> (result: Output, write: Write?) {
        try await runTransaction(lifetime, plain.scope, at, id, run)
    }
}
