/// The output of a shared socket: channels take turns, one entry each.
final class Turns {
    /// Channels that may have output, in the order of turns: each is `isReady`.
    private var ready: [Channel] = []
    /// Numbers of the channels whose message is cut and has begun to leave.
    private var cutting: Set<UInt32> = []
    /// Channels that wait for a place in `cutting`.
    private var waiting: [Channel] = []

    var isEmpty: Bool { ready.isEmpty }

    func add(_ channel: Channel) {
        guard !channel.isReady else { return }
        channel.isReady = true
        ready.append(channel)
    }

    /// Drops the output of a channel.
    func drop(_ channel: Channel) {
        if channel.isReady { ready.removeAll { $0 === channel } }
        channel.isReady = false
        waiting.removeAll { $0 === channel }
        cutting.remove(channel.number)
        offerPlace()
    }

    /// Writes until the message is full or no output is left. Returns the channels whose close it has written.
    func write(_ writer: inout EntryWriter) -> [Channel] {
        var closed: [Channel] = []
        var next = 0
        // A channel that is added again comes last.
        while next < ready.count, writer.hasRoom {
            let channel = ready[next]
            next += 1
            channel.isReady = false
            if turn(channel, &writer) {
                add(channel)
            } else if channel.closing != nil, !channel.sentClose {
                close(channel, &writer)
                closed.append(channel)
            }
        }
        ready.removeFirst(next)
        return closed
    }

    /// Writes an entry. Returns whether another one may follow.
    private func turn(_ channel: Channel, _ writer: inout EntryWriter) -> Bool {
        if let subprotocol = channel.subprotocol {
            writer.open(channel.number, subprotocol)
            channel.subprotocol = nil
        }
        guard let message = channel.outgoing else { return false }
        let size = min(message.bytes.count - message.offset, ChannelLimits.chunkBytes)
        let end = message.offset + size
        let isLast = end == message.bytes.count
        guard isLast || cutting.contains(channel.number) || cutting.count < ChannelLimits.maxPartials else {
            // A close does not wait for a place.
            if channel.closing == nil, !waiting.contains(where: { $0 === channel }) { waiting.append(channel) }
            return false
        }
        // Data without the peer's credit does not delay a close either.
        guard channel.outCredit >= size + ChannelLimits.headerBytes else {
            // It may have been offered a place that it cannot take now.
            offerPlace()
            return false
        }
        writer.data(isLast ? message.kind : .part, channel.number, message.bytes[message.offset..<end])
        channel.outCredit -= size + ChannelLimits.headerBytes
        if isLast {
            channel.removeOutgoing()
            if cutting.remove(channel.number) != nil { offerPlace() }
        } else {
            channel.advance(size)
            cutting.insert(channel.number)
        }
        return true
    }

    private func close(_ channel: Channel, _ writer: inout EntryWriter) {
        guard let (code, reason) = channel.closing else { return }
        writer.close(channel.number, code, reason)
        channel.sentClose = true
        channel.dropOutgoing()
        drop(channel)
    }

    /// Offers a place among the messages in parts to the next channel that waits for one.
    private func offerPlace() {
        guard cutting.count < ChannelLimits.maxPartials, !waiting.isEmpty else { return }
        add(waiting.removeFirst())
    }
}
