/// The shared sockets of a process, made with one transport.
@SessionActor
final class SocketPool {
    let transport: any WebSocketTransport
    let timing: any Timing
    private var sockets: [SharedSocket] = []

    nonisolated init(_ transport: any WebSocketTransport, timing: any Timing = SystemTiming()) {
        self.transport = transport
        self.timing = timing
    }

    /// A socket that a session may join, new if necessary.
    func socket(_ url: String, _ credentials: String?) -> SharedSocket {
        let isFit = { (socket: SharedSocket) in
            socket.url == url && socket.credentials == credentials && socket.mayBeJoined
        }
        if let open = sockets.first(where: isFit) { return open }
        let socket = SharedSocket(self, url, credentials)
        sockets.append(socket)
        return socket
    }

    func remove(_ socket: SharedSocket) {
        sockets.removeAll { $0 === socket }
    }
}
