import XCTest

@testable import Isochron

/// The channels of a shared socket beyond the vectors of `test/vectors`.
final class ChannelsTests: XCTestCase {
    private let channels = Channels(maxMessageBytes: 3 * ChannelLimits.chunkBytes)

    func testAnAnswerInPartsDoesNotDelayAnswersOfOtherChannels() throws {
        let (large, small) = (channels.open("x"), channels.open("x"))
        let chunk = bytes(ChannelLimits.chunkBytes, 7)
        let first = try receive(Entry(channel: large, content: .part(chunk[...])))
        let second = try receive(text(small, "short"))
        let last = try receive(Entry(channel: large, content: .bytes([7, 7])))
        XCTAssertEqual(first, [])
        XCTAssertEqual(second, [.received(small, .text("short"))])
        XCTAssertEqual(last, [.received(large, .binary(chunk + [7, 7]))])
    }

    func testALargeRequestLeavesInPartsBetweenRequestsOfOtherChannels() throws {
        let (large, small) = (channels.open("x"), channels.open("x"))
        _ = sent()
        channels.send(large, .binary(bytes(3 * ChannelLimits.chunkBytes, 1)))
        channels.send(small, .text("short"))
        let messages = try sent().map(read)
        XCTAssertEqual(messages.map { $0.map(\.channel) }, [[large], [small, large], [large]])
        for message in messages { XCTAssertLessThanOrEqual(size(of: message), ChannelLimits.maxMessageBytes) }
    }

    func testAChannelSendsAWindowAndContinuesWithMoreCredit() throws {
        let channel = channels.open("x")
        let entries = ChannelLimits.windowBytes / (ChannelLimits.chunkBytes + ChannelLimits.headerBytes)
        for _ in 0...entries { channels.send(channel, .binary(bytes(ChannelLimits.chunkBytes, 1))) }
        XCTAssertEqual(try sent().flatMap(read).filter(isData).count, entries)
        _ = try receive(Entry(channel: channel, content: .credit(ChannelLimits.windowBytes / 2)))
        XCTAssertEqual(try sent().flatMap(read).count, 1)
    }

    func testAChannelWithoutCreditLeavesItsPlaceAmongTheMessagesInPartsToOthers() throws {
        let all = (0..<7).map { _ in channels.open("x") }
        let chunk = ChannelLimits.chunkBytes
        // Two channels have used up their windows. Four others have begun a message that is larger than theirs.
        let (stuck, cutting) = (all.prefix(2), all[2..<6])
        for channel in stuck { for _ in 0..<15 { channels.send(channel, .binary(bytes(chunk, 1))) } }
        for channel in cutting { channels.send(channel, .binary(bytes(16 * chunk, 1))) }
        _ = sent()
        for channel in stuck { channels.send(channel, .binary(bytes(2 * chunk, 1))) }
        channels.send(all[6], .binary(bytes(2 * chunk, 2)))
        XCTAssertEqual(try sent().flatMap(read), [])
        // One of the four ends. The two channels that are offered its place cannot use it.
        _ = try receive(Entry(channel: all[2], content: .credit(chunk + ChannelLimits.headerBytes)))
        let entries = try sent().flatMap(read)
        XCTAssertEqual(entries.map(\.channel), [all[2], all[6], all[6]])
    }

    func testReceivedBytesAreGrantedAgain() throws {
        let channel = channels.open("x")
        _ = sent()
        for i in 1...100 {
            _ = try receive(Entry(channel: channel, content: .bytes(bytes(ChannelLimits.chunkBytes, 1)[...])))
            if i == 8 {
                let granted = 8 * (ChannelLimits.chunkBytes + ChannelLimits.headerBytes)
                XCTAssertEqual(try sent().map(read), [[Entry(channel: channel, content: .credit(granted))]])
            } else if i % 8 == 0 {
                XCTAssertEqual(sent().count, 1)
            }
        }
    }

    func testAServerThatSendsMoreThanItWasGrantedBreaksTheRules() throws {
        let channel = channels.open("x")
        let entry = Entry(channel: channel, content: .part(bytes(ChannelLimits.chunkBytes, 1)[...]))
        let wide = Channels(maxMessageBytes: 1 << 30)
        _ = wide.open("x")
        var fault: ChannelFault?
        for _ in 0..<17 where fault == nil {
            var events: [Channels.Event] = []
            do throws(ChannelFault) { try wide.receive(message(of: [entry]), into: &events) } catch { fault = error }
        }
        XCTAssertEqual(fault, .invalid("channel 1 was sent more than granted"))
    }

    func testAMessageAboveTheLimitAndInvalidTextEndOnlyTheirChannel() throws {
        let (large, bad, other) = (channels.open("x"), channels.open("x"), channels.open("x"))
        _ = sent()
        let part = Entry(channel: large, content: .part(bytes(ChannelLimits.chunkBytes, 1)[...]))
        for _ in 0..<3 { XCTAssertEqual(try receive(part), []) }
        let refused = try receive(part) + receive(Entry(channel: bad, content: .text([0xff])))
        XCTAssertEqual(refused.map(code), [1009, 1007])
        XCTAssertEqual(try sent().flatMap(read).map(\.channel), [large, bad])
        XCTAssertEqual(try receive(part), [])
        XCTAssertEqual(try receive(text(other, "goes on")), [.received(other, .text("goes on"))])
    }

    func testAChannelNumberIsUsedOnceAndKeepsItsPlaceUntilBothSidesHaveClosed() throws {
        let first = channels.open("x")
        channels.send(first, .text("last"))
        channels.close(first, 1000, "")
        channels.send(first, .text("too late"))
        let contents = try sent().flatMap(read).map(\.content)
        let last = Entry.Content.text(Array("last".utf8)[...])
        XCTAssertEqual(contents, [.open(subprotocol: "x"), last, .close(code: 1000, reason: "")])
        XCTAssertEqual(channels.count, 1)
        XCTAssertEqual(try receive(text(first, "crosses the close")), [])
        let close = Entry(channel: first, content: .close(code: 1012, reason: "restart"))
        XCTAssertEqual(try receive(close), [.closed(first, CloseFrame(code: 1012, reason: "restart"))])
        XCTAssertEqual(channels.count, 0)
        XCTAssertEqual(try receive(close), [])
        XCTAssertEqual(channels.open("x"), first + 1)
    }

    func testASocketHasABoundedNumberOfChannels() {
        while channels.free > 0 { _ = channels.open("x") }
        XCTAssertEqual(channels.count, ChannelLimits.maxChannels)
        let messages = sent()
        XCTAssertEqual(messages.count, 1)
        for number in 1...UInt32(ChannelLimits.maxChannels) { channels.close(number, 1000, "") }
        _ = sent()
        XCTAssertEqual(channels.free, 0)
    }

    func testAnyInputFromTheServerEndsInEventsOrAFaultAndAChannelIsClosedOnce() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(state: seed)
        for _ in 0..<2000 {
            let channels = Channels(maxMessageBytes: 2 * ChannelLimits.chunkBytes)
            for _ in 0..<4 { _ = channels.open("x") }
            var events: [Channels.Event] = []
            do throws(ChannelFault) {
                for _ in 0..<Int.random(in: 1...30, using: &random) {
                    let channel = UInt32.random(in: 0...5, using: &random)
                    switch Int.random(in: 0...7, using: &random) {
                    case 0: channels.close(channel, 1000, "")
                    case 1: channels.send(channel, .text("sent"))
                    case 2: _ = channels.takeMessage()
                    default: try channels.receive(damaged(channel, &random), into: &events)
                    }
                }
            } catch {
                XCTAssert([4400, 1009].contains(error.code), "seed \(seed): \(error)")
            }
            var closed: Set<UInt32> = []
            for case .closed(let channel, _) in events {
                XCTAssert(closed.insert(channel).inserted, "seed \(seed): channel \(channel) is closed twice")
            }
            for case .received(let channel, _) in events { XCTAssert((1...4).contains(channel), "seed \(seed)") }
        }
    }

    /// A message of a few entries, sometimes with changed bytes or a missing end.
    private func damaged(_ channel: UInt32, _ random: inout SplitMix) -> [UInt8] {
        var message: [UInt8] = []
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let kind = UInt8.random(in: 1...6, using: &random)
            let length = Int.random(in: 0...6, using: &random)
            var payload = (0..<length).map { _ in UInt8.random(in: 0...127, using: &random) }
            if kind == 5 { payload = [3, 232] + payload }
            if kind == 6 { payload = [0, 0, 0, 0] }
            message += [kind == 1 ? 3 : kind, 0, 0, 0, UInt8(channel), 0, 0, 0, UInt8(payload.count)] + payload
        }
        if Int.random(in: 0...5, using: &random) == 0, !message.isEmpty {
            message[Int.random(in: 0..<message.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        if Int.random(in: 0...9, using: &random) == 0 { message = Array(message.dropLast()) }
        return message
    }

    private func receive(_ entry: Entry) throws -> [Channels.Event] {
        var events: [Channels.Event] = []
        try channels.receive(message(of: [entry]), into: &events)
        return events
    }

    /// All output.
    private func sent() -> [[UInt8]] {
        var messages: [[UInt8]] = []
        while let message = channels.takeMessage() { messages.append(message) }
        return messages
    }

    private func text(_ channel: UInt32, _ text: String) -> Entry {
        Entry(channel: channel, content: .text(Array(text.utf8)[...]))
    }

    private func bytes(_ count: Int, _ fill: UInt8) -> [UInt8] { Array(repeating: fill, count: count) }

    private func size(of entries: [Entry]) -> Int { message(of: entries).count }

    private func isData(_ entry: Entry) -> Bool {
        if case .bytes = entry.content { true } else { false }
    }

    private func code(_ event: Channels.Event) -> UInt16? {
        if case .refused(_, let close) = event { close.code } else { nil }
    }
}

/// SplitMix64: a seed reproduces the draws of a test.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
