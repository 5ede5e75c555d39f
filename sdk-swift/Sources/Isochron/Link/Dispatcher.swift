import IsochronSession

/// Holds requests until a connection has credits for them, packs the requests of one turn of the program into one
/// message, and repeats refused and lost ones. One timer watches all deadlines.
@SessionActor
final class Dispatcher {
    typealias MoveOn = @SessionActor (_ from: Connection, _ whereTo: Elsewhere, _ why: IsochronError) -> Void

    private static let retryBaseMs = 20.0
    private static let retryCapMs = 2000.0
    /// A node may ask for at most this pause.
    private static let maxRetryAfterMs = 30_000.0
    /// Longest silence of a connection that owes answers; shorter if the limit of requests is.
    private static let quietMs = 1500.0
    /// Requests have at least this long after a stall: for the messages that arrived meanwhile, or another connection.
    private static let afterStallMs = 3000.0

    private let loop: Loop
    private let requestTimeoutMs: Double
    /// A connection is of no use for a request; another one may be.
    var moveOn: MoveOn = { _, _, _ in }
    /// The connection of new requests.
    private(set) var connection: Connection?
    private var waiting: [Exchange] = []
    /// Refused requests that wait for their next attempt.
    private var resting: [Exchange] = []
    private var flushing = false
    private var sweeping: LoopTimer?
    private var closed = false
    private var isDraining = false
    private var lastOnlineMs: Double
    /// Called with every sweep while there are deadlines. Returns whether it needs another sweep.
    var onSweep: @SessionActor (_ nowMs: Double) -> Bool = { _ in false }
    /// Called when a request begins to wait for a connection.
    var onWait: @SessionActor () -> Void = {}
    /// The error of a request without an answer in time, with or without a connection.
    var late: @SessionActor (_ isOffline: Bool) -> IsochronError = { .late(isOffline: $0) }
    /// Connections that still owe answers: the current one and the draining ones.
    private var connections: [Connection] = []

    init(_ loop: Loop, requestTimeoutMs: Double) {
        self.loop = loop
        self.requestTimeoutMs = requestTimeoutMs
        lastOnlineMs = loop.nowMs
    }

    /// Start of the time without a connection; nil with a connection.
    var offlineSinceMs: Double? { connection == nil ? lastOnlineMs : nil }

    /// Accepts a request. All requests of a turn leave together.
    func submit(_ exchange: Exchange) {
        if closed || (isDraining && !exchange.isWrite) { return exchange.closed() }
        let isFirst = connection == nil && !exchange.waits && !isWaitedFor
        waiting.append(exchange)
        schedule()
        watch()
        if isFirst { onWait() }
    }

    /// Whether a request waits for a connection, beside those that wait for changes.
    var isWaitedFor: Bool {
        connection == nil && waiting.contains { !$0.settled && !$0.waits }
    }

    /// The program stood still.
    func woke() {
        let soonestMs = loop.nowMs + min(Self.afterStallMs, requestTimeoutMs)
        for exchange in all { exchange.deadlineMs = max(exchange.deadlineMs, soonestMs) }
    }

    /// Like `submit`, with the usual deadline.
    func submitTimed(_ exchange: Exchange) {
        exchange.deadlineMs = loop.nowMs + requestTimeoutMs
        submit(exchange)
    }

    /// New requests use this connection.
    func attach(_ connection: Connection) {
        self.connection = connection
        if !connections.contains(where: { $0 === connection }) { connections.append(connection) }
        flush()
    }

    /// New requests wait for another connection; this one may still answer its own.
    func detach(_ connection: Connection) {
        guard self.connection === connection else { return }
        self.connection = nil
        lastOnlineMs = loop.nowMs
    }

    /// The connection is closed: its unanswered requests are repeated, in their order, before any younger one.
    func lost(_ connection: Connection, _ error: IsochronError, _ exchanges: [Exchange]) {
        detach(connection)
        connections.removeAll { $0 === connection }
        let again = exchanges.filter { survives($0, error, connection) }
        waiting = again + waiting
        schedule()
    }

    /// A request was refused: repeats it after a pause, or lets it fail.
    func refused(_ exchange: Exchange, _ error: IsochronError, on connection: Connection) {
        if exchange.settled { return }
        guard let retry = exchange.refused(error, on: connection) else { return exchange.failed(error) }
        resting.append(exchange)
        guard let refusals = retry.refusals, error.code != .credentialsUnavailable else { return }
        if retry.elsewhere != .nowhere, connection === self.connection { moveOn(connection, retry.elsewhere, error) }
        loop.after(pauseMs(error, refusals)) { [weak self] in self?.resume(exchange) }
    }

    /// A node that names a time gives each request another one: they come back in their order, without a crowd.
    private func pauseMs(_ error: IsochronError, _ refusals: Int) -> Double {
        if let retryAfterMs = error.retryAfterMs { return min(retryAfterMs, Self.maxRetryAfterMs) }
        return fullJitterMs(loop.random, attempt: refusals, baseMs: Self.retryBaseMs, capMs: Self.retryCapMs)
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
        // A failing request may make room for the next one, which is submitted meanwhile.
        let left = those.filter { !$0.settled && !$0.clientRefused(error) }
        waiting = left + waiting
    }

    /// Watches deadlines from now on.
    func watch() {
        if sweeping != nil || closed { return }
        let intervalMs = max(5, min(250, requestTimeoutMs / 8))
        sweeping = loop.after(intervalMs) { [weak self] in self?.sweep() }
    }

    /// Sends as many requests as the credits allow.
    func flush() {
        flushing = false
        guard let connection, !waiting.isEmpty else { return }
        let batch = take(for: connection)
        if !batch.isEmpty { connection.send(batch) }
    }

    /// The client is about to close: goes on with writes only.
    func drain() {
        isDraining = true
        for exchange in all where !exchange.settled && !exchange.isWrite { exchange.closed() }
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
        // A message that one side cannot read may come again for the same request: the repetitions have to end.
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

    /// All requests that have not ended.
    private var all: [Exchange] {
        connections.flatMap(\.inFlight) + resting + waiting
    }

    private func sweep() {
        sweeping = nil
        let now = loop.nowMs
        let quietMs = min(Self.quietMs, requestTimeoutMs / 3)
        for connection in connections { connection.checkQuiet(now, quietMs) }
        var busy = false
        for exchange in all where !exchange.settled {
            let isOpen = exchange.deadlineMs > now || !exchange.expired(late(connection == nil))
            if isOpen, !exchange.waits { busy = true }
        }
        waiting.removeAll(where: \.settled)
        resting.removeAll(where: \.settled)
        if onSweep(now) || busy { watch() }
    }
}
