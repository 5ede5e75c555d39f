import IsochronSession

/// The state that all parts of one client share: session, connection, commits, limits, status.
@SessionActor
final class ClientCore {
    let loop: Loop
    let settings: ClientSettings
    /// The cluster's limits, readable from anywhere.
    nonisolated let limits = Locked(Limits.standard)
    /// Whether the cluster's protocol has updates and claims, readable from anywhere.
    nonisolated let hasUpdates = Locked(false)
    let connector: Connector
    /// Orders the session's writes; under protocols of single operations, all operations.
    private(set) lazy var queue = CommitQueue(
        loop, requestTimeoutMs: settings.requestTimeoutMs, connector.dispatcher, recommits,
        chains: { [weak self] in self?.can("chained-commits") ?? false },
        changed: { [weak self] in self?.changed() })
    /// Commits again what maps have deferred.
    private(set) lazy var recommits = Recommits(self)
    /// Live queries, from the first one on.
    var live: Live?
    private(set) var clock = ServerClock()
    /// Name of the cluster's protocol.
    private(set) var protocolName = ""
    /// The cluster's capabilities, from the newest welcome.
    private var capabilities: Set<String> = []
    /// The cluster's `stalenessAlertMs`.
    private var alertMs = Double.infinity
    /// Steady time at which stable time will be that old, unless a node reports before.
    private var staleMs = Double.infinity
    private var alert: LoopTimer?
    /// The session's newest token. While an older connection still answers, it may lack the latest answers of one of
    /// the two for a round trip.
    private(set) var currentToken: String?
    private var begun: (any Engine)?
    /// Connections that wait for the sessions of their protocol.
    private var loading: [String: [@SessionActor (Result<SessionKind, IsochronError>) -> Void]] = [:]
    /// Every region has everything up to this timestamp.
    private var stableUpTo: Timestamp = 0
    /// Every node of every region serves everything up to this timestamp, by a node's answer: a timestamp that is
    /// stable at one node may not be served yet.
    private var servedUpTo: Timestamp = 0
    private let imported: ExportedSession?
    /// Commit timestamp of the session's last write, from its token, unless it is known to be visible everywhere.
    private var tokenHwt: Timestamp = 0
    /// A map may have deferred that write.
    private var isCut = false
    private var hasNews = false
    /// Those who wait until the client has closed; nil before the first one.
    private var closing: [@SessionActor (CloseReport) -> Void]?
    private var flushedBy = Double.infinity
    private var report: CloseReport?

    /// Throws INVALID_REQUEST for endpoints that are not URLs.
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

    /// Exists from the first welcome on.
    var engine: any Engine {
        get throws {
            guard let begun else { throw IsochronError.lost("no node has answered yet") }
            return begun
        }
    }

    /// The engine of transactions. Throws NOT_SUPPORTED_BY_PROTOCOL under other protocols.
    var transactions: Transactions {
        get throws {
            if let transactions = try engine as? Transactions { return transactions }
            let instead = "get, set and delete keys, one or a few at a time"
            throw unsupported("has no transactions, snapshots and listings: \(instead)")
        }
    }

    /// The commits of the session, where it judges them by cuts (M10).
    var own: OwnCommits? {
        can("stable-snapshots") ? (begun as? Transactions)?.session.own : nil
    }

    /// Whether some of these commits are deferred.
    var isBehind: Bool { own?.deferred != nil }

    /// Whether the cluster's protocol has a capability, by its name in `welcome`.
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
            pendingCommits: queue.writes, deferredCommits: own?.deferredCount ?? 0,
            oldestPendingCommitMs: queue.oldestWriteMs(nowMs - loop.stalledMs))
    }

    /// The status has changed: informs the driver once for all changes of a turn.
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

    /// Connects, and waits until the session of a token sees the writes of that token.
    func connect(_ caller: @escaping Caller<Void>) -> any Cancellable {
        let connecting = Connecting()
        let started: Caller<Void> = { [self] result in
            switch result {
            case .success where imported == nil: connecting.current = closeGap(caller)
            default: caller(result)
            }
        }
        connecting.current = connector.renewal?.start(started) ?? connector.start(started)
        return connecting
    }

    /// Resolves once every new session of every region sees the writes at `timestamp`: with the timestamp of the last
    /// write, which has changed if the write was deferred since.
    func stable(
        _ timestamp: Timestamp, timeoutMs: Double, _ caller: @escaping Caller<Timestamp>
    ) -> (any Cancellable)? {
        if let final = finalTimestamp(of: timestamp), final <= servedUpTo {
            caller(.success(final))
            return nil
        }
        let exchange = StableExchange(
            loop, timestamp, { [self] in finalTimestamp(of: timestamp) }, timeoutMs: timeoutMs,
            requestTimeoutMs: settings.requestTimeoutMs)
        let answered: Caller<Timestamp> = { [self] result in
            let final = finalTimestamp(of: timestamp) ?? timestamp
            if case .success(let served) = result {
                servedUpTo = max(servedUpTo, served)
                sawStable(served)
            }
            caller(result.map { _ in final })
        }
        exchange.run({ connector.dispatcher.submit($0) }, answered)
        return exchange
    }

    /// Nil while a write up to there is deferred.
    private func finalTimestamp(of timestamp: Timestamp) -> Timestamp? {
        guard let own else { return timestamp }
        return own.final(of: timestamp)
    }

    /// A token names writes that it does not hold: every snapshot contains them once stable time has passed them.
    private func closeGap(_ caller: @escaping Caller<Void>) -> (any Cancellable)? {
        let end: () -> Void = { [weak self] in
            let message = "what the session of the token wrote last may wait for a node that was suspended"
            let isCut = self?.isCut ?? false
            caller(isCut ? .failure(IsochronError(.sessionDeferred, message)) : .success(()))
        }
        // For this session's own reads, stability at the node of the connection is enough.
        if isCut || tokenHwt <= (can("stable-snapshots") ? ust : stableUpTo) {
            end()
            return nil
        }
        return stable(tokenHwt, timeoutMs: settings.requestTimeoutMs) { result in
            guard case .failure(let cause) = result else { return end() }
            guard let error = cause as? IsochronError, error.code == .stableTimeout else {
                return caller(.failure(cause))
            }
            let message = "what the session of the token wrote is not visible everywhere yet"
            caller(.failure(IsochronError(.sessionGap, message, cause: error)))
        }
    }

    /// The status of a transaction of this session or of any other.
    func transactionStatus(
        _ txId: TxId, _ sentAfter: Timestamp?, _ caller: @escaping Caller<TransactionStatus>
    ) throws -> any Cancellable {
        guard can("transactions") else {
            let instead = "repeat the write under its id"
            throw unsupported("cannot report the outcome of a write: \(instead)")
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

    /// Continues without the deferred writes, or as another session without the write whose outcome is not known.
    /// Returns the id of the first such write.
    func detach() throws -> TxId? {
        if let deferred = try recommits.drop() {
            queue.resume()
            return deferred
        }
        return try queue.detach { try engine.detach(in: connector.current?.region, id: settings.newId()) }
    }

    /// The program stood still, as in a sleeping machine: the network may have changed, and ages have grown.
    func woke() {
        connector.dispatcher.woke()
        connector.networkChanged()
        changed()
    }

    /// Ends everything but writes, and these after `flushMs`. A later call may end them earlier.
    func close(flushMs: Double, _ done: @escaping @SessionActor (CloseReport) -> Void) {
        if closing == nil {
            live?.close()
            queue.drain()
            connector.dispatcher.drain()
        }
        closing = (closing ?? []) + [done]
        let endMs = loop.nowMs + flushMs
        if endMs < flushedBy {
            flushedBy = endMs
            loop.after(flushMs) { [weak self] in self?.endFlush() }
        }
        changed()
    }

    /// Whether no calls are taken any more.
    var isClosing: Bool { closing != nil }

    /// Gives everything up if the client is closing, once no write is left or their time is over.
    func endFlush() {
        guard let done = closing, !done.isEmpty, queue.isEmpty || loop.nowMs >= flushedBy else { return }
        closing = []
        // First the waiting ones, or each would move up only to be refused.
        let report = self.report ?? queue.close()
        self.report = report
        connector.close { for resolve in done { resolve(report) } }
        changed()
    }

    /// The driver has loaded the sessions of a protocol, or has failed to.
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
    /// Ends with NOT_SUPPORTED_BY_PROTOCOL for a protocol that this client does not know, TOKEN_INVALID for a session
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

    /// Begins with the first endpoint whose protocol is loaded. Returns the reason if the client cannot use it.
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

    /// A node has reported its freshness. Without further reports, the local clock decides when that is stale.
    private func fresh(_ freshness: Freshness) {
        clock.take(freshness, loop.steadyMs)
        loop.cancel(alert)
        let leftMs = alertMs - Double(freshness.stalenessMs) + 1
        staleMs = loop.steadyMs + leftMs
        alert = loop.after(leftMs) { [weak self] in self?.changed() }
    }

    /// Maps have suspended nodes: some of the session's commits may be deferred (M10).
    private func cut(_ cuts: [SessionCut], defers: Bool) {
        isCut = isCut || cuts.contains { tokenHwt > $0.horizon }
        guard own != nil, let transactions = try? transactions else { return }
        var defers = defers
        for cut in cuts where transactions.session.own.take(cut) { defers = true }
        if !defers { return }
        loop.out?.touched(written: false)
        recommits.next()
    }

    private func misfit(_ name: String) -> IsochronError? {
        protocolName == name ? nil : .lost("the endpoint runs another protocol, \(name)")
    }

    func welcomed(_ welcome: Welcome) {
        capabilities = Set(welcome.capabilities)
        limits.set(welcome.limits)
        hasUpdates.set(can("updates"))
        currentToken = welcome.token
        tokenHwt = welcome.hwt
        alertMs = welcome.stalenessAlertMs.map(Double.init) ?? alertMs
        fresh(welcome.freshness)
        // An imported session may have deferred commits.
        cut(welcome.cuts, defers: isBehind)
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
        cut(frame.cuts, defers: false)
        sawStable(frame.ust)
        changed()
    }
}

/// The client's status, with times in ms.
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
    let deferredCommits: Int
    let oldestPendingCommitMs: Double?
}

/// A `connect` call: the choice of a node, then the wait for the session's writes.
@SessionActor
private final class Connecting: Cancellable {
    var current: (any Cancellable)?

    func cancel(_ reason: any Error) {
        current?.cancel(reason)
    }
}
