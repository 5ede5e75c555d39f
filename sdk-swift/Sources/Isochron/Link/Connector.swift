import IsochronSession

/// The connector's reports to the client, and its requests.
@SessionActor
protocol ConnectorEvents: AnyObject {
    /// The session's newest token.
    var currentToken: String? { get }
    /// Loads the sessions of a node's protocol, before the first `welcomed`. `done` gets an error if the client cannot
    /// be used with the node.
    func prepare(_ welcome: Welcome, _ done: @escaping @SessionActor (IsochronError?) -> Void)
    func welcomed(_ welcome: Welcome)
    func token(_ token: String)
    func ust(_ frame: UstFrame)
    /// A connection came into use, or was lost.
    func changed()
}

/// Keeps one connection: picks the nearest endpoint, fails over, reconnects with full-jitter backoff, honours goaway.
@SessionActor
final class Connector {
    private static let reconnectBaseMs = 100.0
    /// Longest pause between rounds of attempts: while no request waits for a connection, and while one does.
    private static let (idleCapMs, waitedForCapMs) = (30_000.0, 1000.0)
    /// How long a closed client waits for the closing handshake.
    private static let closeWaitMs = 1000.0

    private let loop: Loop
    private let settings: ClientSettings
    let dispatcher: Dispatcher
    private let endpoints: Endpoints
    private let homing: Homing
    /// Of credentials; nil where they are not renewed.
    private(set) var renewal: Renewal?
    /// The client's core, which owns this object.
    private weak var events: (any ConnectorEvents)?
    private(set) var current: Connection?
    /// The current connection's node is about to close: it is used until there is another connection.
    private var leaving = false
    private var draining: [Connection] = []
    private var cluster: String?
    private var reconnecting = false
    /// Until the next round of attempts.
    private var pause: LoopTimer?
    /// Rounds of attempts since a connection last was of use.
    private var round = 0
    /// The last connection that worked after its welcome.
    private weak var proven: Connection?
    private(set) var isClosed = false

    /// Throws INVALID_REQUEST for endpoints that are not URLs.
    init(_ loop: Loop, _ bases: [String], _ settings: ClientSettings) throws {
        self.loop = loop
        self.settings = settings
        endpoints = try Endpoints(bases)
        dispatcher = Dispatcher(loop, requestTimeoutMs: settings.requestTimeoutMs)
        homing = Homing(loop, endpoints, returnAfterMs: settings.returnAfterMs)
    }

    /// Has to be called first.
    func begin(_ events: any ConnectorEvents) {
        self.events = events
        dispatcher.moveOn = { [weak self] from, whereTo, why in
            guard let self, endpoints.all.count > 1 else { return }
            moveOn(from, whereTo, why.message)
        }
        dispatcher.onWait = { [weak self] in self?.tryEarlier() }
        homing.ports = self
        if settings.renewsCredentials {
            renewal = Renewal(loop, self, requestTimeoutMs: settings.requestTimeoutMs)
        }
    }

    /// First connection: to the nearest of all endpoints that answer.
    func start(_ done: @escaping Caller<Void>) -> any Cancellable {
        let choice = Nearest(loop)
        choice.choose(among: endpoints.all, probe) { [self] result in done(result.map { adopt($0) }) }
        return choice
    }

    /// Gives everything up. `done` is called once all sockets are closed; at once after an earlier close.
    func close(_ done: @escaping @SessionActor () -> Void) {
        if isClosed { return done() }
        isClosed = true
        renewal?.close(.clientWasClosed)
        dispatcher.close()
        loop.closeAll(waitMs: Self.closeWaitMs, done)
    }

    /// An answer is overdue on a connection that seems alive: drops that one, so that another is asked. Returns whether
    /// a connection owed the answer.
    func suspect(_ exchange: Exchange) -> Bool {
        let owing = ([current].compactMap({ $0 }) + draining).filter { $0.owes(exchange) }
        for connection in owing {
            shun(connection.url, untilMs: 0)
            connection.drop(.lost("\(connection.url) owes an answer for too long"))
        }
        return !owing.isEmpty
    }

    private func owns(_ connection: Connection) -> Bool {
        connection === current || draining.contains { $0 === connection }
    }

    /// The node refuses requests that another one may serve.
    private func moveOn(_ from: Connection, _ whereTo: Elsewhere, _ why: String) {
        let its = whereTo == .node ? [] : endpoints.all.filter { $0.region == from.region }.map(\.url)
        for url in Set([from.url] + its) { shun(url, untilMs: 0) }
        if from !== current { return }
        loop.debug("leaving \(from.url): \(why)")
        retire()
        reconnect()
    }

    private func shun(_ url: String, untilMs: Double) {
        guard let endpoint = endpoints.of(url) else { return }
        endpoint.notBeforeMs = untilMs
        endpoint.failures += 1
    }

    /// New requests use another connection; this one stays open until it has answered its requests.
    private func retire() {
        guard let from = current else { return }
        current = nil
        leaving = false
        draining.append(from)
        dispatcher.detach(from)
        if from.isIdle { loop.atTurnsEnd { from.close() } }
        events?.changed()
    }

    /// Fails if the endpoint cannot be used: with its refusal, for another cluster, or with CONNECTION_LOST.
    func open(_ endpoint: Endpoint, _ opened: @escaping Connection.Opened) {
        if isClosed { return opened(.failure(.clientWasClosed)) }
        let credentials = renewal == nil ? settings.credentials : renewal?.credentials
        let hello = Hello(token: events?.currentToken, credentials: credentials, client: settings.client)
        let connection = Connection(loop, endpoint.url, hello, settings, self)
        connection.open { [self] result in
            let settled: Connection.Opened = { [self] result in
                switch result {
                case .success(let connection):
                    endpoint.region = connection.region
                    opened(.success(connection))
                case .failure(let error):
                    failed(endpoint.url, error)
                    opened(.failure(renewal?.refusedHello(error, hello) ?? error))
                }
            }
            if case .success(let connection) = result { fit(connection, settled) } else { settled(result) }
        }
    }

    private func probe(_ endpoint: Endpoint, _ opened: @escaping Connection.Opened) {
        open(endpoint) { [self] result in
            guard case .success(let connection) = result, endpoints.all.count > 1 else { return opened(result) }
            connection.ping { [self] rttMs in
                guard let rttMs else {
                    // After a refused ping the connection is still open.
                    connection.close()
                    let gone = IsochronError.lost("\(endpoint.url) is gone")
                    failed(endpoint.url, gone)
                    return opened(.failure(gone))
                }
                endpoints.measured(endpoint.url, rttMs, loop.nowMs)
                opened(.success(connection))
            }
        }
    }

    private func failed(_ url: String, _ error: IsochronError) {
        endpoints.of(url)?.failures += 1
        loop.debug("\(url): \(error.message)")
    }

    /// Changes to a connection.
    func adopt(_ connection: Connection) {
        let welcome = connection.welcome
        let token = events?.currentToken
        retire()
        cluster = welcome.cluster
        endpoints.learn(from: connection.url, welcome.regions)
        endpoints.region = welcome.region
        endpoints.of(connection.url)?.failures = 0
        current = connection
        events?.welcomed(welcome)
        // Another connection has received a newer token since this one sent its hello.
        if let token, token != connection.hello.token {
            events?.token(token)
            connection.send([PingExchange(token: token, loop: loop)])
        }
        // Before all other requests, because it needs one of the credits.
        if connection.rttMs == nil { measure(connection) }
        dispatcher.attach(connection)
        renewal?.adopted(connection)
        events?.changed()
        homing.start()
    }

    private func measure(_ connection: Connection) {
        connection.ping { [self] rttMs in
            guard let rttMs else { return }
            endpoints.measured(connection.url, rttMs, loop.nowMs)
            events?.changed()
        }
    }

    /// Fails if the connection cannot be used.
    private func fit(_ connection: Connection, _ done: @escaping Connection.Opened) {
        let its = connection.welcome.cluster
        let judged: @SessionActor (IsochronError?) -> Void = { problem in
            let isGone = problem == nil && connection.isClosed
            let error = isGone ? .lost("\(connection.url) is gone") : problem
            if error != nil { connection.close() }
            done(error.map { .failure($0) } ?? .success(connection))
        }
        if let cluster, cluster != its {
            judged(.lost("the endpoint belongs to another cluster, \(its)"))
        } else if let events {
            events.prepare(connection.welcome, judged)
        } else {
            judged(.clientWasClosed)
        }
    }

    private var needsAnother: Bool { !isClosed && (current == nil || leaving) }

    /// The network may have changed: sockets of the old one would be silent.
    func networkChanged() {
        renewal?.hasten()
        current?.ask()
        dispatcher.watch()
        tryEarlier()
    }

    /// Ends the pause between two rounds of attempts.
    private func tryEarlier() {
        round = 0
        guard let pause else { return }
        loop.cancel(pause)
        attempt()
    }

    private func reconnect() {
        if reconnecting || isClosed { return }
        reconnecting = true
        nextRound()
    }

    /// Tries all endpoints in rounds, with a pause between rounds, until it adopts one.
    private func nextRound() {
        let capMs = dispatcher.isWaitedFor ? Self.waitedForCapMs : Self.idleCapMs
        let backoffMs =
            round == 0
            ? 0 : fullJitterMs(loop.random, attempt: round - 1, baseMs: Self.reconnectBaseMs, capMs: capMs)
        let pauseMs = max(backoffMs, endpoints.nextMs - loop.nowMs)
        if pauseMs <= 0, round == 0 { return attempt() }
        pause = loop.after(pauseMs) { [weak self] in self?.attempt() }
    }

    private func attempt() {
        pause = nil
        guard needsAnother else {
            reconnecting = false
            return
        }
        round += 1
        guard let renewal else { return tryAll() }
        renewal.ready { [weak self] in self?.tryAll() }
    }

    private func tryAll() {
        let candidates = AttemptRound(endpoints, loop)
        let attempts = FirstOf(
            candidates.next, loop, open: open, close: { $0.close() },
            end: { [self] connection, definite in attempted(connection, definite) })
        attempts.start()
    }

    private func attempted(_ connection: Connection?, _ definite: IsochronError?) {
        if let definite { dispatcher.refuseWaiting(definite) }
        if let connection {
            if needsAnother { adopt(connection) } else { connection.close() }
        } else if leaving {
            // No other node accepts the client now: the sooner this one closes, the sooner it is back.
            retire()
        }
        reconnecting = needsAnother
        if reconnecting { nextRound() }
    }
}

extension Connector: ConnectionOwner {
    func refused(_ exchange: Exchange, _ error: IsochronError, on connection: Connection) {
        let error = renewal?.refused(exchange, error, connection) ?? error
        if exchange is PingExchange, exchange.repeats {
            // Without the session's token the node does not know what the session has seen and written elsewhere.
            connection.drop(error)
            if error.retryable { dispatcher.lost(connection, error, [exchange]) }
        } else {
            dispatcher.refused(exchange, error, on: connection)
        }
    }

    func progressed(_ connection: Connection) {
        if connection === current {
            round = 0
            proven = connection
            dispatcher.flush()
        } else if connection.isIdle, draining.contains(where: { $0 === connection }) {
            connection.close()
        }
    }

    func token(_ token: String, from connection: Connection) {
        guard owns(connection) else { return }
        events?.token(token)
        // To the node in use, once a credit is free. Its answer has a token that covers both.
        if connection !== current { dispatcher.submit(PingExchange(token: token, loop: loop)) }
    }

    func ust(_ frame: UstFrame, from connection: Connection) {
        if owns(connection) {
            events?.ust(frame)
        } else if !frame.cuts.isEmpty {
            // The welcome of a connection that is only measured is out of date: the session has to learn of the cut (M10).
            connection.close()
        }
    }

    func goaway(_ frame: GoawayFrame, from connection: Connection) {
        let now = loop.nowMs
        shun(connection.url, untilMs: now + Double(frame.delayMs))
        guard connection === current else { return }
        loop.debug("leaving \(connection.url): \(frame.reason)")
        // Without another endpoint, new requests wait until the node is back: without them it closes sooner.
        if endpoints.candidates(now).isEmpty { retire() } else { leaving = true }
        reconnect()
    }

    func closed(_ connection: Connection, _ error: IsochronError, lost: [Exchange]) {
        guard owns(connection) else {
            for exchange in lost { exchange.failed(error) }
            return
        }
        let wasInUse = connection === current && !isClosed
        draining.removeAll { $0 === connection }
        // Before its requests fail: a lost ping ends a measurement, which must not find this connection in use.
        if wasInUse { current = nil }
        dispatcher.lost(connection, error, lost)
        if !wasInUse { return }
        // A given endpoint that worked is tried first: it may lead to another node, as that of a load balancer does.
        let isKept = connection === proven && error.code == .connectionLost
        if !isKept || endpoints.of(connection.url)?.given != true { failed(connection.url, error) }
        leaving = false
        events?.changed()
        reconnect()
    }
}

extension Connector: HomingPorts {}
