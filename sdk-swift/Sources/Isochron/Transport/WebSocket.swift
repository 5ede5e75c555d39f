/// One whole WebSocket message: fragments are joined below this interface.
public enum WebSocketMessage: Sendable, Hashable {
    /// A text message; its bytes on the wire were valid UTF-8.
    case text(String)
    /// A binary message.
    case binary([UInt8])
}

/// The events of a connection, in this order: `opened` at most once, then any number of `messages`, then `closed`.
public enum WebSocketEvent: Sendable {
    /// The opening handshake succeeded. The subprotocol is the one that the server chose, empty when it chose none.
    case opened(subprotocol: String)
    /// Messages that arrived together, in the order of the server. Never empty.
    case messages([WebSocketMessage])
    /// The last event, exactly once, for every end of a connection.
    ///
    /// The code is that of the closing handshake, or of the refusal of a server that breaks the protocol: 1002, 1007,
    /// 1009. It is 1015 where TLS failed: a certificate that is not accepted, or a server without TLS. It is nil
    /// without a handshake: no listener, a refused opening handshake, a dropped socket, a close frame without a code.
    /// The reason is the server's, or a sentence for a log.
    case closed(code: UInt16?, reason: String)
}

/// One connection, from the attempt to open it to its `closed` event.
///
/// All functions may be called from any thread and at any time; after the end of the connection they do nothing.
public protocol WebSocketConnection: Sendable {
    /// Queues messages, in order, and never blocks. Messages sent before `opened` wait for it.
    func send(_ messages: [WebSocketMessage])

    /// Begins the closing handshake after all queued messages. A server that does not answer in time is cut off.
    ///
    /// - Parameters:
    ///   - code: A code that an endpoint may send: 1000 to 1003, 1007 to 1014, 3000 to 4999. Any other is sent as 1000.
    ///   - reason: At most 123 bytes of UTF-8; a longer one is cut at a character.
    func close(code: UInt16, reason: String)

    /// Cuts the connection at once, without a handshake. Queued messages are lost.
    func terminate()
}

/// Opens WebSocket connections.
public protocol WebSocketTransport: Sendable {
    /// Starts to open a connection and returns at once; failures too arrive as a `closed` event.
    ///
    /// Events come one at a time, in order, on a thread or queue of the transport, so a handler must not block.
    /// The connection lives until its `closed` event, whether or not the returned value is referenced.
    ///
    /// - Parameters:
    ///   - url: `ws:`, `wss:`, or their aliases `http:` and `https:`.
    ///   - subprotocols: The offered ones, best first. A server that picks another one is refused.
    ///   - onEvent: Called for each event.
    func open(
        _ url: String, subprotocols: [String], onEvent: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketConnection
}
