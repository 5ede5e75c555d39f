import IsochronSession
import XCTest

@testable import Isochron

/// Shared sockets send the same bytes as in TypeScript. The vectors come from `test/vectors`.
final class ChannelVectorTests: XCTestCase {
    func testTheBytesOfEveryKindOfEntryAreWrittenAndReadAsInTypeScript() throws {
        let cases = try vectors("channels.json").items("entries")
        XCTAssertGreaterThan(cases.count, 8)
        for item in cases {
            let members = try item.members("case")
            let entries = try members.items("entries").map(Entry.init)
            let bytes = try bytes(members.text("hex"))
            XCTAssertEqual(try read(bytes), entries)
            XCTAssertEqual(message(of: entries), bytes)
        }
    }

    func testADamagedMessageEndsTheSocketForTheSameReasonAsInTypeScript() throws {
        let cases = try vectors("channels.json").items("faults")
        XCTAssertGreaterThan(cases.count, 20)
        for item in cases {
            let members = try item.members("case")
            let channels = Channels(maxMessageBytes: 1 << 20)
            _ = channels.open("x")
            while channels.takeMessage() != nil {}
            var events: [Channels.Event] = []
            let damaged = try bytes(members.text("hex"))
            var fault: String?
            do throws(ChannelFault) {
                try channels.receive(damaged, into: &events)
            } catch {
                fault = "\(error.code) \(error.message)"
            }
            XCTAssertEqual(fault, try members["fault"]?.text("fault"))
        }
    }

    func testAClientSendsTheSameBytesAndReportsTheSameEventsAsInTypeScript() throws {
        let sequences = try vectors("channels.json").items("sequences")
        XCTAssertGreaterThan(sequences.count, 50)
        for (i, sequence) in sequences.enumerated() {
            let channels = Channels(maxMessageBytes: 8 * ChannelLimits.chunkBytes)
            for (j, step) in try sequence.items("sequence").enumerated() {
                let members = try step.members("step")
                try run(members, on: channels, "sequence \(i), step \(j)")
            }
        }
    }

    private func run(_ step: Raw.Members, on channels: Channels, _ place: String) throws {
        let channel = UInt32(try step["channel"]?.count("channel") ?? 0)
        switch try step.text("do") {
        case "open": XCTAssertEqual(channels.open(JSONCodec.subprotocol), channel, place)
        case "send": channels.send(channel, try WebSocketMessage(step))
        case "close": channels.close(channel, 1000, "")
        case "take":
            let expected = try step["entries"]?.items("entries").map(Entry.init)
            XCTAssertEqual(channels.takeMessage(), expected.map(message(of:)), place)
        default:
            var events: [Channels.Event] = []
            try channels.receive(message(of: try step.items("entries").map(Entry.init)), into: &events)
            XCTAssertEqual(events, try step.items("events").map(Channels.Event.init), place)
        }
    }
}

private func bytes(_ hex: String) throws -> [UInt8] {
    let digits = Array(hex.utf8)
    return try stride(from: 0, to: digits.count, by: 2).map { at in
        try XCTUnwrap(UInt8(String(decoding: digits[at..<at + 2], as: UTF8.self), radix: 16))
    }
}

extension Raw.Members {
    /// Repeated copies of one byte.
    fileprivate var payload: [UInt8] {
        get throws {
            let length = Int(try required("length").count("length"))
            return Array(repeating: UInt8(try self["fill"]?.count("fill") ?? 0), count: length)
        }
    }
}

extension WebSocketMessage {
    fileprivate init(_ members: Raw.Members) throws {
        let bytes = try members.payload
        self = members["isText"] == .bool(true) ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
    }
}

extension Entry {
    fileprivate init(_ raw: Raw) throws {
        let members = try raw.members("entry")
        let kind = try XCTUnwrap(Kind(rawValue: UInt8(try members.required("kind").count("kind"))))
        let content: Content
        switch kind {
        case .open: content = .open(subprotocol: try members.text("text"))
        case .part: content = .part(try members.payload[...])
        case .text: content = .text(try members.payload[...])
        case .bytes: content = .bytes(try members.payload[...])
        case .close:
            content = .close(
                code: UInt16(try members.required("number").count("code")), reason: try members.text("text"))
        case .credit: content = .credit(Int(try members.required("number").count("bytes")))
        }
        self.init(channel: UInt32(try members.required("channel").count("channel")), content: content)
    }
}

extension Channels.Event {
    fileprivate init(_ raw: Raw) throws {
        let members = try raw.members("event")
        if let channel = try members["received"]?.count("received") {
            self = .received(UInt32(channel), try WebSocketMessage(members))
        } else {
            let code = UInt16(try members.required("code").count("code"))
            let channel = UInt32(try members.required("closed").count("closed"))
            self = .closed(channel, CloseFrame(code: code, reason: try members.text("reason")))
        }
    }
}
