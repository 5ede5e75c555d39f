/// The platform's own transports.
public enum Transports {
    /// WebSockets: `URLSession` on Apple systems, our own client on Linux.
    public static var webSocket: any WebSocketTransport {
        #if canImport(Darwin)
            return FoundationWebSocketTransport()
        #else
            return SocketWebSocketTransport()
        #endif
    }

    /// HTTP over `URLSession`.
    public static var http: any HTTPTransport { FoundationHTTPTransport.shared }
}

extension SocketPool {
    /// The pool of all clients without a transport of their own.
    nonisolated static let ofProcess = SocketPool(Transports.webSocket)
}
