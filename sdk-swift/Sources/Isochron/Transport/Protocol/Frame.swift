/// The opcode of a frame, RFC 6455 section 5.2.
enum Opcode: UInt8, Sendable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

/// The longest payload of a close, ping or pong frame, in bytes.
let maxControlPayloadBytes = 125

/// The server broke the protocol: the connection fails with this code.
struct ProtocolViolation: Error, Sendable, Hashable {
    /// 1002, 1007 or 1009.
    let code: UInt16
    let message: String

    static func protocolError(_ what: String) -> ProtocolViolation {
        ProtocolViolation(code: 1002, message: "the server broke the WebSocket protocol: \(what)")
    }

    static func invalidText(_ what: String) -> ProtocolViolation {
        ProtocolViolation(code: 1007, message: "the server sent \(what)")
    }

    static func tooBig(limit: Int) -> ProtocolViolation {
        ProtocolViolation(code: 1009, message: "the server sent a message of more than \(limit) bytes")
    }
}

/// The first two bytes of a frame, as a client receives it: unmasked and without extensions.
struct FrameStart: Sendable, Hashable {
    let isFinal: Bool
    let opcode: Opcode
    private let shortLength: UInt8

    init(_ first: UInt8, _ second: UInt8) throws(ProtocolViolation) {
        guard first & 0x70 == 0 else { throw .protocolError("a reserved bit is set") }
        guard let opcode = Opcode(rawValue: first & 0x0f) else {
            throw .protocolError("the opcode \(first & 0x0f)")
        }
        guard second & 0x80 == 0 else { throw .protocolError("a masked frame") }
        isFinal = first & 0x80 != 0
        self.opcode = opcode
        shortLength = second
        guard opcode.isControl else { return }
        guard isFinal else { throw .protocolError("a control frame in fragments") }
        guard Int(second) <= maxControlPayloadBytes else { throw .protocolError("a control frame that is too long") }
    }

    /// Number of length bytes that follow: 0, 2 or 8.
    var lengthBytes: Int {
        switch shortLength {
        case 126: return 2
        case 127: return 8
        default: return 0
        }
    }

    /// The length of the payload, from the bytes that follow.
    func length(_ bytes: ArraySlice<UInt8>) throws(ProtocolViolation) -> UInt64 {
        guard lengthBytes > 0 else { return UInt64(shortLength) }
        let length = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard length >= (lengthBytes == 2 ? 126 : 65_536) else {
            throw .protocolError("a length in more bytes than it needs")
        }
        guard length >> 63 == 0 else { throw .protocolError("a length of 2^63 or more") }
        return length
    }
}
