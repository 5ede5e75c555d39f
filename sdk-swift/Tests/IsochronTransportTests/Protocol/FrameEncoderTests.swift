import Testing

@testable import Isochron

@Suite("The frame encoder and the outbox")
struct FrameEncoderTests {
    @Test("A message is one masked frame", arguments: [0, 1, 7, 8, 9, 125, 126, 127, 5_000, 65_535, 65_536, 1 << 20])
    func lengths(count: Int) {
        var encoder = FrameEncoder(random: SeededRandom(seed: UInt64(count)))
        let payload = (0..<count).map { UInt8($0 & 0x7f) }
        var bytes: [UInt8] = []
        encoder.append(.binary(payload), to: &bytes)
        encoder.append(.text(String(decoding: payload, as: UTF8.self)), to: &bytes)
        let frames = clientFrames(bytes)
        #expect(frames.map(\.opcode) == [2, 1])
        #expect(frames.allSatisfy { $0.isMasked && $0.payload == payload })
    }

    @Test("Each frame has a mask of its own")
    func masks() {
        var encoder = FrameEncoder(random: SystemRandomNumberGenerator())
        var masks: Set<[UInt8]> = []
        for _ in 0..<1_000 {
            var bytes: [UInt8] = []
            encoder.append(.ping, [], to: &bytes)
            masks.insert(Array(bytes.suffix(4)))
        }
        #expect(masks.count > 990)
    }

    @Test("A burst leaves in few runs, whole and in order, even in small steps")
    func outbox() {
        var random = SeededRandom(seed: 1)
        var outbox = Outbox()
        let messages = (0..<5_000).map { WebSocketMessage.text("\($0)" + String(repeating: "x", count: 200)) }
        outbox.add(Array(messages[..<1_000]))
        outbox.add(Array(messages[1_000...]))
        outbox.close(CloseFrame(sending: 1000, reason: "done"))
        var bytes: [UInt8] = []
        var calls = 0
        while let taken = outbox.withPending({ Array($0.prefix(Int.random(in: 1...300_000, using: &random))) }) {
            bytes += taken
            outbox.advance(taken.count)
            calls += 1
        }
        #expect(!outbox.hasPending)
        #expect(calls < 100)
        #expect(outbox.takeEncodedBytes() == messages.reduce(0) { $0 + $1.byteCount })
        let frames = clientFrames(bytes)
        let sent = frames.dropLast().map { WebSocketMessage.text(String(decoding: $0.payload, as: UTF8.self)) }
        #expect(sent == messages)
        #expect(frames.last?.closeCode == 1000)
    }

    @Test("An immediate closing handshake drops the messages, but not a frame that is half sent")
    func closeNow() {
        var outbox = Outbox()
        outbox.add([.text("first")])
        let head = outbox.withPending { Array($0.prefix(3)) } ?? []
        outbox.advance(head.count)
        outbox.add([.text("second")])
        outbox.closeNow(CloseFrame(sending: 1002, reason: ""))
        outbox.add([.text("third")])
        outbox.pong([1])
        let bytes = head + drain(&outbox)
        #expect(clientFrames(bytes).map(\.opcode) == [1, 8])
    }

    @Test("Pongs do not pile up behind a blocked socket: only the newest is kept")
    func pongs() {
        var outbox = Outbox()
        for index in 0..<20_000 { outbox.pong(Array("\(index)".utf8) + [UInt8](repeating: 0, count: 100)) }
        let frames = clientFrames(drain(&outbox))
        #expect(frames.count < 2_000)
        #expect(frames.last?.payload.starts(with: Array("19999".utf8)) == true)
    }

    @Test("Invalid codes and long reasons of close frames are corrected before the send")
    func closeFrames() {
        #expect(CloseFrame(sending: 1006, reason: "").code == 1000)
        #expect(CloseFrame(sending: 4401, reason: "x").code == 4401)
        let long = CloseFrame(sending: 1000, reason: String(repeating: "€", count: 100))
        #expect(long.reason == String(repeating: "€", count: 41))
        #expect(long.payload.count == 125)
    }
}

private func drain(_ outbox: inout Outbox) -> [UInt8] {
    var bytes: [UInt8] = []
    while let taken = outbox.withPending({ Array($0) }) {
        bytes += taken
        outbox.advance(taken.count)
    }
    return bytes
}
