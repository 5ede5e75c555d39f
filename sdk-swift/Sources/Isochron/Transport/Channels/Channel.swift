/// One channel of a shared socket, as the client sees it.
final class Channel {
    /// An outgoing message, of which `offset` bytes have left.
    struct Outgoing {
        let kind: Entry.Kind
        let bytes: [UInt8]
        var offset = 0

        init(_ message: WebSocketMessage) {
            switch message {
            case .text(let text): (kind, bytes) = (.text, Array(text.utf8))
            case .binary(let bytes): (kind, self.bytes) = (.bytes, bytes)
            }
        }
    }

    let number: UInt32
    /// The subprotocol of its open; nil once that has left.
    var subprotocol: String?
    /// Bytes that may be sent, and that may be received.
    var outCredit = ChannelLimits.windowBytes
    var inCredit = ChannelLimits.windowBytes
    /// The close that this side sends, or has sent.
    var closing: (code: UInt16, reason: String)?
    var sentClose = false
    var receivedClose = false
    /// It waits for its turn.
    var isReady = false
    /// The peer has to be granted more.
    var isGranting = false
    private var queue: [Outgoing] = []
    private var first = 0
    private var assembly: [UInt8]?

    init(_ number: UInt32, subprotocol: String) {
        self.number = number
        self.subprotocol = subprotocol
    }

    /// Whether a part of a message has been received.
    var isPartial: Bool { assembly != nil }

    /// The message that is sent next.
    var outgoing: Outgoing? { first < queue.count ? queue[first] : nil }

    func add(_ message: WebSocketMessage) {
        queue.append(Outgoing(message))
    }

    /// `count` bytes of the message have left.
    func advance(_ count: Int) {
        queue[first].offset += count
    }

    /// The whole message has left.
    func removeOutgoing() {
        first += 1
        // Rarely, so that each message is moved once at most.
        guard 2 * first >= queue.count else { return }
        queue.removeFirst(first)
        first = 0
    }

    /// Only a close may leave from now on.
    func dropOutgoing() {
        queue = []
        first = 0
    }

    /// Adds a part. Returns whether the message stays within its limit.
    func append(_ part: ArraySlice<UInt8>, maxBytes: Int) -> Bool {
        guard (assembly?.count ?? 0) + part.count <= maxBytes else { return false }
        if assembly == nil { assembly = [] }
        assembly?.append(contentsOf: part)
        return true
    }

    /// The received parts.
    func takeAssembly() -> [UInt8] {
        defer { assembly = nil }
        return assembly ?? []
    }
}
