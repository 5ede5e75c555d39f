import Testing

@testable import Isochron

/// A frame of a server. Written independently of the encoder under test.
func serverFrame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
    let length = payload.count
    var frame = [(isFinal ? 0x80 : 0) | opcode]
    if length < 126 {
        frame.append(UInt8(length))
    } else if length < 65_536 {
        frame += [126, UInt8(length >> 8), UInt8(length & 0xff)]
    } else {
        frame.append(127)
        for shift in stride(from: 56, through: 0, by: -8) { frame.append(UInt8(length >> shift & 0xff)) }
    }
    return frame + payload
}

/// A close frame of a server.
func serverClose(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
    serverFrame(8, [UInt8(code >> 8), UInt8(code & 0xff)] + reason)
}

/// A frame that a client sent.
struct ClientFrame: Hashable {
    var opcode: UInt8
    var payload: [UInt8]
    var isMasked: Bool

    /// The code of a close frame.
    var closeCode: UInt16? {
        opcode == 8 && payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
    }
}

/// Reads whole frames of a client, byte by byte; stops at one that is cut off.
func clientFrames(_ bytes: [UInt8]) -> [ClientFrame] {
    var frames: [ClientFrame] = []
    var rest = bytes[...]
    while let (frame, size) = clientFrame(Array(rest)) {
        frames.append(frame)
        rest = rest.dropFirst(size)
    }
    return frames
}

private func clientFrame(_ bytes: [UInt8]) -> (ClientFrame, Int)? {
    guard bytes.count >= 2 else { return nil }
    let short = Int(bytes[1] & 0x7f)
    let extra = short == 126 ? 2 : short == 127 ? 8 : 0
    let start = 2 + extra + 4
    guard bytes.count >= start else { return nil }
    let length = extra == 0 ? short : bytes[2..<(2 + extra)].reduce(0) { $0 << 8 | Int($1) }
    let mask = Array(bytes[(start - 4)..<start])
    guard bytes.count >= start + length else { return nil }
    let payload = bytes[start..<(start + length)].enumerated().map { $1 ^ mask[$0 % 4] }
    let frame = ClientFrame(opcode: bytes[0] & 0x0f, payload: payload, isMasked: bytes[1] & 0x80 != 0)
    return (frame, start + length)
}

/// A frame that a server must not send, and the code of its refusal.
struct Violation: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let code: UInt16

    var testDescription: String { name }

    static let all: [Violation] =
        headers + closes + [
            Violation(name: "text that is not UTF-8", bytes: serverFrame(1, [0xC3, 0x28]), code: 1007),
            Violation(name: "text with a surrogate", bytes: serverFrame(1, [0xED, 0xA0, 0x80]), code: 1007),
            Violation(name: "text with an overlong form", bytes: serverFrame(1, [0xC0, 0xAF]), code: 1007),
            Violation(name: "text that ends in a character", bytes: serverFrame(1, [0x61, 0xE2, 0x82]), code: 1007),
            Violation(
                name: "text in fragments that is not UTF-8",
                bytes: serverFrame(1, [0x61], isFinal: false) + serverFrame(0, [0xFF]), code: 1007),
            Violation(name: "a close reason that is not UTF-8", bytes: serverClose(1000, [0xFF]), code: 1007),
            Violation(
                name: "a message of 2^62 bytes", bytes: [0x82, 127, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2], code: 1009),
            Violation(
                name: "fragments that exceed the limit together",
                bytes: serverFrame(2, [1], isFinal: false) + [0x80, 127, 0, 0, 0, 0, 0x40, 0, 0, 0], code: 1009),
        ]

    private static let headers: [Violation] = [
        Violation(name: "a reserved bit", bytes: [0xC1, 0], code: 1002),
        Violation(name: "a data opcode that is not defined", bytes: [0x83, 0], code: 1002),
        Violation(name: "a control opcode that is not defined", bytes: [0x8B, 0], code: 1002),
        Violation(name: "a masked frame", bytes: [0x81, 0x81, 1, 2, 3, 4, 0x60], code: 1002),
        Violation(name: "a ping in fragments", bytes: [0x09, 0], code: 1002),
        Violation(name: "a ping of 126 bytes", bytes: [0x89, 126, 0, 126], code: 1002),
        Violation(name: "125 in two bytes", bytes: [0x82, 126, 0, 125], code: 1002),
        Violation(name: "65535 in eight bytes", bytes: [0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], code: 1002),
        Violation(name: "a length of 2^63", bytes: [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], code: 1002),
        Violation(name: "a continuation of nothing", bytes: serverFrame(0, [1]), code: 1002),
        Violation(
            name: "a message in a message", bytes: serverFrame(1, [], isFinal: false) + serverFrame(1, []), code: 1002),
    ]

    private static let closes: [Violation] =
        [Violation(name: "a close frame of one byte", bytes: serverFrame(8, [3]), code: 1002)]
        + [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535].map {
            Violation(name: "the close code \($0)", bytes: serverClose($0), code: 1002)
        }
}
