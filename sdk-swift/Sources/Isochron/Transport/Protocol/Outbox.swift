/// The output of one connection: messages in order, encoded in runs, so that a burst takes few system calls. No I/O.
struct Outbox {
    /// Messages are encoded until a run has this many bytes; one message may be longer.
    static let runBytes = 256 << 10
    /// Above this many waiting bytes, pongs wait too, and only the newest is sent (RFC 6455 section 5.5.3).
    static let pongBytes = 64 << 10

    private var encoder = FrameEncoder(random: SystemRandomNumberGenerator())
    private var queue: [WebSocketMessage] = []
    private var next = 0
    private var latePong: [UInt8]?
    /// Sent after all queued messages.
    private var last: CloseFrame?
    private var isLastEncoded = false
    private var frames: [UInt8] = []
    private var sent = 0
    /// Payload bytes that have left the queue since `takeEncodedBytes`.
    private var encodedBytes = 0

    /// Whether a closing handshake has been begun or answered.
    var isClosing: Bool { last != nil }

    /// Whether any output waits.
    var hasPending: Bool {
        sent < frames.count || next < queue.count || latePong != nil || (last != nil && !isLastEncoded)
    }

    mutating func add(_ messages: [WebSocketMessage]) {
        guard last == nil else {
            encodedBytes += messages.reduce(0) { $0 + $1.byteCount }
            return
        }
        if next == queue.count {
            queue = messages
            next = 0
        } else {
            queue.append(contentsOf: messages)
        }
    }

    mutating func pong(_ payload: [UInt8]) {
        guard last == nil else { return }
        if frames.count - sent > Self.pongBytes {
            latePong = payload
        } else {
            encoder.append(.pong, payload, to: &frames)
        }
    }

    /// The closing handshake, after all queued messages.
    mutating func close(_ frame: CloseFrame) {
        if last == nil { last = frame }
    }

    /// The closing handshake at once: queued messages are dropped. Encoded bytes go first: a frame may be half sent.
    mutating func closeNow(_ frame: CloseFrame) {
        dropQueue()
        close(frame)
    }

    /// Drops all output: sending is not possible any more.
    mutating func drop() {
        dropQueue()
        latePong = nil
        last = last ?? CloseFrame(code: nil, reason: "")
        isLastEncoded = true
        frames = []
        sent = 0
    }

    /// Bytes that have left the queue since the last call.
    mutating func takeEncodedBytes() -> Int {
        defer { encodedBytes = 0 }
        return encodedBytes
    }

    /// Passes the next bytes to `send`, which returns the number that it took. Does nothing without output.
    mutating func withPending<Outcome>(_ send: (UnsafeRawBufferPointer) -> Outcome) -> Outcome? {
        fill()
        guard sent < frames.count else { return nil }
        return frames.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
    }

    /// `count` bytes were taken.
    mutating func advance(_ count: Int) {
        sent = min(frames.count, sent + max(0, count))
    }

    /// Encodes the next run once the one before has left, so that no bytes are moved.
    private mutating func fill() {
        guard sent == frames.count else { return }
        sent = 0
        // Releases the memory of a giant message.
        frames.removeAll(keepingCapacity: frames.capacity <= 4 * Self.runBytes)
        if let payload = latePong {
            latePong = nil
            encoder.append(.pong, payload, to: &frames)
        }
        while next < queue.count, frames.count < Self.runBytes {
            encoder.append(queue[next], to: &frames)
            encodedBytes += queue[next].byteCount
            next += 1
        }
        if next == queue.count { dropQueue() }
        if next == queue.count, let last, !isLastEncoded {
            isLastEncoded = true
            encoder.append(.close, last.payload, to: &frames)
        }
    }

    private mutating func dropQueue() {
        while next < queue.count {
            encodedBytes += queue[next].byteCount
            next += 1
        }
        queue = []
        next = 0
    }
}

extension WebSocketMessage {
    /// Bytes of the payload.
    var byteCount: Int {
        switch self {
        case .text(let text): return text.utf8.count
        case .binary(let bytes): return bytes.count
        }
    }
}
