/// The platform's own transports.
public enum Transports {
    /// WebSockets, with TLS for `wss:` by the authorities of the system: `URLSession` on Apple systems, our own client
    /// with OpenSSL on Linux.
    public static var webSocket: any WebSocketTransport { webSocket(.system) }

    /// WebSockets like those of ``webSocket``, with TLS by the given authorities alone.
    ///
    /// - Parameter ca: certificates of authorities, in PEM
    /// - Throws: `TransportError.unsupported` for a text without certificates
    public static func webSocket(ca: String) throws(TransportError) -> any WebSocketTransport {
        webSocket(try TLSTrust(pem: ca))
    }

    private static func webSocket(_ trust: TLSTrust) -> any WebSocketTransport {
        #if canImport(Darwin)
            return FoundationWebSocketTransport(trust: trust)
        #else
            return SocketWebSocketTransport(trust: trust)
        #endif
    }

    /// HTTP over `URLSession`, with TLS by the authorities of the system.
    public static var http: any HTTPTransport { FoundationHTTPTransport.shared }
}

extension SocketPool {
    private nonisolated static let ofSystem = SocketPool(Transports.webSocket)
    private nonisolated static let ofAuthorities = Locked<[String: SocketPool]>([:])

    /// The pool of all clients without a transport of their own that accept these authorities; nil for those of the
    /// system. Throws `TransportError.unsupported` for a text without certificates.
    nonisolated static func ofProcess(ca: String?) throws(TransportError) -> SocketPool {
        guard let ca else { return ofSystem }
        if let pool = ofAuthorities.get()[ca] { return pool }
        let made = SocketPool(try Transports.webSocket(ca: ca))
        return ofAuthorities.change { pools in
            let pool = pools[ca] ?? made
            pools[ca] = pool
            return pool
        }
    }
}
