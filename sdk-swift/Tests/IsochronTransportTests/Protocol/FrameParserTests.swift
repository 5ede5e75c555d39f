import Testing

@testable import Isochron

/// Feeds chunks; the violation, if any, is a part of the result.
private func parse(_ chunks: [[UInt8]], maxMessageBytes: Int = 1 << 20) -> (FrameParser.Received, ProtocolViolation?) {
    var parser = FrameParser(maxMessageBytes: maxMessageBytes)
    var received = FrameParser.Received()
    for chunk in chunks {
        let violation = chunk.withUnsafeBytes { bytes -> ProtocolViolation? in
            do throws(ProtocolViolation) {
                try parser.feed(bytes, into: &received)
                return nil
            } catch {
                return error
            }
        }
        if let violation { return (received, violation) }
    }
    return (received, nil)
}

private func cut(_ bytes: [UInt8], _ random: inout SeededRandom) -> [[UInt8]] {
    var chunks: [[UInt8]] = []
    var rest = bytes[...]
    let longest = Int.random(in: 1...40, using: &random)
    while !rest.isEmpty {
        let size = Int.random(in: 0...longest, using: &random)
        chunks.append(Array(rest.prefix(size)))
        rest = rest.dropFirst(size)
    }
    return chunks
}

@Suite("The frame parser")
struct FrameParserTests {
    @Test("A frame of any length is one message", arguments: [0, 1, 125, 126, 127, 5_000, 65_535, 65_536, 1 << 20])
    func lengths(count: Int) {
        let payload = (0..<count).map { UInt8($0 & 0x7f) }
        let (received, violation) = parse([serverFrame(2, payload) + serverFrame(1, payload)])
        #expect(violation == nil)
        #expect(received.messages == [.binary(payload), .text(String(decoding: payload, as: UTF8.self))])
    }

    @Test("Fragments are joined, with pings between them and empty ones among them")
    func fragments() {
        let bytes =
            serverFrame(1, Array("a".utf8), isFinal: false) + serverFrame(9, [1]) + serverFrame(0, [], isFinal: false)
            + serverFrame(10, [7]) + serverFrame(0, Array("bc".utf8), isFinal: false) + serverFrame(9, [2])
            + serverFrame(0, []) + serverFrame(2, [], isFinal: false) + serverFrame(0, [])
        let (received, violation) = parse([bytes])
        #expect(violation == nil)
        #expect(received.messages == [.text("abc"), .binary([])])
        #expect(received.pings == [[1], [2]])
    }

    @Test("A character may be divided between fragments")
    func cutCharacter() {
        let euro = Array("€".utf8)
        let bytes = serverFrame(1, Array(euro[..<1]), isFinal: false) + serverFrame(0, Array(euro[1...]))
        #expect(parse([bytes]).0.messages == [.text("€")])
    }

    @Test("No bytes are read after a close frame")
    func close() {
        let (received, violation) = parse([serverClose(4401, Array("who?".utf8)) + [0xff, 0xff], serverFrame(1, [])])
        #expect(violation == nil)
        #expect(received == FrameParser.Received(close: CloseFrame(code: 4401, reason: "who?")))
    }

    @Test("A close frame may be empty")
    func emptyClose() {
        #expect(parse([serverFrame(8, [])]).0.close == CloseFrame(code: nil, reason: ""))
    }

    @Test("A violation of the protocol has its code, and comes after the messages before it", arguments: Violation.all)
    func violations(violation: Violation) {
        let (received, error) = parse([serverFrame(1, [0x68]) + violation.bytes])
        #expect(error?.code == violation.code)
        #expect(received.messages == [.text("h")])
        let dripped = parse((serverFrame(1, [0x68]) + violation.bytes).map { [$0] })
        #expect(dripped.1 == error)
    }

    @Test("A message of exactly the limit is accepted, one byte more is not, whole and in fragments")
    func limit() {
        let fits = serverFrame(2, [1, 2, 3, 4])
        let fitsInParts = serverFrame(2, [1, 2, 3], isFinal: false) + serverFrame(0, [4])
        #expect(parse([fits, fitsInParts], maxMessageBytes: 4).0.messages.count == 2)
        #expect(parse([serverFrame(2, [1, 2, 3, 4, 5])], maxMessageBytes: 4).1?.code == 1009)
        let tooLong = serverFrame(2, [1, 2, 3], isFinal: false) + serverFrame(0, [4, 5])
        #expect(parse([tooLong], maxMessageBytes: 4).1?.code == 1009)
    }

    @Test("The parser reports whether the bytes end between two messages")
    func betweenMessages() throws {
        var parser = FrameParser(maxMessageBytes: 100)
        var received = FrameParser.Received()
        for (bytes, isBetween) in [
            ([0x81], false), ([0x01, 0x61], true), ([0x01, 0x01, 0x61], false), ([0x80, 0x01], false), ([0x62], true),
        ] as [([UInt8], Bool)] {
            try bytes.withUnsafeBytes { try parser.feed($0, into: &received) }
            #expect(parser.isBetweenMessages == isBetween)
        }
        #expect(received.messages == [.text("a"), .text("ab")])
    }

    @Test("A stream gives the same messages in chunks of any size", arguments: 0..<200)
    func anyCut(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let (bytes, messages, pings) = stream(&random)
        let (whole, violation) = parse([bytes])
        #expect(violation == nil)
        #expect(whole.messages == messages)
        #expect(whole.pings == pings)
        #expect(parse(cut(bytes, &random)).0 == whole)
    }

    @Test("Random bytes never trap the parser, and give the same result in chunks of any size", arguments: 0..<40)
    func randomBytes(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        for _ in 0..<50 {
            let bytes = noise(&random)
            let whole = parse([bytes], maxMessageBytes: 500)
            let inParts = parse(cut(bytes, &random), maxMessageBytes: 500)
            #expect(whole == inParts)
        }
    }
}

/// Valid frames: messages in random fragments, with pings between.
private func stream(_ random: inout SeededRandom) -> ([UInt8], [WebSocketMessage], [[UInt8]]) {
    var bytes: [UInt8] = []
    var messages: [WebSocketMessage] = []
    var pings: [[UInt8]] = []
    for _ in 0..<Int.random(in: 1...10, using: &random) {
        let isText = Bool.random(using: &random)
        let count = Int.random(in: 0...200, using: &random)
        let text = String((0..<count).map { _ in "aé€😀".randomElement(using: &random) ?? "a" })
        let payload = isText ? Array(text.utf8) : random.bytes(Int.random(in: 0...300, using: &random))
        let parts = cut(payload, &random) + [[]]
        for (index, part) in parts.enumerated() {
            let opcode: UInt8 = index > 0 ? 0 : isText ? 1 : 2
            bytes += serverFrame(opcode, part, isFinal: index == parts.count - 1)
            if Int.random(in: 0..<5, using: &random) == 0 {
                pings.append(random.bytes(Int.random(in: 0...125, using: &random)))
                bytes += serverFrame(9, pings[pings.count - 1])
            }
        }
        messages.append(isText ? .text(text) : .binary(payload))
    }
    return (bytes, messages, pings)
}

/// Random bytes, and frames of random headers, so that the deeper states are reached too.
private func noise(_ random: inout SeededRandom) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 1...8, using: &random) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes += random.bytes(Int.random(in: 0...30, using: &random))
        case 1: bytes += serverClose(UInt16.random(in: .min ... .max, using: &random), random.bytes(3))
        default:
            let opcode: UInt8 = [0, 1, 2, 8, 9, 10].randomElement(using: &random) ?? 0
            let payload = random.bytes(Int.random(in: 0...140, using: &random)).map { $0 & 0x7f }
            bytes += serverFrame(opcode, payload, isFinal: Bool.random(using: &random))
        }
    }
    return bytes
}
