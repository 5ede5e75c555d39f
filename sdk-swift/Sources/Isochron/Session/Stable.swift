import IsochronSession

/// Waits until every node of every region serves a timestamp; each connection in turn gets the remaining time.
final class StableExchange: AwaitedExchange<Timestamp> {
    private let timestamp: Timestamp
    /// The timestamp by now: above the first one if deferred writes are committed again, nil before that (M10).
    private let final: @SessionActor () -> Timestamp?
    private var asked: Timestamp = 0
    private let loop: Loop
    private let endMs: Double

    init(
        _ loop: Loop, _ timestamp: Timestamp, _ final: @escaping @SessionActor () -> Timestamp?, timeoutMs: Double,
        requestTimeoutMs: Double
    ) {
        self.timestamp = timestamp
        self.final = final
        self.loop = loop
        endMs = loop.nowMs + timeoutMs
        super.init()
        // The server's own answer comes first, if there is a server.
        deadlineMs = endMs + requestTimeoutMs
    }

    override func request(on connection: Connection) -> Request {
        let leftMs = min((endMs - loop.nowMs).rounded(.up), Duration.longestWaitMs)
        asked = final() ?? timestamp
        return .stable(ts: asked, timeoutMs: max(1, Int64(leftMs)))
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .stable(let ust) = answer.body else { throw unexpected(answer) }
        if ust < asked { throw IsochronError.malformed("a stable time below the one that was waited for") }
        let isFinal = final().map { $0 <= ust } ?? false
        if !isFinal {
            let code: IsochronError.Code = loop.nowMs < endMs ? .outcomePending : .stableTimeout
            throw IsochronError(code, "a write is being committed again")
        }
        done(ust)
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        // Asks again within a second. The node is not at fault.
        if error.code == .outcomePending { return Retry(refusals: 5, elsewhere: .nowhere) }
        return error.code == .stableTimeout ? nil : super.refused(error, on: connection)
    }

    override func expired(_ late: IsochronError) -> Bool {
        failed(IsochronError(.stableTimeout, "\(timestamp) did not become stable in time"))
        return true
    }
}
