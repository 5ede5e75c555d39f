/// Opens the sockets of sessions.
protocol SessionSockets: Sendable {
    /// Starts to open a socket and returns at once; failures also arrive as a `closed` event, and every event comes
    /// later. The socket lives until that event, referenced or not.
    @SessionActor
    func open(_ url: String, onEvent: @escaping SessionSocket.OnEvent) -> SessionSocket
}

/// A WebSocket of its own for each session.
struct OwnSockets: SessionSockets {
    let transport: any WebSocketTransport

    func open(_ url: String, onEvent: @escaping SessionSocket.OnEvent) -> SessionSocket {
        let socket = SessionSocket(onEvent)
        socket.connect(transport, url)
        return socket
    }
}

/// Channels of WebSockets that the sessions of a process share, one for each node. Sessions with different credentials
/// share none.
struct SharedSockets: SessionSockets {
    let pool: SocketPool
    let credentials: String?

    func open(_ url: String, onEvent: @escaping SessionSocket.OnEvent) -> SessionSocket {
        let socket = SessionSocket(onEvent)
        pool.socket(url, credentials).add(socket)
        return socket
    }
}

/// The socket of one session: a channel of a shared WebSocket, or a whole one.
@SessionActor
final class SessionSocket {
    typealias OnEvent = @SessionActor (WebSocketEvent) -> Void

    /// Carries the socket's messages.
    private enum Carrier {
        case nothing
        /// No channel yet.
        case waiting(SharedSocket)
        case channel(SharedSocket, UInt32)
        case own(any WebSocketConnection)
    }

    private var carrier = Carrier.nothing
    /// Nil after the last event.
    private var onEvent: OnEvent?

    init(_ onEvent: @escaping OnEvent) {
        self.onEvent = onEvent
    }

    /// Queues a message. Only once it is open.
    func send(_ message: WebSocketMessage) {
        switch carrier {
        case .own(let connection): connection.send([message])
        case .channel(let shared, let number): shared.send(number, message)
        case .waiting, .nothing: break
        }
    }

    /// Closes it after all queued messages. A server that does not answer in time is not waited for.
    func close() {
        switch carrier {
        case .own(let connection): connection.close(code: 1000, reason: "")
        case .channel(let shared, let number): shared.close(number)
        case .waiting(let shared): shared.leave(self)
        case .nothing: break
        }
    }

    /// Gives it up at once. Queued messages are lost.
    func terminate() {
        switch carrier {
        case .own(let connection): connection.terminate()
        case .channel(let shared, let number): shared.terminate(number)
        case .waiting(let shared): shared.leave(self)
        case .nothing: break
        }
    }

    // Called by the carrier:

    /// Opens a WebSocket of its own.
    func connect(_ transport: any WebSocketTransport, _ url: String) {
        let inbox = Inbox<WebSocketEvent> { [self] event in report(event) }
        have(transport.open(url, subprotocols: [JSONCodec.subprotocol]) { inbox.put($0) })
    }

    /// Uses a whole WebSocket, which reports its events to this socket.
    func have(_ connection: any WebSocketConnection) {
        carrier = .own(connection)
    }

    func wait(for shared: SharedSocket) {
        carrier = .waiting(shared)
    }

    /// Uses a channel.
    func opened(on shared: SharedSocket, _ number: UInt32) {
        carrier = .channel(shared, number)
        report(.opened(subprotocol: JSONCodec.subprotocol))
    }

    /// Passes an event on; none after `closed`.
    func report(_ event: WebSocketEvent) {
        guard let onEvent else { return }
        if case .closed = event {
            self.onEvent = nil
            carrier = .nothing
        }
        onEvent(event)
    }

    /// Ends it. The report comes later, because no event is reported during a call of the user.
    func end(_ close: CloseFrame) {
        carrier = .nothing
        Task { @SessionActor in report(.closed(code: close.code, reason: close.reason)) }
    }
}
