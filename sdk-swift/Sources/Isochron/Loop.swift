/// The user of a socket.
@SessionActor
protocol SocketListener: AnyObject {
    func opened()
    func received(_ message: WebSocketMessage)
    /// The socket is closed, by either side. No further event follows.
    func closed(_ code: UInt16?, _ reason: String)
    /// Close the socket.
    func close()
}

/// A timer that has been set.
@SessionActor
final class LoopTimer {
    let atMs: Double
    let run: @SessionActor () -> Void

    init(_ atMs: Double, _ run: @escaping @SessionActor () -> Void) {
        self.atMs = atMs
        self.run = run
    }
}

/// The services of the driver to the parts of one client: time, timers, randomness, sockets, and ends of turns.
@SessionActor
final class Loop {
    /// A timer this late, without any step meanwhile, shows that the program stood still, as in a sleeping machine.
    private static let stallMs = 1000.0

    /// The clock of time limits in this step, ms: the driver's steady clock without the time of stalls.
    private(set) var nowMs: Double
    /// Length of all stalls: times during which the program stood still, ms.
    private(set) var stalledMs = 0.0
    private var lastStepMs: Double
    /// No timer has come in time since a stall: a second one is a platform that slows down timers.
    private var wasStalled = false
    /// How late a timer is that comes in this step, ms.
    private var lateMs = 0.0
    /// Uniform in `0 ..< 1`.
    let random: @Sendable () -> Double
    /// The driver, which owns this object.
    weak var out: (any ClientEffects)?
    /// The last timer is the next to run.
    private var timers: [LoopTimer] = []
    private var wakesAtMs = Double.infinity
    private var sockets: [SocketId: any SocketListener] = [:]
    private var lastSocket: SocketId = 0
    private var turn: [@SessionActor () -> Void] = []
    private var onAllClosed: @SessionActor () -> Void = {}

    init(nowMs: Double, random: @escaping @Sendable () -> Double) {
        self.nowMs = nowMs
        lastStepMs = nowMs
        self.random = random
    }

    /// The driver's steady clock in this step, ms: for ages and expiries, which go on during a stall.
    var steadyMs: Double { nowMs + stalledMs }

    /// A step begins. Returns whether the program stood still before it: no time limit counts that time, since neither
    /// an answer nor a repetition could be processed.
    func begin(_ steadyMs: Double) -> Bool {
        let now = steadyMs - stalledMs
        lateMs = now - wakesAtMs
        let idleMs = min(lateMs, now - lastStepMs)
        let isStall = idleMs > Self.stallMs && !wasStalled
        if isStall {
            stalledMs += idleMs
            wasStalled = true
        }
        nowMs = steadyMs - stalledMs
        lastStepMs = nowMs
        return isStall
    }

    @discardableResult
    func after(_ ms: Double, _ run: @escaping @SessionActor () -> Void) -> LoopTimer {
        let timer = LoopTimer(nowMs + ms, run)
        var at = timers.count
        while at > 0, timers[at - 1].atMs <= timer.atMs { at -= 1 }
        timers.insert(timer, at: at)
        return timer
    }

    func cancel(_ timer: LoopTimer?) {
        if let timer { timers.removeAll { $0 === timer } }
    }

    /// Runs a function at the end of the driver's turn, together with all others of this turn.
    func atTurnsEnd(_ run: @escaping @SessionActor () -> Void) {
        turn.append(run)
        if turn.count == 1 { out?.turn() }
    }

    /// The turn is over.
    func turned() {
        let those = turn
        turn = []
        for run in those { run() }
    }

    /// Runs the timers whose time has come.
    func wake() {
        // A message is no sign for timers: it comes in time where they are slowed down.
        if lateMs <= Self.stallMs { wasStalled = false }
        wakesAtMs = .infinity
        while let next = timers.last, next.atMs <= nowMs {
            timers.removeLast()
            next.run()
        }
    }

    /// At the end of a step: requests the next timer, if it comes before the requested one, or none is requested.
    func rest() {
        let next = timers.last?.atMs ?? .infinity
        // A cancelled timer may still wake the machine; without any timer no wake-up is requested.
        if next >= wakesAtMs, next.isFinite || next == wakesAtMs { return }
        wakesAtMs = next
        out?.setTimer(next + stalledMs)
    }

    func open(_ url: String, _ listener: any SocketListener) -> SocketId {
        lastSocket += 1
        sockets[lastSocket] = listener
        out?.open(lastSocket, url)
        return lastSocket
    }

    func socket(_ id: SocketId) -> (any SocketListener)? {
        sockets[id]
    }

    /// A socket is closed.
    func closed(_ id: SocketId, _ code: UInt16?, _ reason: String) {
        let listener = sockets.removeValue(forKey: id)
        listener?.closed(code, reason)
        if sockets.isEmpty { onAllClosed() }
    }

    /// Closes all sockets and gives up all timers. `done` is called once they are closed, or cut off after `waitMs`.
    func closeAll(waitMs: Double, _ done: @escaping @SessionActor () -> Void) {
        timers = []
        for (_, listener) in inOrder { listener.close() }
        onAllClosed = { [weak self] in
            self?.timers = []
            self?.sockets = [:]
            self?.onAllClosed = {}
            done()
        }
        if sockets.isEmpty { return onAllClosed() }
        after(waitMs) { [weak self] in
            guard let self else { return }
            for (id, _) in inOrder { out?.close(id, abrupt: true) }
            onAllClosed()
        }
    }

    func debug(_ message: @autoclosure () -> String) {
        out?.log(.debug, message())
    }

    func warn(_ message: @autoclosure () -> String) {
        out?.log(.warning, message())
    }

    private var inOrder: [(key: SocketId, value: any SocketListener)] { sockets.sorted { $0.key < $1.key } }
}
