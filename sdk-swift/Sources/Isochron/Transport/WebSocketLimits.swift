/// Limits of one WebSocket connection.
struct WebSocketLimits: Sendable, Hashable {
    /// From `open` to the end of the opening handshake, in seconds: name lookup, TCP and HTTP together.
    var connectSeconds: Double = 10
    /// From `close` to the end of the connection, in seconds.
    var closeSeconds: Double = 3
    /// Bytes of a message that a server may send, all fragments together.
    var maxMessageBytes = 64 << 20
}
