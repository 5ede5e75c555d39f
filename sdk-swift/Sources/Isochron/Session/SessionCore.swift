import IsochronSession

/// What all parts of one client share: session, connection, commits, limits, status.
@SessionActor
final class SessionCore {
    nonisolated let settings: Settings
    /// The cluster's limits, readable from anywhere.
    nonisolated let limits = Locked(Limits.standard)
    nonisolated let documents: DocumentCoding
    let driver: Driver
    let connector: Connector
    /// Saves the session, where there is a store.
    let saver: Saver?
    /// What the session does one at a time: writes; under protocols of single operations, everything.
    private(set) lazy var queue = OneByOne(
        driver, requestTimeoutMs: settings.requestTimeoutMs, connector.dispatcher
    ) { [weak self] in self?.changed() }
    private(set) lazy var statuses = StatusTeller { [weak self] in self?.status }
    private(set) var clock: ServerClock
    /// Name of the cluster's protocol.
    private(set) var protocolName = ""
    /// What the cluster can do, as its last node has said.
    private var capabilities: Set<String> = []
    /// The session's newest token.
    private(set) var currentToken: String?
    private var met: (any Engine)?
    /// Everything up to here is known to be in every region.
    private var stableUpTo: Timestamp = 0
    /// Every node of every region serves everything up to here, as a node has answered: what is stable at one node may
    /// not be served yet.
    private var servedUpTo: Timestamp = 0
    private let imported: ExportedSession?
    /// The session's last write as its token has it, where that is not known to be visible everywhere.
    private var tokenHwt: Timestamp = 0
    private var closing: Task<Void, Never>?

    /// Throws INVALID_REQUEST.
    init(
        _ endpoints: [String], token: String?, imported: ExportedSession?, store: (any SessionStore)?,
        _ documents: DocumentCoding, _ settings: Settings
    ) throws {
        self.settings = settings
        self.documents = documents
        self.imported = imported
        currentToken = imported?.token ?? token
        clock = ServerClock(settings.timing)
        driver = Driver(settings)
        connector = try Connector(driver.loop, endpoints, settings)
        saver = store.map { Saver($0, settings) }
        connector.begin(self)
        connector.dispatcher.onSweep = { [weak self] nowMs in self?.queue.sweep(nowMs) ?? false }
        saver?.source = { [weak self] in self?.export() }
    }

    /// There is one once a node has been met; nobody has the client before.
    var engine: any Engine {
        get throws {
            guard let met else { throw IsochronError.lost("no node has been met yet") }
            return met
        }
    }

    /// The engine of transactions. Throws NOT_SUPPORTED_BY_PROTOCOL where there are none.
    var transactions: Transactions {
        get throws {
            if let transactions = try engine as? Transactions { return transactions }
            let instead = "get, set and delete keys, one or a few at a time"
            throw unsupported("has no transactions, snapshots and listings: \(instead)")
        }
    }

    /// Whether the cluster's protocol can do something, by its name in `welcome`.
    func can(_ capability: String) -> Bool {
        capabilities.contains(capability)
    }

    func unsupported(_ what: String) -> IsochronError {
        IsochronError(.notSupportedByProtocol, "the protocol of this cluster, \(protocolName), \(what)")
    }

    var loop: Loop { driver.loop }

    /// Highest timestamp that the session has seen.
    var ust: Timestamp { met?.ust ?? 0 }

    var status: ClientStatus {
        let current = connector.current
        return ClientStatus(
            state: state, region: current?.region, node: current?.welcome.node,
            roundTrip: current?.rttMs.map(Duration.ofMs), ust: ust,
            staleness: clock.ageMs(ust).map(Duration.ofMs), isStale: clock.latest?.stale ?? false,
            heldBackBy: clock.latest?.heldBackBy, unresponsive: current?.unresponsive.nodes ?? [],
            pendingCommits: queue.writes,
            oldestPendingCommitAge: queue.oldestWriteMs(settings.timing.nowMs).map(Duration.ofMs))
    }

    /// Tells those who follow the status, once for all changes of a turn.
    func changed() {
        statuses.changed()
    }

    /// The session as data; nil before a node has been met.
    func export() -> ExportedSession? {
        met?.export(token: currentToken ?? "", protocolName: protocolName)
    }

    /// Ends once every new session of every region sees what was written at `timestamp`.
    func stable(_ timestamp: Timestamp, timeoutMs: Double) async throws {
        try Task.checkCancellation()
        if timestamp <= servedUpTo { return }
        let exchange = driver.step {
            StableExchange(loop, timestamp, timeoutMs: timeoutMs, requestTimeoutMs: settings.requestTimeoutMs)
        }
        let served = try await exchange.run(driver) { connector.dispatcher.submit($0) }
        servedUpTo = max(servedUpTo, served)
        sawStable(served)
    }

    /// A token comes without the writes that it knows of: they are part of every snapshot once stable time has passed
    /// them.
    func closeGap() async throws {
        try Task.checkCancellation()
        // Stable at the node of the connection is enough for what this session reads itself.
        if tokenHwt <= (can("stable-snapshots") ? ust : stableUpTo) { return }
        do {
            try await stable(tokenHwt, timeoutMs: settings.requestTimeoutMs)
        } catch let error as IsochronError where error.code == .stableTimeout {
            let message = "what the session of the token wrote is not visible everywhere yet"
            throw IsochronError(.sessionGap, message, cause: error)
        }
    }

    /// What became of a transaction, of this session or of any other.
    func transactionStatus(_ txId: TxId, _ birth: Timestamp?) async throws -> TransactionStatus {
        guard can("transactions") else {
            let instead = "a write that is repeated under its id says so itself"
            throw unsupported("cannot be asked what became of a write: \(instead)")
        }
        let exchange = TxStatusExchange(txId, birth)
        let status = try await exchange.run(driver) { connector.dispatcher.submitTimed($0) }
        // This client still repeats it: an attempt that was aborted, or has not arrived, is not the last one.
        let undecided = status.state != .committed && queue.isUnderWay(txId)
        return undecided ? TransactionStatus(state: .pending, timestamp: nil) : status
    }

    /// Connects to the nearest endpoint. A cancelled task ends that.
    func connect() async throws {
        let choice = Locked<Nearest?>(nil)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                driver.step {
                    let nearest = connector.start { continuation.resume(with: $0) }
                    choice.set(nearest)
                    if Task.isCancelled { nearest.cancel() }
                }
            }
        } onCancel: {
            Task { @SessionActor in driver.step { choice.get()?.cancel() } }
        }
    }

    /// Goes on without the write whose outcome is not known, as another session; returns its id.
    func detach() -> TxId? {
        do {
            return try driver.step {
                try queue.detach { try engine.detach(in: connector.current?.region) }
            }
        } catch {
            settings.log(.warning, "a commit was to be detached that was not under way")
            return nil
        }
    }

    /// Ends when all is closed and saved, for whoever calls it.
    func close() async {
        let closing = self.closing ?? Task { @SessionActor in await closeAll() }
        self.closing = closing
        await closing.value
    }

    private func closeAll() async {
        // First those that wait, or each would move up only to be refused.
        driver.step { queue.close() }
        // Sockets may take a while, in which the app may be ended or another client may use the store.
        await saver?.close()
        await withCheckedContinuation { closed in
            driver.step { connector.close { closed.resume() } }
        }
        queue.forget()
        await saver?.close()
        statuses.end()
    }

    private func sawStable(_ ust: Timestamp) {
        stableUpTo = max(stableUpTo, ust)
        met?.stable(ust)
    }

    private var state: ClientStatus.State {
        if connector.isClosed { return .closed }
        if connector.current != nil { return .online }
        return met == nil ? .connecting : .offline
    }
}

extension SessionCore: ConnectorEvents {
    /// Throws NOT_SUPPORTED_BY_PROTOCOL, or TOKEN_INVALID for a session of another protocol.
    func prepare(_ welcome: Welcome) throws {
        if met == nil {
            met = try openEngine(welcome, imported)
            protocolName = welcome.protocol
        }
        if protocolName != welcome.protocol {
            throw IsochronError.lost("the endpoint runs another protocol, \(welcome.protocol)")
        }
    }

    func welcomed(_ welcome: Welcome) {
        capabilities = welcome.capabilities
        limits.set(welcome.limits)
        currentToken = welcome.token
        tokenHwt = welcome.hwt
        clock.take(welcome.freshness)
        met?.welcomed(welcome)
        sawStable(welcome.stable ?? 0)
        saver?.touched()
    }

    func token(_ token: String) {
        if token == currentToken { return }
        currentToken = token
        saver?.touched()
    }

    func ust(_ frame: UstFrame) {
        clock.take(frame.freshness)
        sawStable(frame.ust)
        changed()
    }
}
