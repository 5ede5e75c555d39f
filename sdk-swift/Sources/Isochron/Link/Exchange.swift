import IsochronSession

/// Receives the outcome, once.
typealias Caller<Outcome> = @SessionActor (Result<Outcome, any Error>) -> Void

/// A request that can be cancelled.
@SessionActor
protocol Cancellable: AnyObject {
    /// The caller does not wait any more.
    func cancel(_ reason: any Error)
}

/// One request with its repetitions: sent on one connection after the other until it is answered, refused for good or
/// late.
///
/// The link uses this class; `AwaitedExchange` adds the type of the outcome.
@SessionActor
class Exchange: Cancellable {
    /// Possibly permanent faults: a few repetitions only. All other retryable refusals are repeated until the deadline.
    private static let rarelyTransient: Set<IsochronError.Code> = [.internal, .storageFailed, .frameInvalid]
    private static let maxRarelyTransient = 3
    /// Refusals of a node that another node or region may not share.
    private static let elsewhere: [IsochronError.Code: Elsewhere] = [
        .notReady: .node, .replicaUnreachable: .region, .rateLimited: .nowhere,
    ]
    /// Refusals in a row after which another endpoint is asked.
    private static let elsewhereAfter = 3

    /// Monotonic time at which the wait ends.
    var deadlineMs = Double.infinity
    /// Answered, failed or cancelled: later answers are ignored.
    var settled = false
    private var refusals = 0
    private var lastRefusal: IsochronError?

    /// Whether a client that closes goes on with it for a while.
    var isWrite: Bool { false }

    /// Whether it is sent again after the loss of its connection.
    var repeats: Bool { true }

    /// Whether its answer may be far off by design: it is no sign of a dead connection, and keeps none open. It has no
    /// deadline of the dispatcher's.
    var waits: Bool { false }

    /// Whether the session takes the token of its answer. If nodes keep the session, the newest token of a connection
    /// covers all earlier ones, so each is taken, even from an answer without a waiting caller.
    var takesToken: Bool { true }

    /// The request on this connection. Called once for each send.
    func request(on connection: Connection) throws -> Request {
        throw IsochronError(.internal, "an exchange without a request")
    }

    /// Takes the answer and settles. A thrown FRAME_INVALID or INTERNAL closes the connection.
    func answered(_ answer: Answer, on connection: Connection) throws {
        throw unexpected(answer)
    }

    /// A request that has to precede this one on this connection.
    func prelude(on connection: Connection) -> Exchange? { nil }

    /// Whether and how to repeat after a refusal. Nil: it has failed for good.
    func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        lastRefusal = error
        refusals += 1
        if !error.retryable { return nil }
        if Self.rarelyTransient.contains(error.code), refusals >= Self.maxRarelyTransient { return nil }
        let often: Elsewhere = refusals % Self.elsewhereAfter == 0 ? .node : .nowhere
        return Retry(refusals: refusals, elsewhere: Self.elsewhere[error.code] ?? often)
    }

    /// The deadline has passed. Returns whether that ended the exchange, with its last refusal or else with this error.
    func expired(_ late: IsochronError) -> Bool {
        failed(lastRefusal ?? late)
        return true
    }

    /// The cluster refuses this client as such. Returns whether the exchange has ended.
    func clientRefused(_ error: IsochronError) -> Bool {
        failed(error)
        return true
    }

    /// The client closes.
    func closed() {
        failed(IsochronError.clientWasClosed)
    }

    /// The caller does not wait any more.
    func cancel(_ reason: any Error) {
        failed(reason)
    }

    /// It has ended without a result.
    func failed(_ error: any Error) {
        settled = true
    }

    /// The error of an answer whose type does not fit the request.
    final func unexpected(_ answer: Answer) -> IsochronError {
        .malformed("an answer of the wrong type, \(answer.body.name)")
    }
}

/// An exchange with a caller that waits for its outcome.
@SessionActor
class AwaitedExchange<Outcome: Sendable>: Exchange {
    private var caller: Caller<Outcome>?

    /// Begins it; `submit` sends it.
    final func run(_ submit: @SessionActor (Exchange) -> Void, _ caller: @escaping Caller<Outcome>) {
        self.caller = caller
        if !settled { submit(self) }
    }

    override func failed(_ error: any Error) {
        if settled { return }
        super.failed(error)
        settleCaller(.failure(error))
    }

    final func done(_ outcome: Outcome) {
        if settled { return }
        settled = true
        settleCaller(.success(outcome))
    }

    /// Settles the caller, perhaps before the end of the exchange itself. Later results are dropped.
    final func settleCaller(_ result: Result<Outcome, any Error>) {
        let caller = self.caller
        self.caller = nil
        caller?(result)
    }
}

/// Measures the round trip, in ms.
final class PingExchange: AwaitedExchange<Double> {
    private let token: String?
    private let loop: Loop
    private var sentMs = 0.0

    init(token: String? = nil, loop: Loop) {
        self.token = token
        self.loop = loop
    }

    /// It measures one connection. A token goes to the next one: an answer may have replaced it here meanwhile.
    override var repeats: Bool { token != nil }

    override func request(on connection: Connection) -> Request {
        sentMs = loop.nowMs
        return .ping(token: token)
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .pong = answer.body else { throw unexpected(answer) }
        done(loop.nowMs - sentMs)
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? { nil }
}

/// Ends an open transaction on the server; no caller waits for the answer.
final class AbortExchange: AwaitedExchange<Void> {
    private let txId: TxId

    init(_ txId: TxId) {
        self.txId = txId
    }

    /// It concerns one node only, which otherwise ends the transaction by its expiry.
    override var repeats: Bool { false }

    override func request(on connection: Connection) -> Request { .abort(tx: txId) }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .aborted = answer.body else { throw unexpected(answer) }
        done(())
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? { nil }
}
