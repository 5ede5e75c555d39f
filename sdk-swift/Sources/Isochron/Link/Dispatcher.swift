import IsochronSession

/// Holds requests until a connection has credits for them, packs what one turn of the program asked for into one
/// message, and repeats what was refused or lost. One timer watches all deadlines.
@SessionActor
final class Dispatcher {
    typealias MoveOn = @SessionActor (_ from: Connection, _ whereTo: Elsewhere, _ why: IsochronError) -> Void

    private static let retryBaseMs = 20.0
    private static let retryCapMs = 2000.0
    /// A connection that owes answers may be silent for this long, in all; less where requests may not take that long.
    private static let quietMs = 1500.0
    /// A timer this late says that the program was held up: what has arrived meanwhile is taken in before anything is
    /// judged late.
    private static let stallMs = 1000.0

    private let loop: Loop
    private let requestTimeoutMs: Double
    /// A connection is of no use for a request; another one may be.
    var moveOn: MoveOn = { _, _, _ in }
    /// Where new requests go.
    private(set) var connection: Connection?
    private var waiting: [Exchange] = []
    /// Refused requests that wait for their next try.
    private var resting: [Exchange] = []
    private var flushing = false
    private var sweeping: LoopTimer?
    private var sweepDueMs = 0.0
    private var stalled = false
    private var closed = false
    private var lastOnlineMs: Double
    /// Called with every sweep, while there is anything to sweep. Returns whether it wants another one.
    var onSweep: @SessionActor (_ nowMs: Double) -> Bool = { _ in false }
    /// Connections that still owe answers: the current one and those that drain.
    private var connections: [Connection] = []

    init(_ loop: Loop, requestTimeoutMs: Double) {
        self.loop = loop
        self.requestTimeoutMs = requestTimeoutMs
        lastOnlineMs = loop.nowMs
    }

    /// Since when there is no connection; nil while there is one.
    var offlineSinceMs: Double? { connection == nil ? lastOnlineMs : nil }

    /// Takes a request. It leaves with all others of this turn.
    func submit(_ exchange: Exchange) {
        if closed { return exchange.closed() }
        waiting.append(exchange)
        schedule()
        watch()
    }

    /// As `submit`, under the usual deadline.
    func submitTimed(_ exchange: Exchange) {
        exchange.deadlineMs = loop.nowMs + requestTimeoutMs
        submit(exchange)
    }

    /// New requests go here.
    func attach(_ connection: Connection) {
        self.connection = connection
        if !connections.contains(where: { $0 === connection }) { connections.append(connection) }
        flush()
    }

    /// New requests wait for another connection; this one may still answer what it has.
    func detach(_ connection: Connection) {
        guard self.connection === connection else { return }
        self.connection = nil
        lastOnlineMs = loop.nowMs
    }

    /// The connection is gone: what it owed is asked again, in the old order, before anything younger.
    func lost(_ connection: Connection, _ error: IsochronError, _ exchanges: [Exchange]) {
        detach(connection)
        connections.removeAll { $0 === connection }
        let again = exchanges.filter { survives($0, error, connection) }
        waiting = again + waiting
        schedule()
    }

    /// A request was refused: repeat it after a pause, or let it fail.
    func refused(_ exchange: Exchange, _ error: IsochronError, on connection: Connection) {
        if exchange.settled { return }
        guard let retry = exchange.refused(error, on: connection) else { return exchange.failed(error) }
        if retry.elsewhere != .nowhere, connection === self.connection { moveOn(connection, retry.elsewhere, error) }
        resting.append(exchange)
        guard let refusals = retry.refusals else { return }
        let pauseMs = fullJitterMs(loop.random, attempt: refusals, baseMs: Self.retryBaseMs, capMs: Self.retryCapMs)
        loop.after(pauseMs) { [weak self] in self?.resume(exchange) }
    }

    /// Repeats a refused request now, unless it has been repeated since.
    func resume(_ exchange: Exchange) {
        guard let at = resting.firstIndex(where: { $0 === exchange }) else { return }
        resting.remove(at: at)
        if !exchange.settled { submit(exchange) }
    }

    /// The cluster refuses this client as such: waiting is of no use.
    func refuseWaiting(_ error: IsochronError) {
        let those = waiting
        waiting = []
        // One that fails may make room for the next one, which is submitted meanwhile.
        let left = those.filter { !$0.settled && !$0.clientRefused(error) }
        waiting = left + waiting
    }

    /// Keeps an eye on deadlines from now on.
    func watch() {
        if sweeping != nil || closed { return }
        let intervalMs = max(5, min(250, requestTimeoutMs / 8))
        sweepDueMs = loop.nowMs + intervalMs
        sweeping = loop.after(intervalMs) { [weak self] in self?.sweep() }
    }

    /// Sends as much as the credits allow.
    func flush() {
        flushing = false
        guard let connection, !waiting.isEmpty else { return }
        let batch = take(for: connection)
        if !batch.isEmpty { connection.send(batch) }
    }

    func close() {
        closed = true
        let open = all
        resting = []
        waiting = []
        for exchange in open where !exchange.settled { exchange.closed() }
    }

    private func survives(_ exchange: Exchange, _ error: IsochronError, _ connection: Connection) -> Bool {
        if exchange.settled { return false }
        // A message that one side cannot read may come again for the same request: that must end some time.
        let unreadable = IsochronError(.frameInvalid, error.message, retryable: true, cause: error)
        if exchange.repeats, error.code != .frameInvalid || exchange.refused(unreadable, on: connection) != nil {
            return true
        }
        exchange.failed(error)
        return false
    }

    private func take(for connection: Connection) -> [Exchange] {
        var batch: [Exchange] = []
        var free = connection.free
        var taken = 0
        while taken < waiting.count, free > 0 {
            let exchange = waiting[taken]
            if !exchange.settled {
                if let prelude = exchange.prelude(on: connection) {
                    batch.append(prelude)
                    free -= 1
                    if free == 0 { break }
                }
                batch.append(exchange)
                free -= 1
            }
            taken += 1
        }
        waiting.removeFirst(taken)
        return batch
    }

    /// Once for all requests of this turn.
    private func schedule() {
        if flushing { return }
        flushing = true
        loop.atTurnsEnd { [weak self] in self?.flush() }
    }

    /// Everything that has not ended.
    private var all: [Exchange] {
        connections.flatMap(\.inFlight) + resting + waiting
    }

    private func sweep() {
        sweeping = nil
        let now = loop.nowMs
        stalled = !stalled && now - sweepDueMs > Self.stallMs
        if stalled { return watch() }
        let quietMs = min(Self.quietMs, requestTimeoutMs / 3)
        for connection in connections { connection.checkQuiet(now, quietMs) }
        var busy = false
        for exchange in all where !exchange.settled {
            if exchange.deadlineMs > now || !exchange.expired(isOffline: connection == nil) { busy = true }
        }
        waiting.removeAll(where: \.settled)
        if onSweep(now) || busy { watch() }
    }
}
