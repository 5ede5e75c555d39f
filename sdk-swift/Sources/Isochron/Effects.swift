import IsochronSession

/// The machine's effects: sockets, one alarm, tasks for the ends of turns.
@SessionActor
final class Effects: ClientEffects {
    /// The owner of this object.
    weak var driver: Driver?
    private let settings: Settings
    private var sockets: [SocketId: Socket] = [:]
    private var alarm: Alarm?
    private var toLoad: [String] = []
    /// The call of `auth` that is under way.
    private var authenticating: Task<Void, Never>?

    @SessionActor
    private final class Socket {
        var connection: SessionSocket?
        /// Reason for giving it up, if the socket's own reason would not name it.
        var failure: String?
    }

    init(_ settings: Settings) {
        self.settings = settings
    }

    func open(_ id: SocketId, _ url: String) {
        let socket = Socket()
        sockets[id] = socket
        socket.connection = settings.sockets.open(url) { [self, driver] event in take(event, id, url, driver) }
    }

    func send(_ id: SocketId, _ message: WebSocketMessage) {
        sockets[id]?.connection?.send(message)
    }

    func close(_ id: SocketId, abrupt: Bool) {
        let connection = sockets[id]?.connection
        if abrupt { connection?.terminate() } else { connection?.close() }
    }

    func load(_ protocolName: String) {
        toLoad.append(protocolName)
    }

    /// After the step: the sessions of all protocols are present.
    func load() {
        while !toLoad.isEmpty {
            let name = toLoad.removeFirst()
            driver?.step(.loaded(name, loadKind(name)))
        }
    }

    func authenticate() {
        guard let auth = settings.auth else { return }
        authenticating = Task { @SessionActor [weak self] in
            let answer: Result<String, any Error>
            do {
                answer = .success(try await auth())
            } catch {
                answer = .failure(error)
            }
            self?.driver?.step(.credentials(answer))
        }
    }

    /// The client is closed: an answer of `auth` has no effect any more.
    func cancel() {
        authenticating?.cancel()
    }

    func setTimer(_ atMs: Double) {
        alarm?.cancel()
        alarm = nil
        if !atMs.isFinite { return }
        alarm = settings.timing.after(max(0, atMs - settings.timing.nowMs)) { [weak self] in
            self?.alarm = nil
            self?.driver?.step(.timer)
        }
    }

    /// Events that are already on their way to the actor come first.
    func turn() {
        Task { @SessionActor [driver] in driver?.step(.turn) }
    }

    func changed() {
        driver?.followers.changed()
    }

    func touched(written: Bool) {
        if written { driver?.saver?.mustSave() } else { driver?.saver?.touched() }
    }

    func log(_ level: LogLevel, _ message: String) {
        settings.log(level, message)
    }

    /// The events of a socket, one after the other, in their order. The socket keeps the driver alive until its last
    /// event.
    private func take(_ event: WebSocketEvent, _ id: SocketId, _ url: String, _ driver: Driver?) {
        switch event {
        case .opened(JSONCodec.subprotocol):
            driver?.step(.opened(id))
        case .opened(let other):
            sockets[id]?.failure = "\(url) uses \(other.debugDescription), not \(JSONCodec.subprotocol)"
            sockets[id]?.connection?.terminate()
        case .messages(let messages):
            for message in messages { driver?.step(.message(id, message)) }
        case .closed(let code, let reason):
            let failure = sockets.removeValue(forKey: id)?.failure
            driver?.step(.closed(id, code: code, reason: failure ?? reason))
        }
    }
}
