import IsochronSession

/// One snapshot to read from: of a one-shot read, of a transaction, of `client.snapshot()`. It opens itself with its
/// first read, in the same message, and again on every new connection: a snapshot is a number.
@SessionActor
final class SnapshotHandle {
    /// `oneShot` never opens a transaction on the server. `transaction` ends with TRANSACTION_EXPIRED after the
    /// server's limit; `snapshot` opens again instead, at the same snapshot.
    enum Mode {
        case oneShot
        case transaction
        case snapshot
    }

    let core: ClientCore
    let transactions: Transactions
    private let mode: Mode
    var tx: SessionTransaction
    /// The requested snapshot: nil at first, then the assigned one.
    private(set) var at: Snapshot?
    /// The server's id of the open transaction. Each opening has a new one, so that an old opening is never used.
    private var wireId: TxId
    private var openOn: Connection?
    /// The previous opening, which ends once the present one exists.
    private var previousId: TxId?
    /// Time of the next opening.
    private var renewal: LoopTimer?
    /// Whether its start has not been answered yet.
    private(set) var isStarting = false
    private var startError: IsochronError?
    private var hasEnded = false

    /// - Parameter at: reads exactly this snapshot, without the session's own newer writes
    init(_ core: ClientCore, _ transactions: Transactions, _ mode: Mode, at: Timestamp? = nil) {
        self.core = core
        self.transactions = transactions
        self.mode = mode
        let asked = at.map { Snapshot(ts: $0) }
        let past = asked.map { SessionTransaction(id: transactions.session.nextTxId(), seen: $0) }
        let tx = past ?? transactions.session.begin()
        // Deferred commits lie above what the session has seen, and nothing that it sees is newer (M10).
        self.at = asked ?? (transactions.session.isBehind ? transactions.session.seen : nil)
        self.tx = tx
        wireId = tx.id
    }

    /// A read looks up own writes: those that were deferred may have other timestamps by now.
    func refresh() {
        transactions.session.refresh(&tx)
    }

    /// Timestamp of the snapshot, or its lower bound.
    var timestamp: Timestamp { tx.snapshot ?? tx.floor }

    /// Whether the server has this transaction open on this connection.
    func isOpen(on connection: Connection) -> Bool {
        openOn === connection && wireId == tx.id
    }

    /// Fields of a read on this connection.
    func fields(on connection: Connection) -> (tx: TxId?, at: Snapshot?) {
        mode != .oneShot && openOn === connection ? (wireId, nil) : (nil, at)
    }

    /// The start that has to precede a read on this connection.
    func prelude(on connection: Connection) -> Exchange? {
        if mode == .oneShot || openOn === connection { return nil }
        // `started` and `startRefused` handle its result. Other reads of the same message need no start of their own.
        return StartExchange(self, leadsAs: opening(on: connection))
    }

    /// Opens it on the server and learns its timestamp, without a read.
    func open(_ caller: @escaping Caller<Void>) -> any Cancellable {
        let exchange = StartExchange(self)
        exchange.run({ core.connector.dispatcher.submitTimed($0) }, caller)
        return exchange
    }

    /// It is being opened on this connection, under the returned id.
    fileprivate func opening(on connection: Connection) -> TxId {
        if openOn === connection { previousId = wireId }
        if openOn != nil { renew() }
        openOn = connection
        isStarting = true
        startError = nil
        return wireId
    }

    /// Takes the snapshot of an answer. Throws a retryable error if it is not the one that the session needs.
    func accept(_ snapshot: Snapshot) throws {
        if snapshot.ts < tx.floor {
            // The node lags behind the session. Asked for exactly the session's snapshot, it waits for it or refuses.
            at = at ?? tx.seen
            throw misses(snapshot)
        }
        // It was under way when the session learned that commits are deferred.
        let session = transactions.session
        if at == nil, session.isBehind, snapshot.ts > session.ust {
            at = session.seen
            throw misses(snapshot)
        }
        // A read that was sent without a known snapshot while another connection assigned one.
        if let at, !snapshot.isAsked(by: at) { throw misses(snapshot) }
        if core.can("snapshots") { at = snapshot }
        if tx.snapshot == nil, !hasEnded { try transactions.session.started(&tx, snapshot) }
    }

    fileprivate func started(_ snapshot: Snapshot, _ id: TxId) throws {
        if id != wireId { return }
        isStarting = false
        abort(previousId)
        previousId = nil
        try accept(snapshot)
        if mode == .snapshot, renewal == nil, !hasEnded { holdOpen() }
    }

    /// Opens it again before the server ends it, so that its versions are kept while nothing reads them.
    private func holdOpen() {
        let leaseMs = core.connector.current.map { Double($0.welcome.maxTransactionMs) } ?? .infinity
        renewal = core.loop.after(leaseMs / 2) { [weak self] in
            guard let self else { return }
            holdOpen()
            _ = open { _ in }
        }
    }

    fileprivate func startRefused(_ error: IsochronError, _ id: TxId) {
        if id != wireId { return }
        startError = error
        reopen()
    }

    /// The next read opens it again.
    private func reopen() {
        if openOn != nil { renew() }
        openOn = nil
        isStarting = false
    }

    /// The actual cause of a refused read: the refusal of the start that went with it, or a transaction that the server
    /// has lost.
    func meaning(of error: IsochronError, sentAs id: TxId?) -> IsochronError? {
        let resumable = error.code == .transactionUnknown || (error.code == .transactionExpired && mode == .snapshot)
        guard resumable, let id else { return nil }
        if let startError, !startError.retryable { return startError }
        let cause = startError ?? error
        if id == wireId, !isStarting { reopen() }
        return IsochronError(cause.code, cause.message, retryable: true, cause: cause)
    }

    /// Ends it, here and on the server.
    func end() {
        if hasEnded { return }
        hasEnded = true
        core.loop.cancel(renewal)
        transactions.session.end(tx)
        release()
    }

    /// A commit takes over the session's part; a transaction that the server still holds under another id is released.
    func handOver() {
        hasEnded = true
    }

    /// Releases the transaction on the server.
    func release() {
        let dispatcher = core.connector.dispatcher
        guard let openOn, openOn === dispatcher.connection else { return }
        self.openOn = nil
        abort(wireId)
        abort(previousId)
    }

    /// If it does not arrive, the server ends the transaction by its expiry.
    private func abort(_ id: TxId?) {
        guard let id else { return }
        let (loop, dispatcher) = (core.loop, core.connector.dispatcher)
        let ended: @SessionActor (Result<Void, any Error>) -> Void = { result in
            if case .failure = result { loop.debug("an abort was not delivered") }
        }
        AbortExchange(id).run({ dispatcher.submitTimed($0) }, ended)
    }

    private func misses(_ snapshot: Snapshot) -> IsochronError {
        reopen()
        let needed = at.map { "\($0.ts)" } ?? "another one"
        let message = "the node answered from the snapshot \(snapshot.ts), the session needs \(needed)"
        return IsochronError(.snapshotUnavailable, message)
    }

    private func renew() {
        wireId = transactions.session.nextTxId()
    }
}

extension Snapshot {
    /// Whether it is the requested one: by all its entries, or by its timestamp alone.
    fileprivate func isAsked(by at: Snapshot) -> Bool {
        guard ts == at.ts else { return false }
        guard let wanted = at.deps else { return true }
        guard let deps else { return wanted.isEmpty }
        return wanted.count <= deps.count && zip(wanted, deps).allSatisfy { $0 == $1 }
    }
}

/// Opens a transaction on the server.
private final class StartExchange: AwaitedExchange<Void> {
    private let handle: SnapshotHandle
    private let leadsAs: TxId?
    private var wireId: TxId = ""

    /// - Parameter leadsAs: its id if a read follows, which brings another start along should this one fail
    init(_ handle: SnapshotHandle, leadsAs: TxId? = nil) {
        self.handle = handle
        self.leadsAs = leadsAs
    }

    override var repeats: Bool { leadsAs == nil }

    override func request(on connection: Connection) -> Request {
        wireId = leadsAs ?? handle.opening(on: connection)
        return .start(tx: wireId, at: handle.at)
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .started(let snapshot) = answer.body else { throw unexpected(answer) }
        try handle.started(snapshot, wireId)
        done(())
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        handle.startRefused(error, wireId)
        return repeats ? super.refused(error, on: connection) : nil
    }
}
