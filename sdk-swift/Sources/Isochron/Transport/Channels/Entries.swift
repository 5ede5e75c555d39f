/// Subprotocol of a shared socket: a WebSocket that carries many sessions, each on a channel with a number.
let sharedSubprotocol = "isochron.v1+shared"

/// Limits of shared sockets, fixed for both sides.
enum ChannelLimits {
    /// Channels of one socket; one that is closed counts until both sides have closed it.
    static let maxChannels = 1024
    /// Entries of one message.
    static let maxEntries = 4096
    /// Payload of one entry, bytes: a larger message of a session is cut, so that others get their turn.
    static let chunkBytes = 64 << 10
    /// A message with this many bytes takes no further entry.
    static let fullBytes = 64 << 10
    /// Largest message: an open and its first entry may begin just below `fullBytes`.
    static let maxMessageBytes = fullBytes + chunkBytes + 256
    /// Bytes of entries with payload that a side may send on a channel beyond what the other side has granted.
    static let windowBytes = 1 << 20
    /// Messages in parts that a client may send at a time on one socket.
    static let maxPartials = 4
    /// Kind (1), channel (4), length of the payload (4).
    static let headerBytes = 9
    static let maxSubprotocolBytes = 64
    static let maxReasonBytes = 123
    static let closeCodes: ClosedRange<UInt16> = 1000...4999
}

/// The peer broke a rule of shared sockets: the socket has to be given up.
struct ChannelFault: Error, Sendable, Hashable {
    /// The close code of the rule.
    let code: UInt16
    let message: String

    static func invalid(_ message: String) -> ChannelFault { ChannelFault(code: 4400, message: message) }
}

/// An entry of a message of a shared socket.
struct Entry: Sendable, Hashable {
    /// The kind of an entry. Numbers are never reused.
    enum Kind: UInt8, Sendable {
        case open = 1
        case part = 2
        case text = 3
        case bytes = 4
        case close = 5
        case credit = 6
    }

    enum Content: Sendable, Hashable {
        /// Opens the channel: the first entry of it.
        case open(subprotocol: String)
        /// A part of a message that goes on. Never empty.
        case part(ArraySlice<UInt8>)
        /// The end of a text message, most often the whole of it. Not checked to be UTF-8.
        case text(ArraySlice<UInt8>)
        /// The end of a binary message.
        case bytes(ArraySlice<UInt8>)
        /// Ends the channel for the side that sends it.
        case close(code: UInt16, reason: String)
        /// The other side may send this many bytes more.
        case credit(Int)
    }

    let channel: UInt32
    let content: Content
}

/// Reads a message of a shared socket, which holds entries one behind the other; numbers are big-endian. No I/O.
struct EntryReader {
    private let message: [UInt8]
    private var position = 0
    private var entries = 0

    /// Throws where the message is too large.
    init(_ message: [UInt8]) throws(ChannelFault) {
        guard message.count <= ChannelLimits.maxMessageBytes else {
            throw ChannelFault(code: 1009, message: "a message is too large")
        }
        self.message = message
    }

    /// The next entry; nil at the end.
    mutating func next() throws(ChannelFault) -> Entry? {
        guard position < message.count else { return nil }
        guard entries < ChannelLimits.maxEntries else { throw .invalid("a message has too many entries") }
        entries += 1
        let start = position + ChannelLimits.headerBytes
        guard start <= message.count else { throw .invalid("an entry is cut off") }
        let kind = message[position]
        let channel = uint32(at: position + 1)
        let length = uint32(at: position + 5)
        guard length <= ChannelLimits.chunkBytes else { throw .invalid("a payload is too large") }
        position = start + Int(length)
        guard position <= message.count else { throw .invalid("an entry is cut off") }
        return Entry(channel: channel, content: try content(kind, start..<position))
    }

    private func content(_ kind: UInt8, _ range: Range<Int>) throws(ChannelFault) -> Entry.Content {
        let payload = message[range]
        switch Entry.Kind(rawValue: kind) {
        case .open:
            guard range.count <= ChannelLimits.maxSubprotocolBytes else { throw .invalid("a subprotocol is too long") }
            return .open(subprotocol: String(decoding: payload, as: UTF8.self))
        case .part:
            guard !payload.isEmpty else { throw .invalid("a part is empty") }
            return .part(payload)
        case .text: return .text(payload)
        case .bytes: return .bytes(payload)
        case .close: return try close(payload)
        case .credit:
            guard range.count == 4 else { throw .invalid("a credit is damaged") }
            return .credit(Int(uint32(at: range.lowerBound)))
        case nil: throw .invalid("an entry is of no known kind")
        }
    }

    private func close(_ payload: ArraySlice<UInt8>) throws(ChannelFault) -> Entry.Content {
        guard payload.count >= 2, payload.count <= 2 + ChannelLimits.maxReasonBytes else {
            throw .invalid("a close is damaged")
        }
        let code = payload.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
        guard ChannelLimits.closeCodes.contains(code) else { throw .invalid("a close has no valid code") }
        return .close(code: code, reason: String(decoding: payload.dropFirst(2), as: UTF8.self))
    }

    private func uint32(at index: Int) -> UInt32 {
        UInt32(message[index]) << 24 | UInt32(message[index + 1]) << 16 | UInt32(message[index + 2]) << 8
            | UInt32(message[index + 3])
    }
}

/// Writes one message of a shared socket after the other.
struct EntryWriter {
    private(set) var message: [UInt8] = []
    private var entries = 0

    var isEmpty: Bool { message.isEmpty }

    /// Whether the message takes two more entries, an open and the entry after it.
    var hasRoom: Bool { message.count < ChannelLimits.fullBytes && entries + 2 <= ChannelLimits.maxEntries }

    mutating func open(_ channel: UInt32, _ subprotocol: String) {
        data(.open, channel, Array(subprotocol.utf8)[...])
    }

    /// An entry with a payload of at most `chunkBytes`.
    mutating func data(_ kind: Entry.Kind, _ channel: UInt32, _ payload: ArraySlice<UInt8>) {
        header(kind, channel, payload.count)
        message.append(contentsOf: payload)
    }

    mutating func close(_ channel: UInt32, _ code: UInt16, _ reason: String) {
        let text = Array(cutUTF8(reason, to: ChannelLimits.maxReasonBytes).utf8)
        header(.close, channel, 2 + text.count)
        message.append(UInt8(code >> 8))
        message.append(UInt8(code & 0xff))
        message.append(contentsOf: text)
    }

    mutating func credit(_ channel: UInt32, _ bytes: Int) {
        header(.credit, channel, 4)
        append(UInt32(bytes))
    }

    /// The message; the next one begins empty.
    mutating func take() -> [UInt8] {
        defer { self = EntryWriter() }
        return message
    }

    private mutating func header(_ kind: Entry.Kind, _ channel: UInt32, _ length: Int) {
        entries += 1
        message.append(kind.rawValue)
        append(channel)
        append(UInt32(length))
    }

    private mutating func append(_ number: UInt32) {
        message.append(UInt8(truncatingIfNeeded: number >> 24))
        message.append(UInt8(truncatingIfNeeded: number >> 16))
        message.append(UInt8(truncatingIfNeeded: number >> 8))
        message.append(UInt8(truncatingIfNeeded: number))
    }
}
