import IsochronSession

/// What all parts of one client share: session, connection, commits, limits, status.
@SessionActor
final class ClientCore {
    let loop: Loop
    let settings: ClientSettings
    /// The cluster's limits, readable from anywhere.
    nonisolated let limits = Locked(Limits.standard)
    let connector: Connector
    /// What the session does one at a time: writes; under protocols of single operations, everything.
    private(set) lazy var queue = CommitQueue(
        loop, requestTimeoutMs: settings.requestTimeoutMs, connector.dispatcher,
        chains: { [weak self] in self?.can("chained-commits") ?? false },
        changed: { [weak self] in self?.changed() })
    private(set) var clock = ServerClock()
    /// Name of the cluster's protocol.
    private(set) var protocolName = ""
    /// What the cluster can do, by the newest welcome.
    private var capabilities: Set<String> = []
    /// The cluster's `stalenessAlertMs`.
    private var alertMs = Double.infinity
    /// Steady time at which stable time is that far behind, unless a node reports before.
    private var staleMs = Double.infinity
    private var alert: LoopTimer?
    /// The session's newest token. Where an older connection still answers, it may lack for a round trip what came over
    /// one of the two.
    private(set) var currentToken: String?
    private var begun: (any Engine)?
    /// Connections that wait until the sessions of their protocol are there.
    private var loading: [String: [@SessionActor (Result<SessionKind, IsochronError>) -> Void]] = [:]
    /// Everything up to here is known to be in every region.
    private var stableUpTo: Timestamp = 0
    /// Every node of every region serves everything up to here, as a node has answered: what is stable at one node may
    /// not be served yet.
    private var servedUpTo: Timestamp = 0
    private let imported: ExportedSession?
    /// The session's last write as its token has it, where that is not known to be visible everywhere.
    private var tokenHwt: Timestamp = 0
    private var hasNews = false

    /// Throws INVALID_REQUEST for endpoints that are no URLs.
    init(
        _ loop: Loop, _ endpoints: [String], token: String?, imported: ExportedSession?, _ settings: ClientSettings
    ) throws {
        self.loop = loop
        self.settings = settings
        self.imported = imported
        currentToken = imported?.token ?? token
        connector = try Connector(loop, endpoints, settings)
        connector.begin(self)
        connector.dispatcher.onSweep = { [weak self] nowMs in self?.queue.sweep(nowMs) ?? false }
    }

    /// There is one from the first welcome on.
    var engine: any Engine {
        get throws {
            guard let begun else { throw IsochronError.lost("no node has answered yet") }
            return begun
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

    /// Highest timestamp that the session has seen.
    var ust: Timestamp { begun?.ust ?? 0 }

    func status(_ nowMs: Double) -> CoreStatus {
        let current = connector.current
        return CoreStatus(
            state: state, region: current?.region, node: current?.welcome.node, rttMs: current?.rttMs, ust: ust,
            stalenessMs: clock.ageMs(ust, nowMs), stale: clock.latest?.stale == true || nowMs >= staleMs,
            heldBackBy: clock.latest?.heldBackBy, unresponsive: current?.unresponsive.nodes ?? [],
            pendingCommits: queue.writes, oldestPendingCommitMs: queue.oldestWriteMs(nowMs))
    }

    /// The status has changed: the driver learns it once for all changes of a turn.
    func changed() {
        if hasNews { return }
        hasNews = true
        loop.atTurnsEnd { [weak self] in
            guard let self else { return }
            hasNews = false
            loop.out?.changed()
        }
    }

    /// The session as data; nil before the first welcome.
    func export() -> ExportedSession? {
        begun?.export(token: currentToken ?? "", protocolName: protocolName)
    }

    /// Connects, and waits until the session of a token sees what that has written.
    func connect(_ caller: @escaping Caller<Void>) -> any Cancellable {
        let connecting = Connecting()
        connecting.current = connector.start { [self] result in
            switch result {
            case .success where imported == nil: connecting.current = closeGap(caller)
            default: caller(result)
            }
        }
        return connecting
    }

    /// Resolves once every new session of every region sees what was written at `timestamp`.
    func stable(_ timestamp: Timestamp, timeoutMs: Double, _ caller: @escaping Caller<Void>) -> (any Cancellable)? {
        if timestamp <= servedUpTo {
            caller(.success(()))
            return nil
        }
        let exchange = StableExchange(
            loop, timestamp, timeoutMs: timeoutMs, requestTimeoutMs: settings.requestTimeoutMs)
        let answered: Caller<Timestamp> = { [self] result in
            if case .success(let served) = result {
                servedUpTo = max(servedUpTo, served)
                sawStable(served)
            }
            caller(result.map { _ in })
        }
        exchange.run({ connector.dispatcher.submit($0) }, answered)
        return exchange
    }

    /// A token comes without the writes that it names: they are part of every snapshot once stable time has passed
    /// them.
    private func closeGap(_ caller: @escaping Caller<Void>) -> (any Cancellable)? {
        // Stable at the node of the connection is enough for what this session reads itself.
        if tokenHwt <= (can("stable-snapshots") ? ust : stableUpTo) {
            caller(.success(()))
            return nil
        }
        return stable(tokenHwt, timeoutMs: settings.requestTimeoutMs) { result in
            guard case .failure(let error as IsochronError) = result, error.code == .stableTimeout else {
                return caller(result)
            }
            let message = "what the session of the token wrote is not visible everywhere yet"
            caller(.failure(IsochronError(.sessionGap, message, cause: error)))
        }
    }

    /// What became of a transaction, of this session or of any other.
    func transactionStatus(
        _ txId: TxId, _ sentAfter: Timestamp?, _ caller: @escaping Caller<TransactionStatus>
    ) throws -> any Cancellable {
        guard can("transactions") else {
            let instead = "a write that is repeated under its id says so itself"
            throw unsupported("cannot be asked what became of a write: \(instead)")
        }
        let exchange = TxStatusExchange(txId, sentAfter)
        let answered: Caller<TransactionStatus> = { [self] result in
            caller(
                result.map { status in
                    // This client still repeats it: an attempt that was aborted, or has not arrived, is not the last
                    // one.
                    let undecided = status.state != .committed && queue.isUnderWay(txId)
                    return undecided ? TransactionStatus(state: .pending, timestamp: nil) : status
                })
        }
        exchange.run({ connector.dispatcher.submitTimed($0) }, answered)
        return exchange
    }

    /// Goes on without the write whose outcome is not known, as another session; returns its id.
    func detach() throws -> TxId? {
        try queue.detach { try engine.detach(in: connector.current?.region, id: settings.newId()) }
    }

    /// Gives everything up. `done` is called once the sockets are closed.
    func close(_ done: @escaping @SessionActor () -> Void) {
        // First those that wait, or each would move up only to be refused.
        queue.close()
        connector.close(done)
        changed()
    }

    /// The driver has the sessions of a protocol, or there are none.
    func loaded(_ name: String, _ kind: Result<SessionKind, IsochronError>) {
        for done in loading.removeValue(forKey: name) ?? [] { done(kind) }
    }

    private func sawStable(_ ust: Timestamp) {
        stableUpTo = max(stableUpTo, ust)
        begun?.stable(ust)
    }

    private var state: ClientStatus.State {
        if connector.isClosed { return .closed }
        if connector.current != nil { return .online }
        return begun == nil ? .connecting : .offline
    }
}

extension ClientCore: ConnectorEvents {
    /// Ends with NOT_SUPPORTED_BY_PROTOCOL for a protocol that this client does not speak, TOKEN_INVALID for a session
    /// of another protocol.
    func prepare(_ welcome: Welcome, _ done: @escaping @SessionActor (IsochronError?) -> Void) {
        let name = welcome.protocol
        if begun != nil { return done(misfit(name)) }
        if let imported, !isSameText(imported.protocolName, name) {
            let why = "it is of the protocol \(imported.protocolName), the cluster runs \(name)"
            return done(.invalidSession(why))
        }
        let isFirst = loading[name] == nil
        loading[name, default: []].append { [self] kind in done(begin(kind, welcome)) }
        if isFirst { loop.out?.load(name) }
    }

    /// Begins with the first endpoint whose protocol is there. Returns why the client cannot be used with this one.
    private func begin(_ kind: Result<SessionKind, IsochronError>, _ welcome: Welcome) -> IsochronError? {
        do {
            if begun == nil {
                begun = try openEngine(try kind.get(), welcome, imported, newId: settings.newId)
                protocolName = welcome.protocol
            }
            return misfit(welcome.protocol)
        } catch {
            return .of(error)
        }
    }

    /// A node has reported how far it is. Where no other report follows, the local clock says when that is stale.
    private func fresh(_ freshness: Freshness) {
        clock.take(freshness, loop.nowMs)
        loop.cancel(alert)
        let leftMs = alertMs - Double(freshness.stalenessMs) + 1
        staleMs = loop.nowMs + leftMs
        alert = loop.after(leftMs) { [weak self] in self?.changed() }
    }

    private func misfit(_ name: String) -> IsochronError? {
        protocolName == name ? nil : .lost("the endpoint runs another protocol, \(name)")
    }

    func welcomed(_ welcome: Welcome) {
        capabilities = welcome.capabilities
        limits.set(welcome.limits)
        currentToken = welcome.token
        tokenHwt = welcome.hwt
        alertMs = welcome.stalenessAlertMs.map(Double.init) ?? alertMs
        fresh(welcome.freshness)
        begun?.welcomed(welcome)
        sawStable(welcome.stable ?? 0)
        loop.out?.touched(written: false)
    }

    func token(_ token: String) {
        if token == currentToken { return }
        currentToken = token
        loop.out?.touched(written: false)
    }

    func ust(_ frame: UstFrame) {
        fresh(frame.freshness)
        sawStable(frame.ust)
        changed()
    }
}

/// How the client is doing, with times in ms.
struct CoreStatus: Sendable {
    let state: ClientStatus.State
    let region: RegionId?
    let node: String?
    let rttMs: Double?
    let ust: Timestamp
    let stalenessMs: Double?
    let stale: Bool
    let heldBackBy: HeldBack?
    let unresponsive: [String]
    let pendingCommits: Int
    let oldestPendingCommitMs: Double?
}

/// A call of `connect`: the choice of a node, then the wait for the session's writes.
@SessionActor
private final class Connecting: Cancellable {
    var current: (any Cancellable)?

    func cancel(_ reason: any Error) {
        current?.cancel(reason)
    }
}
