/// Code and reason of a closing handshake.
struct CloseFrame: Sendable, Hashable {
    /// Nil when the frame was empty.
    var code: UInt16?
    var reason: String

    init(code: UInt16?, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// A frame that may be sent, for any requested code and reason.
    init(sending code: UInt16, reason: String) {
        self.code = isCloseCodeOnWire(code) ? code : 1000
        self.reason = cutUTF8(reason, to: maxControlPayloadBytes - 2)
    }

    /// Reads the payload of a close frame.
    init(payload: [UInt8]) throws(ProtocolViolation) {
        guard !payload.isEmpty else {
            self.init(code: nil, reason: "")
            return
        }
        guard payload.count >= 2 else { throw .protocolError("a close frame of one byte") }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard isCloseCodeOnWire(code) else { throw .protocolError("the close code \(code)") }
        guard let reason = payload.withUnsafeBytes({ exactText(UnsafeRawBufferPointer(rebasing: $0[2...])) }) else {
            throw .invalidText("a close reason that is not UTF-8")
        }
        self.init(code: code, reason: reason)
    }

    /// The payload of the frame.
    var payload: [UInt8] {
        guard let code else { return [] }
        return [UInt8(code >> 8), UInt8(code & 0xff)] + Array(reason.utf8)
    }
}

/// Whether a code may stand in a close frame: 1004 to 1006 and 1015 are reserved for local use.
func isCloseCodeOnWire(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: return true
    default: return false
    }
}

/// The code of a connection whose TLS failed (RFC 6455 section 7.4.1); no frame has it.
let tlsFailedCode: UInt16 = 1015

/// The longest prefix of whole characters with at most `limit` bytes of UTF-8.
func cutUTF8(_ text: String, to limit: Int) -> String {
    var cut = text
    while cut.utf8.count > limit { cut.unicodeScalars.removeLast() }
    return cut
}
