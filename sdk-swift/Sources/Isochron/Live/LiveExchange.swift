import IsochronSession

/// The owner of the requests for changes.
@SessionActor
protocol LiveRequests: AnyObject {
    /// Whether the request has not been replaced by a newer one.
    func isNewest(_ exchange: LiveExchange) -> Bool
    /// The fields of a request that is sent now.
    func request(_ exchange: LiveExchange, on connection: Connection) -> LiveRequest
    func answered(_ exchange: LiveExchange, _ answer: LiveAnswer)
    /// The node did not take the request.
    func refused(_ exchange: LiveExchange)
    func failed(_ exchange: LiveExchange, _ error: IsochronError)
}

/// One request for the changes of the connection's scopes. It waits at the node by design.
final class LiveExchange: Exchange {
    private let core: ClientCore
    private weak var requests: (any LiveRequests)?
    /// Rises with every request that is sent.
    var number = 0
    private(set) var after: Timestamp = 0
    private(set) var waitMs = 0.0
    /// The numbers of the scopes that it names.
    var added: [ScopeId: Int64] = [:]
    private(set) var removed: [Int64] = []
    private var isSent = false
    private var overdue: LoopTimer?

    init(_ core: ClientCore, _ requests: any LiveRequests) {
        self.core = core
        self.requests = requests
    }

    /// Whether it leaves with the next message.
    var isUnsent: Bool { !isSent && !settled }

    override var waits: Bool { true }

    override var repeats: Bool { requests?.isNewest(self) ?? false }

    override func request(on connection: Connection) throws -> Request {
        guard let requests else { throw IsochronError.clientWasClosed }
        let live = requests.request(self, on: connection)
        (after, waitMs, removed) = (live.after, Double(live.waitMs), live.remove)
        isSent = true
        core.loop.cancel(overdue)
        // The node is alive, or the heartbeat would have noticed, and yet owes this answer.
        overdue = core.loop.after(waitMs + core.settings.requestTimeoutMs) { [weak self, weak core] in
            if let self { _ = core?.connector.suspect(self) }
        }
        return .live(live)
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .live(let frame) = answer.body else { throw unexpected(answer) }
        let live = try LiveAnswer(frame, after: after)
        core.loop.cancel(overdue)
        settled = true
        requests?.answered(self, live)
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        core.loop.cancel(overdue)
        if error.code == .frameInvalid { return nil }
        let rests = error.code != .changesGone && error.code != .snapshotTooOld && repeats
        if rests { isSent = false }
        requests?.refused(self)
        if !rests { return nil }
        return super.refused(error, on: connection)
    }

    override func failed(_ error: any Error) {
        if settled { return }
        core.loop.cancel(overdue)
        super.failed(error)
        requests?.failed(self, IsochronError.of(error))
    }
}
