import IsochronSession

/// The subprotocol `isochron.v1+json`.
enum JSONCodec {
    static let subprotocol = "isochron.v1+json"

    static func encode(_ hello: Hello) -> [UInt8] {
        var out = JSONWriter()
        out.frame(hello)
        return out.bytes
    }

    static func encode(_ request: Request, id: Int64) -> [UInt8] {
        var out = JSONWriter()
        out.frame(request, id: id)
        return out.bytes
    }

    /// Encoded frames, packed into one message.
    static func pack(_ frames: [[UInt8]]) -> WebSocketMessage {
        if frames.count == 1, let frame = frames.first { return .text(String(decoding: frame, as: UTF8.self)) }
        var message: [UInt8] = []
        message.reserveCapacity(frames.reduce(2) { $0 + $1.count + 1 })
        for frame in frames {
            message.append(message.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
            message.append(contentsOf: frame)
        }
        message.append(UInt8(ascii: "]"))
        return .text(String(decoding: message, as: UTF8.self))
    }
}

/// A value in a frame.
protocol FrameValue {
    func write(to out: inout JSONWriter)
}

extension JSONWriter {
    /// A member, whose `name` begins with the brace or comma in front and ends with the colon.
    mutating func member(_ name: StaticString, _ value: some FrameValue) {
        raw(name)
        value.write(to: &self)
    }

    /// A snapshot's timestamp, and its other entries as `deps`.
    mutating func snapshot(_ name: StaticString, _ snapshot: Snapshot) {
        member(name, snapshot.ts)
        if let deps = snapshot.deps { member(#","deps":"#, deps) }
    }

    /// The beginning of a request.
    mutating func head(_ start: StaticString, _ id: Int64) {
        raw(start)
        integer(id)
    }
}

extension String: FrameValue {
    func write(to out: inout JSONWriter) { out.string(self) }
}

extension Int64: FrameValue {
    func write(to out: inout JSONWriter) { out.integer(self) }
}

extension Array: FrameValue where Element: FrameValue {
    func write(to out: inout JSONWriter) { out.list(self) { $1.write(to: &$0) } }
}

/// Null for nil.
extension Optional: FrameValue where Wrapped: FrameValue {
    func write(to out: inout JSONWriter) {
        guard let self else { return out.raw("null") }
        self.write(to: &out)
    }
}

/// A document as its JSON text, bytes as `{ bytes: base64 }`.
extension Value: FrameValue {
    func write(to out: inout JSONWriter) {
        switch self {
        case .json(let text): out.string(text)
        case .bytes(let bytes):
            out.member(#"{"bytes":"#, toBase64(bytes))
            out.byte("}")
        }
    }
}

/// A value, an update as `{ operations }`, or null, which deletes.
extension Content: FrameValue {
    func write(to out: inout JSONWriter) {
        switch self {
        case .put(let value): value.write(to: &out)
        case .delete: out.raw("null")
        case .update(let update):
            out.member(#"{"operations":"#, update.operations)
            out.byte("}")
        }
    }
}
