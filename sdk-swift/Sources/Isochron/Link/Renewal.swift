import IsochronSession

/// Credentials that expire (U1, an expired session is served nothing; U3, renewal is not noticed): asks the driver for
/// new ones before that, and after a refusal, one question at a time.
@SessionActor
final class Renewal {
    /// They are renewed when this part of their time is left, but not earlier than `maxMarginMs` before their end.
    private static let margin = 0.25
    private static let maxMarginMs = 120_000.0
    /// Between one answer of the driver and the question after the next, also where credentials expire sooner.
    private static let minPauseMs = 1000.0
    private static let retryBaseMs = 500.0
    private static let retryCapMs = 30_000.0

    private let loop: Loop
    /// The owner of this object.
    private weak var connector: Connector?
    private let requestTimeoutMs: Double
    /// The newest credentials; nil before the first ones.
    private(set) var credentials: String?
    /// Steady time from which on they are not to be used.
    private var validUntilMs = -Double.infinity
    /// Life time of the credentials that a node accepted last, ms.
    private var lifeMs = Double.infinity
    private var isAsked = false
    /// Steady times of the driver's last answer, and of the one before.
    private var answeredMs = -Double.infinity
    private var answeredBeforeMs = -Double.infinity
    private var failures = 0
    /// The last failure since credentials were accepted.
    private var outage = Outage()
    /// The next question, after a pause.
    private var pause: LoopTimer?
    /// The renewal before the credentials expire.
    private var due: LoopTimer?
    private var waiting: [@SessionActor () -> Void] = []
    /// Requests that wait for credentials. Others rest until the times that their refusals have named.
    private var requests: [Exchange] = []
    /// Credentials were refused at a greeting, and none accepted since; `isSecond`: the present ones came after that.
    private var wasRefused = false
    private var isSecond = false
    private var starting: Starting?

    init(_ loop: Loop, _ connector: Connector, requestTimeoutMs: Double) {
        self.loop = loop
        self.connector = connector
        self.requestTimeoutMs = requestTimeoutMs
        let late = connector.dispatcher.late
        connector.dispatcher.late = { [weak self] isOffline in
            guard let self, !waiting.isEmpty else { return late(isOffline) }
            return unavailable()
        }
    }

    /// Connects once there are credentials, and once more if a node refuses the first ones. Fails with
    /// CREDENTIALS_UNAVAILABLE after the limit of a request without any.
    func start(_ caller: @escaping Caller<Void>) -> any Cancellable {
        let starting = Starting(self, caller)
        self.starting = starting
        watch(starting)
        ready { [self] in connect(starting) }
        return starting
    }

    /// Runs a function once there are credentials that are not known to be refused, or to have expired.
    func ready(_ run: @escaping @SessionActor () -> Void) {
        if isValid { return run() }
        waiting.append(run)
        ask()
    }

    /// The driver's answer.
    func took(_ answer: Result<String, any Error>) {
        guard let connector, !connector.isClosed else { return }
        isAsked = false
        answeredBeforeMs = answeredMs
        answeredMs = loop.steadyMs
        switch answer {
        case .success(""): failed(IsochronError(.unauthenticated, "`auth` returned empty credentials"))
        case .success(let credentials): take(credentials)
        case .failure(let error): failed(error)
        }
    }

    private func take(_ credentials: String) {
        self.credentials = credentials
        isSecond = wasRefused
        validUntilMs = .infinity
        let those = waiting
        waiting = []
        for run in those { run() }
        if current != nil { authenticate() }
    }

    /// Asks at once if a pause is under way: the network may be back.
    func hasten() {
        let isOverdue = due != nil && !isValid
        if pause == nil, !isOverdue { return }
        rest()
        loop.cancel(due)
        due = nil
        ask()
    }

    /// A connection has failed before its welcome. Returns its error: one that may pass while others may be accepted.
    func refusedHello(_ error: IsochronError, _ hello: Hello) -> IsochronError {
        if error.code != .unauthenticated { return error }
        if hello.credentials == credentials {
            validUntilMs = -.infinity
            // Those that came longer ago than the last accepted ones lived may have expired.
            if isSecond, loop.steadyMs - answeredMs < lifeMs { return error }
            wasRefused = true
        }
        return unavailable(error)
    }

    /// The error that a refused request gets: the request waits until the credentials are renewed.
    func refused(_ exchange: Exchange, _ error: IsochronError, _ connection: Connection) -> IsochronError {
        if error.code != .unauthenticated || exchange is AuthenticateExchange { return error }
        requests.removeAll(where: \.settled)
        requests.append(exchange)
        if connection === current {
            ask()
        } else if current != nil {
            loop.atTurnsEnd { [weak self] in self?.resumeRequests() }
        }
        return unavailable(error)
    }

    /// The connection is in use from now on.
    func adopted(_ connection: Connection) {
        let welcome = connection.welcome
        guard connection.hello.credentials == credentials else { return authenticate() }
        accepted(credentials, leftMs: welcome.expiresAt.map { Double($0) - Double(welcome.freshness.now) })
    }

    /// The client is closed: a first connection under way fails with the reason.
    func close(_ reason: IsochronError) {
        waiting = []
        starting?.cancel(reason)
    }

    /// A node has accepted credentials, for this time if they expire.
    fileprivate func accepted(_ those: String?, leftMs: Double?) {
        if those != credentials { return }
        failures = 0
        outage = Outage()
        (wasRefused, isSecond) = (false, false)
        rest()
        loop.cancel(due)
        due = nil
        lifeMs = leftMs ?? .infinity
        validUntilMs = loop.steadyMs + lifeMs
        if let leftMs { renewBefore(leftMs) }
        resumeRequests()
    }

    private func resumeRequests() {
        let those = requests
        requests = []
        for exchange in those { connector?.dispatcher.resume(exchange) }
    }

    /// New credentials were not accepted on the connection in use: by the node, or for lack of an answer.
    fileprivate func rejected(_ reason: any Error) {
        validUntilMs = -.infinity
        failed(reason)
    }

    /// The connection in use.
    fileprivate var current: Connection? {
        guard let connector, !connector.isClosed else { return nil }
        return connector.current
    }

    private var isValid: Bool { loop.steadyMs < validUntilMs }

    /// On another connection they are part of the greeting.
    private func authenticate() {
        connector?.dispatcher.submitTimed(AuthenticateExchange(self))
    }

    /// With jitter: clients that began together do not come back together.
    private func renewBefore(_ leftMs: Double) {
        let marginMs = min(Self.maxMarginMs, leftMs * Self.margin) * (0.5 + loop.random() / 2)
        due = loop.after(max(0, leftMs - marginMs)) { [weak self] in
            self?.due = nil
            self?.ask()
        }
    }

    /// Without a connection the next one asks.
    private func ask() {
        let isNeeded = !waiting.isEmpty || current != nil
        if !isNeeded || isAsked || pause != nil { return }
        let pauseMs = answeredBeforeMs + Self.minPauseMs - loop.steadyMs
        if pauseMs > 0 { return ask(afterMs: pauseMs) }
        isAsked = true
        loop.out?.authenticate()
    }

    private func ask(afterMs pauseMs: Double) {
        rest()
        pause = loop.after(pauseMs) { [weak self] in
            self?.pause = nil
            self?.ask()
        }
    }

    private func rest() {
        loop.cancel(pause)
        pause = nil
    }

    private func failed(_ cause: any Error) {
        outage.latest.set(cause)
        loop.warn("no new credentials: \(cause)")
        let jitterMs = fullJitterMs(
            loop.random, attempt: failures, baseMs: Self.retryBaseMs, capMs: Self.retryCapMs)
        failures += 1
        ask(afterMs: Self.minPauseMs + jitterMs)
    }

    /// Its cause is the last failure, also one that is still to come.
    private func unavailable(_ refusal: IsochronError? = nil) -> IsochronError {
        let outage = self.outage
        let message = "no new credentials were accepted in time"
        return IsochronError(.credentialsUnavailable, message) { outage.latest.get() ?? refusal }
    }

    // The first connection:

    private func watch(_ starting: Starting) {
        starting.timer = loop.after(requestTimeoutMs) { [weak self] in
            guard let self else { return }
            if waiting.isEmpty { watch(starting) } else { starting.cancel(unavailable()) }
        }
    }

    private func connect(_ starting: Starting) {
        guard self.starting === starting, let connector else { return }
        starting.begun = connector.start { [self] result in
            guard self.starting === starting else { return }
            let refusal = if case .failure(let error) = result { error } else { nil as (any Error)? }
            guard let refusal else { return finish(starting, result) }
            let isFinal = (refusal as? IsochronError)?.retryable == false
            if isFinal || isValid { finish(starting, result) } else { ready { [self] in connect(starting) } }
        }
    }

    fileprivate func finish(_ starting: Starting, _ result: Result<Void, any Error>) {
        guard self.starting === starting else { return }
        self.starting = nil
        loop.cancel(starting.timer)
        if case .failure(let reason) = result { starting.begun?.cancel(reason) }
        starting.caller(result)
    }
}

/// A call that waits for the first connection.
@SessionActor
private final class Starting: Cancellable {
    private weak var renewal: Renewal?
    let caller: Caller<Void>
    /// The choice of a node.
    var begun: (any Cancellable)?
    var timer: LoopTimer?

    init(_ renewal: Renewal, _ caller: @escaping Caller<Void>) {
        self.renewal = renewal
        self.caller = caller
    }

    func cancel(_ reason: any Error) {
        renewal?.finish(self, .failure(reason))
    }
}

/// Passes the newest credentials to the node in use.
@SessionActor
private final class AuthenticateExchange: Exchange {
    private let renewal: Renewal
    private var credentials: String?
    /// The connection that it was sent on.
    private var connection: Connection?

    init(_ renewal: Renewal) {
        self.renewal = renewal
    }

    override var repeats: Bool { false }

    /// The writes of a client that closes need it.
    override var isWrite: Bool { true }

    override func request(on connection: Connection) -> Request {
        self.connection = connection
        credentials = renewal.credentials
        return .authenticate(credentials: renewal.credentials ?? "")
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .authenticated(let frame) = answer.body else { throw unexpected(answer) }
        let authenticated = try Authenticated(frame)
        settled = true
        renewal.accepted(credentials, leftMs: authenticated.expiresAt.map { Double($0) - Double(authenticated.now) })
    }

    override func failed(_ error: any Error) {
        if settled { return }
        super.failed(error)
        guard let current = renewal.current, connection == nil || connection === current else { return }
        renewal.rejected(error)
    }
}

/// The latest failure to get credentials.
private final class Outage: Sendable {
    let latest = Locked<(any Error)?>(nil)
}
