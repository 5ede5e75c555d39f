import IsochronSession

extension ClientCore {
    /// Reads one page of the change feed (CF1, CF2). The cursor is the whole state of a reader: any node goes on from
    /// it. Fails with CHANGES_GONE for one that is too old. Throws NOT_SUPPORTED_BY_PROTOCOL.
    func changes(_ scope: String, after: Timestamp?, waitMs: Double, _ caller: @escaping Caller<ChangesPage>) throws
        -> any Cancellable
    {
        if !can("changes") { throw unsupported("has no change feed: read again") }
        let exchange = ChangesExchange(self, scope, after: after, waitMs: waitMs)
        exchange.run({ connector.dispatcher.submit($0) }, caller)
        return exchange
    }
}

/// One page of the change feed. It waits at the node by design.
private final class ChangesExchange: AwaitedExchange<ChangesPage> {
    private let loop: Loop
    private let scope: String
    private let after: Timestamp?
    private let endMs: Double
    private var overdue: LoopTimer?

    init(_ core: ClientCore, _ scope: String, after: Timestamp?, waitMs: Double) {
        loop = core.loop
        self.scope = scope
        self.after = after
        endMs = core.loop.nowMs + waitMs
        super.init()
        // The server's own answer comes first, unless there is no server.
        overdue = loop.after(waitMs + core.settings.requestTimeoutMs) { [weak self, weak core] in
            self?.failed(IsochronError.late(isOffline: core?.connector.current == nil))
        }
    }

    override var waits: Bool { true }

    /// The remaining time goes with it from one connection to the next.
    override func request(on connection: Connection) -> Request {
        .changes(ChangesRequest(scope: scope, after: after, waitMs: Int64(max(0, endMs - loop.nowMs).rounded(.up))))
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .changes(let frame) = answer.body else { throw unexpected(answer) }
        let page = try ChangesPage(frame, after: after)
        loop.cancel(overdue)
        done(page)
    }

    override func failed(_ error: any Error) {
        loop.cancel(overdue)
        super.failed(error)
    }
}
