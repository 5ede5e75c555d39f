import IsochronSession

/// A snapshot to read from, by the number that its driver chose.
typealias HandleId = Int

/// A socket, by the number that the machine chose.
typealias SocketId = Int

/// The effects that a client requests from its driver.
@SessionActor
protocol ClientEffects: AnyObject {
    func open(_ socket: SocketId, _ url: String)
    func send(_ socket: SocketId, _ message: WebSocketMessage)
    /// `abrupt`: without the closing handshake. No effect on a closed socket.
    func close(_ socket: SocketId, abrupt: Bool)
    /// Load the sessions of a protocol; `loaded` returns them.
    func load(_ protocolName: String)
    /// New credentials are needed: `credentials` brings them. Only where they are renewed, and one request at a time.
    func authenticate()
    /// Call `timer` at this time. Only the newest request counts; infinite for no timer.
    func setTimer(_ atMs: Double)
    /// Call `turn` at the end of the program's present turn: all requests of a turn leave in one message.
    func turn()
    /// The status has changed.
    func changed()
    /// The session as data has changed: by a write, which has to be saved at once, or otherwise.
    func touched(written: Bool)
    func log(_ level: LogLevel, _ message: String)
}

/// The calls of an application.
enum Call: Sendable {
    /// Connects to the nearest endpoint.
    case connect
    /// Values in the order of the keys: from a given snapshot, or from a new one.
    case read(HandleId?, [QualifiedKey])
    /// A page of a listing.
    case list(HandleId, ListRequest)
    /// Opens a snapshot on the server, without a read.
    case open(HandleId)
    /// A write of one key.
    case write(QualifiedKey, Value?)
    /// An update of one key.
    case update(QualifiedKey, Update)
    /// Whether the `init` that a write committed made the key's document, once that is stable.
    case claimed(QualifiedKey, Committed, timeoutMs: Double)
    /// Commits the writes of a handle. The handle ends when its turn has come.
    case commit(HandleId)
    /// A page of the change feed, of the keys with a prefix.
    case changes(String, after: Timestamp?, waitMs: Double)
    /// Waits until every node of every region serves a timestamp.
    case stable(Timestamp, timeoutMs: Double)
    /// The status of a transaction.
    case status(TxId, sentAfter: Timestamp?)
    /// Gives up the deferred commits, or the order behind the commit in doubt.
    case detach
    /// Ends reads and watches, and goes on with writes for at most this time. Then it gives everything up, and waits
    /// until the sockets are closed.
    case close(flushMs: Double)
}

/// The result of a call.
enum CallOutcome: Sendable {
    case done
    case values([Value?])
    case page(ListedPage)
    case committed(Committed)
    case claimed(Claimed)
    case status(TransactionStatus)
    case changes(ChangesPage)
    /// The id of the first transaction that is given up, if any.
    case detached(TxId?)
    /// The client is closed.
    case closed(CloseReport)
}

/// A call with a waiting caller.
@SessionActor
final class PendingCall {
    /// Called once.
    let settle: Caller<CallOutcome>
    fileprivate var cancellable: (any Cancellable)?

    init(_ settle: @escaping Caller<CallOutcome>) {
        self.settle = settle
    }
}

/// All inputs of a client.
enum ClientInput {
    case call(Call, PendingCall)
    /// The caller does not wait any more: the call fails with the reason, unless it is settled already.
    case cancel(PendingCall, any Error)
    /// No further reads from a snapshot.
    case end(HandleId)
    case opened(SocketId)
    case message(SocketId, WebSocketMessage)
    case closed(SocketId, code: UInt16?, reason: String)
    /// The requested sessions of a protocol, or the reason for their absence.
    case loaded(String, Result<SessionKind, IsochronError>)
    /// The requested credentials, or the error that came instead.
    case credentials(Result<String, any Error>)
    /// The network may have changed: the client tests its connection, or without one connects at once.
    case network
    /// Observes ranges from now on.
    case watch(any LiveObserver, [LiveRange])
    case unwatch(any LiveObserver)
    case timer
    /// The requested end of a turn.
    case turn
}

/// One client of a cluster as a state machine. Inputs: calls, events of sockets, timers and ends of turns. Outputs:
/// messages, sockets to open and to close, timers, and settled calls. It does no I/O and has no clock.
///
/// Invariants: every call is settled once. A write takes effect at most once, and is repeated under its id until its
/// outcome is known. A session's writes take effect in their order. Data of a server is validated before use.
@SessionActor
final class ClientMachine {
    let loop: Loop
    /// The client between two steps, for queries.
    let core: ClientCore
    private var handles: [HandleId: SnapshotHandle] = [:]

    /// - Parameter out: the driver, which owns this object
    ///
    /// Throws INVALID_REQUEST for endpoints that are not URLs.
    init(
        _ endpoints: [String], token: String?, imported: ExportedSession?, _ settings: ClientSettings,
        _ out: any ClientEffects, random: @escaping @Sendable () -> Double, nowMs: Double
    ) throws {
        loop = Loop(nowMs: nowMs, random: random)
        loop.out = out
        core = try ClientCore(loop, endpoints, token: token, imported: imported, settings)
    }

    /// The snapshot of a handle, with its transaction. Throws TRANSACTION_FINISHED.
    func handle(_ id: HandleId) throws -> SnapshotHandle {
        guard let handle = handles[id] else {
            throw IsochronError(.transactionFinished, "it has ended, or never began")
        }
        return handle
    }

    /// A new snapshot to read from, under this number. With `at` exactly that one, without own writes above it.
    ///
    /// Throws NOT_SUPPORTED_BY_PROTOCOL where the protocol has no transactions.
    @discardableResult
    func begin(_ id: HandleId, _ mode: SnapshotHandle.Mode, at: Timestamp?, nowMs: Double) throws -> SnapshotHandle {
        if loop.begin(nowMs) { core.woke() }
        defer { rest() }
        let handle = SnapshotHandle(core, try core.transactions, mode, at: at)
        handles[id] = handle
        return handle
    }

    func step(_ input: ClientInput, nowMs: Double) {
        if loop.begin(nowMs) { core.woke() }
        switch input {
        case .call(let call, let caller):
            do {
                caller.cancellable = try begin(call, caller)
            } catch {
                caller.settle(.failure(IsochronError.of(error)))
            }
        case .cancel(let caller, let reason): caller.cancellable?.cancel(reason)
        case .end(let id): handles.removeValue(forKey: id)?.end()
        case .opened(let socket): loop.socket(socket)?.opened()
        case .message(let socket, let message): loop.socket(socket)?.received(message)
        case .closed(let socket, let code, let reason): loop.closed(socket, code, reason)
        case .loaded(let name, let kind): core.loaded(name, kind)
        case .credentials(let answer): core.connector.renewal?.took(answer)
        case .network: core.connector.networkChanged()
        case .watch(let observer, let ranges):
            let live = core.live ?? Live(core)
            core.live = live
            live.watch(observer, ranges)
        case .unwatch(let observer): core.live?.unwatch(observer)
        case .timer: loop.wake()
        case .turn: loop.turned()
        }
        rest()
    }

    /// The end of a step.
    private func rest() {
        core.live?.flush()
        core.endFlush()
        loop.rest()
    }

    private func begin(_ call: Call, _ caller: PendingCall) throws -> (any Cancellable)? {
        let settle = caller.settle
        let done: Caller<Void> = { settle($0.map { .done }) }
        let values: Caller<[Value?]> = { settle($0.map { .values($0) }) }
        let committed: Caller<Committed> = { settle($0.map { .committed($0) }) }
        switch call {
        case .connect: return core.connect(done)
        case .read(let id?, let keys): return try handle(id).read(keys, values)
        case .read(nil, let keys): return try core.engine.read(keys, for: core, values)
        case .list(let id, let request):
            return try handle(id).mergedPage(request) { settle($0.map { .page($0) }) }
        case .open(let id): return try handle(id).open(done)
        case .write(let key, let value): return try core.engine.write(key, Content(value), for: core, committed)
        case .update(let key, let update):
            if !core.can("updates") { throw IsochronError.noUpdates }
            return try core.engine.write(key, .update(update), for: core, committed)
        case .claimed(let key, let commit, let timeoutMs):
            return core.claimed(key, commit, timeoutMs: timeoutMs) { settle($0.map { .claimed($0) }) }
        case .commit(let id): return try commit(id, committed)
        case .changes(let scope, let after, let waitMs):
            return try core.changes(scope, after: after, waitMs: waitMs) { settle($0.map { .changes($0) }) }
        case .stable(let timestamp, let timeoutMs):
            return core.stable(timestamp, timeoutMs: timeoutMs) { settle($0.map { _ in .done }) }
        case .status(let txId, let sentAfter):
            return try core.transactionStatus(txId, sentAfter) { settle($0.map { .status($0) }) }
        case .detach: settle(.success(.detached(try core.detach())))
        case .close(let flushMs): core.close(flushMs: flushMs) { settle(.success(.closed($0))) }
        }
        return nil
    }

    private func commit(_ id: HandleId, _ caller: @escaping Caller<Committed>) throws -> (any Cancellable)? {
        let handle = try handle(id)
        handles[id] = nil
        let begin: @SessionActor (Transactions) -> SessionTransaction = { _ in
            handle.handOver()
            return handle.tx
        }
        return try core.commit(handle, handle.tx.writes, begin, caller)
    }
}
