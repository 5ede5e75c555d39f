import IsochronSession

/// Waits until every node of every region serves a timestamp; each connection in turn gets the remaining time.
final class StableExchange: AwaitedExchange<Timestamp> {
    private let timestamp: Timestamp
    private let loop: Loop
    private let endMs: Double

    init(_ loop: Loop, _ timestamp: Timestamp, timeoutMs: Double, requestTimeoutMs: Double) {
        self.timestamp = timestamp
        self.loop = loop
        endMs = loop.nowMs + timeoutMs
        super.init()
        // The server's own answer comes first, if there is a server.
        deadlineMs = endMs + requestTimeoutMs
    }

    override func request(on connection: Connection) -> Request {
        let leftMs = min((endMs - loop.nowMs).rounded(.up), Duration.longestWaitMs)
        return .stable(ts: timestamp, timeoutMs: max(1, Int64(leftMs)))
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .stable(let ust) = answer.body else { throw unexpected(answer) }
        if ust < timestamp { throw IsochronError.malformed("a stable time below the one that was waited for") }
        done(ust)
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        error.code == .stableTimeout ? nil : super.refused(error, on: connection)
    }

    override func expired(_ late: IsochronError) -> Bool {
        failed(IsochronError(.stableTimeout, "\(timestamp) did not become stable in time"))
        return true
    }
}
