/// Makes messages from the bytes of a WebSocket server, in chunks of any size (RFC 6455 sections 5 and 7, without
/// extensions). No I/O.
///
/// Invariants: a message has a kind from its first frame to its last; `message` and the frame being read together never
/// exceed `maxMessageBytes`; memory grows with bytes received, never with a length that is only declared.
struct FrameParser {
    /// The result of parsing.
    struct Received: Sendable, Hashable {
        /// Whole messages, in order.
        var messages: [WebSocketMessage] = []
        /// Payloads of pings, in order; each requires a pong.
        var pings: [[UInt8]] = []
        /// The server's close frame. Nothing is read after it.
        var close: CloseFrame?
    }

    private let maxMessageBytes: Int
    /// Bytes of an incomplete header.
    private var header: [UInt8] = []
    private var start: FrameStart?
    /// The frame whose payload is being read, and the number of its missing bytes.
    private var frame: FrameStart?
    private var missing = 0
    /// Text or binary, after the first frame of a message.
    private var kind: Opcode?
    private var message: [UInt8] = []
    private var control: [UInt8] = []
    private var isClosed = false

    init(maxMessageBytes: Int) {
        self.maxMessageBytes = maxMessageBytes
    }

    /// Whether the bytes so far end between two messages.
    var isBetweenMessages: Bool { frame == nil && header.isEmpty && kind == nil }

    /// Reads all of `input`. The result up to a violation is in `received`; after one the parser must not be fed again.
    mutating func feed(_ input: UnsafeRawBufferPointer, into received: inout Received) throws(ProtocolViolation) {
        var reader = ByteReader(input)
        while !isClosed {
            guard let frame else {
                guard try readHeader(&reader) else { return }
                continue
            }
            let part = reader.take(missing)
            missing -= part.count
            if frame.opcode.isControl {
                try takeControl(frame.opcode, part, &received)
            } else {
                try takeData(frame, part, &received)
            }
            if missing > 0 { return }
            self.frame = nil
        }
    }

    /// False when the input ends before the header does.
    private mutating func readHeader(_ reader: inout ByteReader) throws(ProtocolViolation) -> Bool {
        while header.count < 2 + (start?.lengthBytes ?? 0) {
            guard let byte = reader.next() else { return false }
            header.append(byte)
            if header.count == 2 { start = try begin(FrameStart(header[0], header[1])) }
        }
        guard let start else { return false }
        missing = try payloadBytes(start, start.length(header[2...]))
        frame = start
        self.start = nil
        header.removeAll(keepingCapacity: true)
        return true
    }

    /// Checks that a frame is allowed now.
    private mutating func begin(_ start: FrameStart) throws(ProtocolViolation) -> FrameStart {
        switch start.opcode {
        case .close, .ping, .pong: break
        case .continuation:
            guard kind != nil else { throw .protocolError("a continuation of nothing") }
        case .text, .binary:
            guard kind == nil else { throw .protocolError("a message inside of a message") }
            kind = start.opcode
        }
        return start
    }

    private func payloadBytes(_ start: FrameStart, _ length: UInt64) throws(ProtocolViolation) -> Int {
        let room = start.opcode.isControl ? maxControlPayloadBytes : maxMessageBytes - message.count
        guard room >= 0, length <= UInt64(room) else { throw .tooBig(limit: maxMessageBytes) }
        return Int(length)
    }

    private mutating func takeData(
        _ frame: FrameStart, _ part: UnsafeRawBufferPointer, _ received: inout Received
    ) throws(ProtocolViolation) {
        guard missing == 0, frame.isFinal, let kind else {
            message.append(contentsOf: part)
            return
        }
        self.kind = nil
        guard let whole = makeMessage(kind, lastPart: part) else {
            throw .invalidText("a text message that is not UTF-8")
        }
        received.messages.append(whole)
    }

    /// Most messages come in one frame and one read: these are copied once. Nil for text that is not UTF-8.
    private mutating func makeMessage(_ kind: Opcode, lastPart: UnsafeRawBufferPointer) -> WebSocketMessage? {
        guard !message.isEmpty else {
            return kind == .text ? exactText(lastPart).map(WebSocketMessage.text) : .binary(Array(lastPart))
        }
        message.append(contentsOf: lastPart)
        let whole = message
        message = []
        return kind == .text ? whole.withUnsafeBytes(exactText).map(WebSocketMessage.text) : .binary(whole)
    }

    private mutating func takeControl(
        _ opcode: Opcode, _ part: UnsafeRawBufferPointer, _ received: inout Received
    ) throws(ProtocolViolation) {
        control.append(contentsOf: part)
        guard missing == 0 else { return }
        let payload = control
        control = []
        switch opcode {
        case .ping: received.pings.append(payload)
        case .close:
            isClosed = true
            received.close = try CloseFrame(payload: payload)
        default: break
        }
    }
}
