@testable import Isochron

/// A network in memory with shared sockets: each channel is a socket of a `FakeNetwork`.
final class SharedNetwork: WebSocketTransport {
    let network: FakeNetwork
    /// Whether servers choose shared sockets when they are offered.
    let isShared = Locked(true)
    /// All shared sockets, in the order of their opening.
    let sockets = Locked<[FakeSharedSocket]>([])

    init(_ network: FakeNetwork) {
        self.network = network
    }

    func open(
        _ url: String, subprotocols: [String], onEvent: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketConnection {
        guard isShared.get(), subprotocols.first == sharedSubprotocol else {
            let own = subprotocols.filter { $0 != sharedSubprotocol }
            return network.open(url, subprotocols: own, onEvent: onEvent)
        }
        let socket = FakeSharedSocket(network, url, onEvent)
        sockets.change { $0.append(socket) }
        return socket
    }

    /// The open ones.
    var open: [FakeSharedSocket] { sockets.get().filter(\.isOpen) }
}

/// A shared socket of the network.
final class FakeSharedSocket: WebSocketConnection {
    private struct State: Sendable {
        var isOpen = true
        var channels: [UInt32: any WebSocketConnection] = [:]
        var opened: [UInt32] = []
        var messages = 0
        var closeCode: UInt16?
    }

    private let network: FakeNetwork
    private let url: String
    private let onEvent: @Sendable (WebSocketEvent) -> Void
    private let state = Locked(State())
    /// Drops all messages, like a dead network.
    let isDead = Locked(false)

    init(_ network: FakeNetwork, _ url: String, _ onEvent: @escaping @Sendable (WebSocketEvent) -> Void) {
        self.network = network
        self.url = url
        self.onEvent = onEvent
        Task { @SessionActor in
            guard network.servers.get()[url]?.isListening == true else { return end(nil, "no listener at \(url)") }
            deliver(.opened(subprotocol: sharedSubprotocol))
        }
    }

    var isOpen: Bool { state.get().isOpen }
    /// Numbers of the opened channels, in order.
    var opened: [UInt32] { state.get().opened }
    /// Number of channels that no side has closed.
    var channels: Int { state.get().channels.count }
    /// Number of received messages.
    var messages: Int { state.get().messages }
    /// The client's close code.
    var closeCode: UInt16? { state.get().closeCode }

    func send(_ messages: [WebSocketMessage]) {
        if isDead.get() { return }
        state.change { $0.messages += messages.count }
        for case .binary(let message) in messages {
            for entry in (try? read(message)) ?? [] { take(entry) }
        }
    }

    func close(code: UInt16, reason: String) {
        state.change { $0.closeCode = code }
        end(code, reason)
    }

    func terminate() { end(nil, "cut") }

    /// Ends it, with all its channels.
    func end(_ code: UInt16?, _ reason: String) {
        let channels = state.change { state in
            defer {
                state.isOpen = false
                state.channels = [:]
            }
            return state.isOpen ? state.channels : nil
        }
        guard let channels else { return }
        onEvent(.closed(code: code, reason: reason))
        for channel in channels.values { channel.terminate() }
    }

    func deliver(_ event: WebSocketEvent) {
        if isOpen, !isDead.get() { onEvent(event) }
    }

    private func take(_ entry: Entry) {
        let number = entry.channel
        switch entry.content {
        case .open(let subprotocol):
            let channel = network.open(url, subprotocols: [subprotocol]) { [self] in answer(number, $0) }
            state.change { state in
                state.opened.append(number)
                state.channels[number] = channel
            }
        case .text(let bytes):
            state.get().channels[number]?.send([.text(String(decoding: bytes, as: UTF8.self))])
        case .close(let code, let reason):
            let channel = state.change { $0.channels.removeValue(forKey: number) }
            channel?.close(code: code, reason: reason)
            if channel != nil { deliver([Entry(channel: number, content: .close(code: code, reason: ""))]) }
        case .part, .bytes, .credit: break
        }
    }

    private func answer(_ number: UInt32, _ event: WebSocketEvent) {
        switch event {
        case .opened: break
        case .messages(let messages):
            for case .text(let text) in messages {
                deliver([Entry(channel: number, content: .text(Array(text.utf8)[...]))])
            }
        case .closed(let code, let reason):
            let channel = state.change { $0.channels.removeValue(forKey: number) }
            let content = Entry.Content.close(code: code ?? 1012, reason: reason)
            if channel != nil { deliver([Entry(channel: number, content: content)]) }
        }
    }

    private func deliver(_ entries: [Entry]) {
        deliver(.messages([.binary(message(of: entries))]))
    }
}
