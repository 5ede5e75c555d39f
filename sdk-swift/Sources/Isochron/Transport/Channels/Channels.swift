/// The channels of a shared socket, on the client's side. No I/O: messages of the socket go in and come out, sessions
/// open, send, receive and close.
///
/// Invariants: the messages of a channel arrive whole and in order. Channels take turns, one entry each. On a channel a
/// side sends at most a window beyond the bytes that the other side has taken in. A number is used once, and numbers
/// only rise; a channel keeps its place until both sides have closed it, and later data for it is dropped.
final class Channels {
    /// A received event, in order.
    enum Event: Sendable, Hashable {
        case received(UInt32, WebSocketMessage)
        /// The channel received invalid data: this side has closed it, and its session has to end.
        case refused(UInt32, CloseFrame)
        /// The peer has closed the channel, or answered the close of this side. Its last event.
        case closed(UInt32, CloseFrame)
    }

    private let maxMessageBytes: Int
    private var channels: [UInt32: Channel] = [:]
    private let turns = Turns()
    /// Channels that have taken in enough for a new grant to the peer.
    private var grants: [Channel] = []
    private var last: UInt32 = 0

    /// - Parameter maxMessageBytes: largest accepted message of a session
    init(maxMessageBytes: Int) {
        self.maxMessageBytes = maxMessageBytes
    }

    /// Number of channels that are not closed by both sides.
    var count: Int { channels.count }

    /// Number of channels that may be opened now.
    var free: Int { last == .max ? 0 : ChannelLimits.maxChannels - channels.count }

    /// Whether `takeMessage` may return a message.
    var hasOutput: Bool { !turns.isEmpty || !grants.isEmpty }

    /// Opens a channel, and returns its number. Only if one is `free`.
    func open(_ subprotocol: String) -> UInt32 {
        last += 1
        let channel = Channel(last, subprotocol: subprotocol)
        channels[last] = channel
        turns.add(channel)
        return last
    }

    /// Sends a message, after those that were sent before it. No effect on a channel that is closed or closing.
    func send(_ number: UInt32, _ message: WebSocketMessage) {
        guard let channel = channels[number], channel.closing == nil else { return }
        // A channel with a message waits for its turn, for credit, or for a place among the messages in parts.
        if channel.outgoing == nil { turns.add(channel) }
        channel.add(message)
    }

    /// Closes a channel, after its queued messages as far as the peer grants credit. Later data on it is dropped,
    /// except for the peer's close. No effect on a closed channel.
    func close(_ number: UInt32, _ code: UInt16, _ reason: String) {
        guard let channel = channels[number], channel.closing == nil else { return }
        channel.closing = (code, reason)
        dropIncoming(channel)
        turns.add(channel)
    }

    /// Reads a message of the socket. Events before a fault are in `events`.
    func receive(_ message: [UInt8], into events: inout [Event]) throws(ChannelFault) {
        var reader = try EntryReader(message)
        while let entry = try reader.next() {
            let number = entry.channel
            if case .open = entry.content { throw .invalid("only clients open channels") }
            guard number <= last else { throw .invalid("channel \(number) was never opened") }
            guard let channel = channels[number] else { continue }
            switch entry.content {
            case .open: break
            case .part(let bytes): try take(channel, bytes, nil, &events)
            case .text(let bytes): try take(channel, bytes, .text, &events)
            case .bytes(let bytes): try take(channel, bytes, .bytes, &events)
            case .close(let code, let reason): closed(channel, CloseFrame(code: code, reason: reason), &events)
            case .credit(let bytes): try credit(channel, bytes)
            }
        }
    }

    /// The next message of the socket; nil if there is none.
    func takeMessage() -> [UInt8]? {
        var writer = EntryWriter()
        var granted = 0
        while granted < grants.count, writer.hasRoom {
            let channel = grants[granted]
            granted += 1
            guard channel.isGranting else { continue }
            channel.isGranting = false
            writer.credit(channel.number, ChannelLimits.windowBytes - channel.inCredit)
            channel.inCredit = ChannelLimits.windowBytes
        }
        grants.removeFirst(granted)
        for channel in turns.write(&writer) where channel.receivedClose { channels[channel.number] = nil }
        return writer.isEmpty ? nil : writer.take()
    }

    /// - Parameter end: the kind of the message at its end; nil for a part that others follow
    private func take(
        _ channel: Channel, _ payload: ArraySlice<UInt8>, _ end: Entry.Kind?, _ events: inout [Event]
    ) throws(ChannelFault) {
        guard channel.closing == nil else { return }
        channel.inCredit -= payload.count + ChannelLimits.headerBytes
        guard channel.inCredit >= 0 else { throw .invalid("channel \(channel.number) was sent more than granted") }
        let isWhole = end != nil && !channel.isPartial
        guard isWhole ? payload.count <= maxMessageBytes : channel.append(payload, maxBytes: maxMessageBytes) else {
            let violation = ProtocolViolation.tooBig(limit: maxMessageBytes)
            return refuse(channel, violation, &events)
        }
        if let end {
            let bytes = isWhole ? payload : channel.takeAssembly()[...]
            guard let message = Self.message(end, bytes) else {
                return refuse(channel, .invalidText("text that is not UTF-8"), &events)
            }
            events.append(.received(channel.number, message))
        }
        // Early: before the window is used up.
        if channel.inCredit <= ChannelLimits.windowBytes / 2, !channel.isGranting {
            channel.isGranting = true
            grants.append(channel)
        }
    }

    /// Nil for invalid text.
    private static func message(_ kind: Entry.Kind, _ bytes: ArraySlice<UInt8>) -> WebSocketMessage? {
        if kind == .bytes { return .binary(Array(bytes)) }
        return bytes.withUnsafeBytes(exactText).map { .text($0) }
    }

    private func refuse(_ channel: Channel, _ violation: ProtocolViolation, _ events: inout [Event]) {
        close(channel.number, violation.code, "")
        events.append(.refused(channel.number, CloseFrame(code: violation.code, reason: violation.message)))
    }

    private func credit(_ channel: Channel, _ bytes: Int) throws(ChannelFault) {
        if channel.sentClose { return }
        channel.outCredit += bytes
        guard channel.outCredit <= ChannelLimits.windowBytes else {
            throw .invalid("channel \(channel.number) was granted too much")
        }
        if channel.outgoing != nil { turns.add(channel) }
    }

    private func closed(_ channel: Channel, _ close: CloseFrame, _ events: inout [Event]) {
        if channel.receivedClose { return }
        channel.receivedClose = true
        dropIncoming(channel)
        channel.dropOutgoing()
        turns.drop(channel)
        if channel.sentClose {
            channels[channel.number] = nil
        } else {
            if channel.closing == nil { channel.closing = (close.code ?? 1000, "") }
            turns.add(channel)
        }
        events.append(.closed(channel.number, close))
    }

    private func dropIncoming(_ channel: Channel) {
        _ = channel.takeAssembly()
        channel.isGranting = false
    }
}
