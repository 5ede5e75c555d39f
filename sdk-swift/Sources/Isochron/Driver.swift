import IsochronSession

/// Drives the client machine: sockets, the timer, tasks that wait for calls, and the parts of a client beside its
/// session: documents, a store, followers of the status.
@SessionActor
final class Driver {
    nonisolated let settings: Settings
    nonisolated let documents: DocumentCoding
    /// The cluster's limits, readable from anywhere.
    nonisolated let limits: Locked<Limits>
    /// Whether the cluster's protocol has updates and claims, readable from anywhere.
    nonisolated let hasUpdates: Locked<Bool>
    nonisolated let named = NamedWrites()
    /// The decisions of claims with an id.
    nonisolated let decided = NamedWrites()
    /// Saves the session, if there is a store.
    let saver: Saver?
    private(set) lazy var followers = StatusFollowers { [weak self] in self?.status }
    private let effects: Effects
    private let machine: ClientMachine
    private var lastHandle: HandleId = 0
    private var closing: Task<CloseReport, Never>?

    /// Throws INVALID_REQUEST.
    init(
        _ endpoints: [String], token: String?, imported: ExportedSession?, store: (any SessionStore)?,
        _ documents: DocumentCoding, _ settings: Settings
    ) throws {
        self.settings = settings
        self.documents = documents
        effects = Effects(settings)
        machine = try ClientMachine(
            endpoints, token: token, imported: imported, settings.client, effects, random: settings.random,
            nowMs: settings.timing.nowMs)
        limits = machine.core.limits
        hasUpdates = machine.core.hasUpdates
        saver = store.map { Saver($0, settings) }
        effects.driver = self
        saver?.source = { [weak self] in self?.export() }
    }

    var core: ClientCore { machine.core }

    var status: ClientStatus {
        let status = core.status(settings.timing.nowMs)
        return ClientStatus(
            state: status.state, region: status.region, node: status.node,
            roundTrip: status.rttMs.map(Duration.ofMs), ust: status.ust,
            staleness: status.stalenessMs.map(Duration.ofMs), isStale: status.stale, heldBackBy: status.heldBackBy,
            unresponsive: status.unresponsive, pendingCommits: status.pendingCommits,
            deferredCommits: status.deferredCommits,
            oldestPendingCommitAge: status.oldestPendingCommitMs.map(Duration.ofMs))
    }

    /// Age of a timestamp by the node's clock; nil before the first stable time.
    func age(of timestamp: Timestamp) -> Duration? {
        core.clock.ageMs(timestamp, settings.timing.nowMs).map(Duration.ofMs)
    }

    /// The session as data; nil before the first welcome.
    func export() -> ExportedSession? {
        core.export()
    }

    func step(_ input: ClientInput) {
        machine.step(input, nowMs: settings.timing.nowMs)
        effects.load()
    }

    // Calls.

    /// Connects to the nearest endpoint, and waits until the session of a token sees the writes of that token.
    func connect() async throws {
        _ = try await call(.connect)
    }

    /// Throws NOT_SUPPORTED_BY_PROTOCOL where the protocol has no transactions.
    func begin(_ mode: SnapshotHandle.Mode, at: Timestamp? = nil) throws -> Handle {
        lastHandle += 1
        let nowMs = settings.timing.nowMs
        return Handle(id: lastHandle, snapshot: try machine.begin(lastHandle, mode, at: at, nowMs: nowMs))
    }

    func end(_ handle: Handle) {
        step(.end(handle.id))
    }

    /// Values in the order of the keys: from a given snapshot, or from a new one.
    func read(_ handle: Handle?, _ keys: [QualifiedKey]) async throws -> [Value?] {
        guard case .values(let values) = try await call(.read(handle?.id, keys)) else { throw Self.mismatch }
        return values
    }

    func list(_ handle: Handle, _ request: ListRequest) async throws -> ListedPage {
        guard case .page(let page) = try await call(.list(handle.id, request)) else { throw Self.mismatch }
        return page
    }

    func open(_ handle: Handle) async throws {
        _ = try await call(.open(handle.id))
    }

    /// Writes one key, and saves the session before it returns.
    func write(_ key: QualifiedKey, _ value: Value?) async throws -> Committed {
        try await saved(try await call(.write(key, value)))
    }

    /// Updates one key, and saves the session before it returns.
    func update(_ key: QualifiedKey, _ update: Update) async throws -> Committed {
        try await saved(try await call(.update(key, update)))
    }

    func claimed(_ key: QualifiedKey, _ commit: Committed, timeoutMs: Double) async throws -> Claimed {
        guard case .claimed(let claimed) = try await call(.claimed(key, commit, timeoutMs: timeoutMs)) else {
            throw Self.mismatch
        }
        return claimed
    }

    /// Commits, and saves the session before it returns. A cancelled task withdraws a commit that was not sent; after
    /// the send the outcome is unknown.
    func commit(_ handle: Handle) async throws -> Committed {
        try await saved(try await call(.commit(handle.id)))
    }

    /// A page of the change feed, of the keys with a prefix.
    func changes(_ scope: String, after: Timestamp?, waitMs: Double) async throws -> ChangesPage {
        guard case .changes(let page) = try await call(.changes(scope, after: after, waitMs: waitMs)) else {
            throw Self.mismatch
        }
        return page
    }

    func stable(_ timestamp: Timestamp, timeoutMs: Double) async throws {
        _ = try await call(.stable(timestamp, timeoutMs: timeoutMs))
    }

    func transactionStatus(_ txId: TxId, _ sentAfter: Timestamp?) async throws -> TransactionStatus {
        guard case .status(let status) = try await call(.status(txId, sentAfter: sentAfter)) else {
            throw Self.mismatch
        }
        return status
    }

    /// Continues as another session, without the write whose outcome is not known. Returns the id of that write.
    func detach() -> TxId? {
        var detached: TxId?
        let caller = PendingCall { result in
            if case .success(.detached(let txId)) = result { detached = txId }
        }
        step(.call(.detach, caller))
        return detached
    }

    /// Goes on with writes for at most `flushMs`. Returns once all is closed and saved, to every caller.
    @discardableResult
    func close(flushMs: Double = 0) async -> CloseReport {
        // A later call may end the writes earlier.
        if closing != nil { step(.call(.close(flushMs: flushMs), PendingCall { _ in })) }
        let closing = self.closing ?? Task { @SessionActor in await closeAll(flushMs: flushMs) }
        self.closing = closing
        return await closing.value
    }

    private func closeAll(flushMs: Double) async -> CloseReport {
        async let closed = closeSockets(flushMs: flushMs)
        // Sockets may take a while to close; meanwhile the app may end, or another client may use the store.
        await saver?.close()
        let report = await closed
        core.queue.forget()
        await saver?.close()
        followers.end()
        return report
    }

    private func closeSockets(flushMs: Double) async -> CloseReport {
        let report = await withCheckedContinuation { closed in
            let caller = PendingCall { result in
                guard case .success(.closed(let report)) = result else {
                    return closed.resume(returning: CloseReport(dropped: [], undecided: []))
                }
                closed.resume(returning: report)
            }
            step(.call(.close(flushMs: flushMs), caller))
        }
        effects.cancel()
        return report
    }

    private func saved(_ outcome: CallOutcome) async throws -> Committed {
        guard case .committed(let committed) = outcome else { throw Self.mismatch }
        try await saver?.saved(committed)
        return committed
    }

    /// The outcome of a call. A cancelled task cancels the call.
    private func call(_ call: Call) async throws -> CallOutcome {
        let pending = Locked<PendingCall?>(nil)
        return try await withTaskCancellationHandler {
            // A commit that is cancelled before it begins still ends its handle.
            if case .commit = call {} else { try Task.checkCancellation() }
            return try await withCheckedThrowingContinuation { continuation in
                let caller = PendingCall { continuation.resume(with: $0) }
                pending.set(caller)
                step(.call(call, caller))
                if Task.isCancelled { step(.cancel(caller, CancellationError())) }
            }
        } onCancel: {
            // The cancellation may come before the call has begun, which then checks for itself.
            Task { @SessionActor in
                if let caller = pending.get() { step(.cancel(caller, CancellationError())) }
            }
        }
    }

    private static var mismatch: IsochronError {
        IsochronError(.internal, "a call was settled with the outcome of another one")
    }
}

/// A snapshot to read from.
struct Handle: Sendable {
    let id: HandleId
    /// Its reads and writes so far.
    let snapshot: SnapshotHandle
}
