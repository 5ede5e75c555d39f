/// A WebSocket that sessions share, from the attempt to open it until it is closed with the last of them.
///
/// A server without shared sockets chooses the session's own subprotocol: the WebSocket then belongs to one session,
/// and the others open their own.
@SessionActor
final class SharedSocket {
    private enum State {
        case connecting
        case shared
        case done
    }

    /// Close code of a channel that its client has given up (*going away*).
    private static let givenUp: UInt16 = 1001

    let url: String
    let credentials: String?
    /// Holds this object until it is done.
    private let pool: SocketPool
    private let limits = WebSocketLimits()
    private let channels: Channels
    private var connection: (any WebSocketConnection)?
    private var state = State.connecting
    private var sessions: [UInt32: SessionSocket] = [:]
    /// Sessions without a channel yet.
    private var waiting: [SessionSocket] = []
    /// For each channel that this side closes: the deadline of the server's answer.
    private var deadlines: [UInt32: Alarm] = [:]
    /// The session that owns the whole WebSocket.
    private var soleSession: SessionSocket?
    /// A session has given it up, and no message has come since: it may be dead.
    private var isSuspect = false
    private var isFlushing = false

    init(_ pool: SocketPool, _ url: String, _ credentials: String?) {
        self.pool = pool
        self.url = url
        self.credentials = credentials
        channels = Channels(maxMessageBytes: limits.maxMessageBytes)
        let inbox = Inbox<WebSocketEvent> { [self] event in take(event) }
        let subprotocols = [sharedSubprotocol, JSONCodec.subprotocol]
        connection = pool.transport.open(url, subprotocols: subprotocols) { inbox.put($0) }
    }

    /// Whether a further session may join.
    var mayBeJoined: Bool { state != .done && !isSuspect && channels.free > waiting.count }

    /// A session joins. Its events come later.
    func add(_ session: SessionSocket) {
        session.wait(for: self)
        waiting.append(session)
        if state == .shared { Task { @SessionActor in openChannels() } }
    }

    // Called by sessions:

    /// A session without a channel leaves. Others go on waiting; further ones open another socket.
    func leave(_ session: SessionSocket) {
        waiting.removeAll { $0 === session }
        isSuspect = true
        session.end(CloseFrame(code: nil, reason: terminated))
        endWithoutSessions()
    }

    func send(_ number: UInt32, _ message: WebSocketMessage) {
        channels.send(number, message)
        flushSoon()
    }

    func close(_ number: UInt32) {
        guard deadlines[number] == nil else { return }
        channels.close(number, 1000, "")
        flushSoon()
        deadlines[number] = pool.timing.after(limits.closeSeconds * 1000) { [weak self] in
            self?.giveUp(number, "the server did not answer the close")
        }
    }

    func terminate(_ number: UInt32) {
        giveUp(number, terminated)
    }

    private func giveUp(_ number: UInt32, _ reason: String) {
        isSuspect = true
        end(number, CloseFrame(code: nil, reason: reason))
    }

    /// Ends a session without waiting for the server.
    private func end(_ number: UInt32, _ close: CloseFrame) {
        channels.close(number, Self.givenUp, "")
        flushSoon()
        remove(number)?.end(close)
        endWithoutSessions()
    }

    private func remove(_ number: UInt32) -> SessionSocket? {
        deadlines.removeValue(forKey: number)?.cancel()
        return sessions.removeValue(forKey: number)
    }

    // Called by the WebSocket:

    private func take(_ event: WebSocketEvent) {
        if let soleSession { return soleSession.report(event) }
        switch event {
        case .opened(sharedSubprotocol): openChannels()
        case .opened(let other): handOver(other)
        case .messages(let messages): for message in messages { receive(message) }
        case .closed(let code, let reason): lost(CloseFrame(code: code, reason: reason))
        }
    }

    /// Opens a channel for each session that waits for one.
    private func openChannels() {
        guard state != .done else { return }
        state = .shared
        while !waiting.isEmpty {
            let session = waiting.removeFirst()
            let number = channels.open(JSONCodec.subprotocol)
            sessions[number] = session
            session.opened(on: self, number)
        }
        flushSoon()
    }

    /// The WebSocket is not shared: it belongs to one of the sessions.
    private func handOver(_ subprotocol: String) {
        guard let connection, state == .connecting else { return }
        let those = waiting
        waiting = []
        finish()
        for session in those.dropFirst() { session.connect(pool.transport, url) }
        guard let first = those.first else { return connection.terminate() }
        soleSession = first
        first.have(connection)
        first.report(.opened(subprotocol: subprotocol))
    }

    private func receive(_ message: WebSocketMessage) {
        guard state == .shared else { return }
        isSuspect = false
        var events: [Channels.Event] = []
        var fault: ChannelFault?
        do throws(ChannelFault) {
            guard case .binary(let bytes) = message else { throw .invalid("a text message") }
            try channels.receive(bytes, into: &events)
        } catch {
            fault = error
        }
        for event in events { deliver(event) }
        flushSoon()
        guard let fault, state == .shared else { return }
        connection?.terminate()
        lost(CloseFrame(code: nil, reason: "the server broke the rules of shared sockets: \(fault.message)"))
    }

    private func deliver(_ event: Channels.Event) {
        switch event {
        case .received(let number, let message): sessions[number]?.report(.messages([message]))
        case .refused(let number, let close): end(number, close)
        case .closed(let number, let close):
            remove(number)?.report(.closed(code: close.code, reason: close.reason))
            endWithoutSessions()
        }
    }

    /// The WebSocket is closed: each of its sessions gets the events of an own WebSocket.
    private func lost(_ close: CloseFrame) {
        guard state != .done else { return }
        finish()
        let those = sessions.sorted { $0.key < $1.key }.map(\.value) + waiting
        sessions = [:]
        waiting = []
        for session in those { session.report(.closed(code: close.code, reason: close.reason)) }
    }

    // Sending:

    /// Messages of all sessions in a turn leave together.
    private func flushSoon() {
        guard !isFlushing, state == .shared, channels.hasOutput else { return }
        isFlushing = true
        Task { @SessionActor in
            isFlushing = false
            flush()
        }
    }

    private func flush() {
        guard state == .shared else { return }
        var messages: [WebSocketMessage] = []
        while let message = channels.takeMessage() { messages.append(.binary(message)) }
        connection?.send(messages)
    }

    /// Closes it if no session uses it: at once if it may be dead.
    private func endWithoutSessions() {
        guard sessions.isEmpty, waiting.isEmpty, state != .done else { return }
        if state == .connecting || isSuspect {
            connection?.terminate()
        } else {
            flush()
            connection?.close(code: 1000, reason: "")
        }
        finish()
    }

    private func finish() {
        state = .done
        connection = nil
        for alarm in deadlines.values { alarm.cancel() }
        deadlines = [:]
        pool.remove(self)
    }
}

private let terminated = "the connection was cut on this side"
