/// Drives the parts of a client: sockets, the timer, and the ends of turns.
@SessionActor
final class Driver: ClientEffects {
    let loop: Loop
    private let settings: Settings
    private var sockets: [SocketId: Socket] = [:]
    private var alarm: Alarm?
    private var isStepping = false

    @SessionActor
    private final class Socket {
        var connection: (any WebSocketConnection)?
        /// Why it is given up, where its own reason would not say.
        var failure: String?
    }

    init(_ settings: Settings) {
        self.settings = settings
        loop = Loop(nowMs: settings.timing.nowMs, random: settings.random)
        loop.out = self
    }

    /// Everything that enters the client from outside does so here, with the present time.
    @discardableResult
    func step<Output>(_ body: @SessionActor () throws -> Output) rethrows -> Output {
        if isStepping { return try body() }
        isStepping = true
        loop.nowMs = settings.timing.nowMs
        defer {
            isStepping = false
            loop.rest()
        }
        return try body()
    }

    func open(_ id: SocketId, _ url: String) {
        let socket = Socket()
        sockets[id] = socket
        let inbox = Inbox<WebSocketEvent> { [self] event in take(event, id, url) }
        socket.connection = settings.transport.open(url, subprotocols: [JSONCodec.subprotocol]) { inbox.put($0) }
    }

    func send(_ id: SocketId, _ message: WebSocketMessage) {
        sockets[id]?.connection?.send([message])
    }

    func close(_ id: SocketId, abrupt: Bool) {
        let connection = sockets[id]?.connection
        if abrupt { connection?.terminate() } else { connection?.close(code: 1000, reason: "") }
    }

    func setTimer(_ atMs: Double) {
        alarm?.cancel()
        alarm = nil
        if !atMs.isFinite { return }
        alarm = settings.timing.after(max(0, atMs - settings.timing.nowMs)) { [weak self] in
            guard let self else { return }
            alarm = nil
            step { loop.wake() }
        }
    }

    /// What is on its way to the actor now comes first.
    func turn() {
        Task { @SessionActor in step { loop.turned() } }
    }

    func log(_ level: LogLevel, _ message: String) {
        settings.log(level, message)
    }

    /// The events of a socket, one after the other, in their order. The socket keeps this alive until its last one.
    private func take(_ event: WebSocketEvent, _ id: SocketId, _ url: String) {
        switch event {
        case .opened(JSONCodec.subprotocol):
            step { loop.socket(id)?.opened() }
        case .opened(let other):
            sockets[id]?.failure = "\(url) speaks \(other.debugDescription), not \(JSONCodec.subprotocol)"
            sockets[id]?.connection?.terminate()
        case .messages(let messages):
            for message in messages { step { loop.socket(id)?.received(message) } }
        case .closed(let code, let reason):
            let failure = sockets.removeValue(forKey: id)?.failure
            step { loop.closed(id, code, failure ?? reason) }
        }
    }
}
