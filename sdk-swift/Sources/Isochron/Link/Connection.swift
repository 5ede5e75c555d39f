import IsochronSession

/// The owner of connections. Nothing is reported of a connection before its welcome.
@SessionActor
protocol ConnectionOwner: AnyObject {
    /// A request was refused.
    func refused(_ exchange: Exchange, _ error: IsochronError, on connection: Connection)
    /// A message has been taken in: credits may be free, and the connection is of use.
    func progressed(_ connection: Connection)
    func token(_ token: String, from connection: Connection)
    func ust(_ frame: UstFrame, from connection: Connection)
    func goaway(_ frame: GoawayFrame, from connection: Connection)
    /// It is gone, and with it the answers to these.
    func closed(_ connection: Connection, _ error: IsochronError, lost: [Exchange])
}

/// One WebSocket: hello and welcome, request ids, credits, packing, a heartbeat. It reports to its owner and repeats
/// nothing.
@SessionActor
final class Connection: SocketListener {
    typealias Opened = @SessionActor (Result<Connection, IsochronError>) -> Void

    /// After two of these without a message the node is asked; after a third one the connection is given up.
    static let heartbeatMs = 5000.0
    /// The close codes that have an error of their own; all others are CONNECTION_LOST.
    private static let closeCodes: [UInt16: IsochronError.Code] = [4400: .frameInvalid, 4401: .unauthenticated]

    let url: String
    /// The token that it was opened with.
    let helloToken: String?
    private let loop: Loop
    private let settings: ClientSettings
    /// Whoever holds this.
    private weak var owner: (any ConnectionOwner)?
    private var socket: SocketId = 0
    private var hello: Hello?
    private var greeting: Welcome?
    private var byId: [Int64: Exchange] = [:]
    private var nextId: Int64 = 1
    /// Tells `open` how it went; nil from then on.
    private var unopened: Opened?
    /// Of the welcome, then of the heartbeat.
    private var timer: LoopTimer?
    private var quietBeats = 0
    /// Steady times: of the last message, of the oldest request that is not answered, of the question whether the node
    /// is there.
    private var receivedMs = 0.0
    private var owingSinceMs = 0.0
    private var askedMs: Double?
    private var latestFreshness: Freshness?
    /// What does not answer the node, as it has reported last.
    private(set) var unresponsive = Unresponsive.nothing
    private(set) var isClosed = false
    /// Last measured round trip.
    private(set) var rttMs: Double?

    init(
        _ loop: Loop, _ url: String, helloToken: String?, _ settings: ClientSettings, _ owner: any ConnectionOwner
    ) {
        self.loop = loop
        self.url = url
        self.helloToken = helloToken
        self.settings = settings
        self.owner = owner
    }

    /// Opens it, up to its welcome. Fails with the server's refusal, or with CONNECTION_LOST.
    func open(_ hello: Hello, _ opened: @escaping Opened) {
        unopened = opened
        self.hello = hello
        socket = loop.open(url, self)
        let late = "\(url) did not answer within \(Int(min(settings.connectTimeoutMs, 1e15))) ms"
        timer = loop.after(settings.connectTimeoutMs) { [weak self] in self?.drop(.lost(late)) }
    }

    /// What the server greeted with. `open` hands out no connection without a welcome.
    var welcome: Welcome { greeting ?? .absent }

    var region: RegionId { welcome.region }

    /// Freshness of the node's snapshots, as it has reported last.
    var freshness: Freshness { latestFreshness ?? welcome.freshness }

    /// The regions that a new attempt of a commit through this node avoids: none where that would be all of them.
    var avoid: [RegionId] {
        let regions = unresponsive.regions
        if welcome.regions.allSatisfy({ regions.contains($0.id) }) { return [] }
        return regions.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) }
    }

    /// Requests that may be sent now.
    var free: Int { isClosed ? 0 : welcome.credits - byId.count }

    var isIdle: Bool { byId.isEmpty }

    /// Requests that wait for their answer here, the oldest first.
    var inFlight: [Exchange] { byId.sorted { $0.key < $1.key }.map(\.value) }

    func owes(_ exchange: Exchange) -> Bool {
        byId.values.contains { $0 === exchange }
    }

    /// Measures the round trip, in ms; nil where no credit is free, or the connection is lost before the answer.
    ///
    /// - Parameter token: of the session, from another connection: the answer has the token of both
    func ping(token: String? = nil, _ done: @escaping @SessionActor (_ rttMs: Double?) -> Void = { _ in }) {
        if free <= 0 { return done(nil) }
        let (loop, url) = (loop, url)
        let answered: Caller<Double> = { [weak self] result in
            guard case .success(let rttMs) = result else {
                loop.debug("\(url): a ping was lost")
                return done(nil)
            }
            self?.rttMs = rttMs
            done(rttMs)
        }
        PingExchange(token: token, loop: loop).run({ send([$0]) }, answered)
    }

    /// Sends requests, packed into as few messages as the server's limit allows.
    func send(_ exchanges: [Exchange]) {
        if isIdle { owingSinceMs = loop.nowMs }
        let limit = welcome.limits.maxRequestBytes &- 2
        var parts: [[UInt8]] = []
        var size = 0
        for exchange in exchanges {
            guard let part = encode(exchange, limit) else { continue }
            let bytes = Self.estimate(part, limit) + 1
            if size + bytes > limit {
                loop.out?.send(socket, JSONCodec.pack(parts))
                (parts, size) = ([], 0)
            }
            parts.append(part)
            size += bytes
        }
        if !parts.isEmpty { loop.out?.send(socket, JSONCodec.pack(parts)) }
    }

    /// Bytes of an encoded frame: exact where that can matter, else three for each UTF-16 unit, as the TypeScript
    /// client counts. Messages are divided at the same places.
    private static func estimate(_ part: [UInt8], _ limit: Int) -> Int {
        var units = 0
        for byte in part where byte & 0xC0 != 0x80 { units += byte >= 0xF0 ? 2 : 1 }
        return units * 3 > limit / 4 ? part.count : units * 3
    }

    /// Answers are owed and no message has come for a while: pings the node, and gives up when the ping is not answered
    /// either. Takes `limitMs` in all; a server that is merely slow to answer a request answers the ping.
    func checkQuiet(_ nowMs: Double, _ limitMs: Double) {
        if isIdle { return }
        if let askedMs {
            if nowMs - askedMs > limitMs / 2 { drop(.lost("\(url) has gone silent")) }
        } else if nowMs - max(receivedMs, owingSinceMs) > limitMs / 2, free > 0 {
            ask()
        }
    }

    /// Asks whether the node is there: without any message the connection is given up soon.
    func ask() {
        askedMs = askedMs ?? loop.nowMs
        ping()
    }

    /// Closes in good order, once there was a welcome: nothing is waited for here any more.
    func close() {
        finish(.lost("the connection was closed"), abrupt: unopened != nil)
    }

    /// Gives the connection up.
    func drop(_ error: IsochronError) {
        finish(error, abrupt: true)
    }

    /// Nil where it cannot be sent: then it has failed.
    private func encode(_ exchange: Exchange, _ limit: Int) -> [UInt8]? {
        let id = nextId
        nextId += 1
        do {
            let part = JSONCodec.encode(try exchange.request(on: self), id: id)
            if part.count >= limit {
                throw IsochronError(.requestTooLarge, "a request of \(part.count) bytes is above \(limit)")
            }
            byId[id] = exchange
            return part
        } catch {
            exchange.failed(IsochronError.of(error))
            return nil
        }
    }

    private func closeError(_ code: UInt16?, _ reason: String) -> IsochronError {
        let what = (code.map { "\($0)" } ?? "no code") + (reason.isEmpty ? "" : ": \(reason)")
        let known = code.flatMap { Self.closeCodes[$0] }
        return IsochronError(known ?? .connectionLost, "\(url) closed the connection (\(what))")
    }

    func opened() {
        if !isClosed, let hello { loop.out?.send(socket, JSONCodec.pack([JSONCodec.encode(hello)])) }
    }

    func closed(_ code: UInt16?, _ reason: String) {
        finish(closeError(code, reason), abrupt: false)
    }

    func received(_ message: WebSocketMessage) {
        if isClosed { return }
        // A welcome alone is no progress: a node that fails after it is not to be tried again without a pause.
        let isWelcomed = greeting != nil
        quietBeats = 0
        receivedMs = loop.nowMs
        askedMs = nil
        do {
            for raw in try Incoming.frames(of: message) { try take(try Incoming(raw)) }
        } catch {
            finish(.of(error), abrupt: true)
            return
        }
        if isWelcomed, !isClosed { owner?.progressed(self) }
    }

    private func take(_ frame: Incoming) throws {
        if isClosed { return }
        switch frame {
        case .welcome(let welcome): try greeted(welcome)
        case .error(let frame):
            guard let id = frame.id else { throw frame.error }
            refuse(try exchange(of: id), frame.error)
        case .ust(let frame):
            latestFreshness = frame.freshness
            unresponsive = frame.unresponsive
            if greeting != nil { owner?.ust(frame, from: self) }
        case .goaway(let frame):
            if greeting != nil { owner?.goaway(frame, from: self) }
        case .answer(let answer): try take(answer)
        }
    }

    private func greeted(_ welcome: Welcome) throws {
        guard greeting == nil, let opened = unopened else { throw IsochronError.malformed("a second welcome") }
        greeting = welcome
        unresponsive = welcome.unresponsive
        unopened = nil
        nextBeat()
        opened(.success(self))
    }

    private func take(_ answer: Answer) throws {
        let exchange = try exchange(of: answer.id)
        if let token = answer.token, exchange.takesToken { owner?.token(token, from: self) }
        if exchange.settled { return }
        do {
            try exchange.answered(answer, on: self)
        } catch {
            let error = IsochronError.of(error)
            refuse(exchange, error)
            // An answer that does not fit its request ends the connection; one that this client refuses does not.
            if error.code == .frameInvalid || error.code == .internal { throw error }
        }
    }

    private func refuse(_ exchange: Exchange, _ error: IsochronError) {
        if let owner { owner.refused(exchange, error, on: self) } else { exchange.failed(error) }
    }

    private func exchange(of id: Int64) throws -> Exchange {
        guard greeting != nil, let exchange = byId.removeValue(forKey: id) else {
            throw IsochronError.malformed("an answer to no request, \(id)")
        }
        return exchange
    }

    private func nextBeat() {
        loop.cancel(timer)
        timer = loop.after(Self.heartbeatMs) { [weak self] in self?.beat() }
    }

    private func beat() {
        quietBeats += 1
        if quietBeats > 2 { return drop(.lost("\(url) has gone silent")) }
        if quietBeats > 1 { ping() }
        nextBeat()
    }

    private func finish(_ error: IsochronError, abrupt: Bool) {
        if isClosed { return }
        isClosed = true
        loop.cancel(timer)
        loop.out?.close(socket, abrupt: abrupt)
        let lost = inFlight.filter { !$0.settled }
        byId = [:]
        if let opened = unopened {
            unopened = nil
            opened(.failure(error))
        } else if let owner {
            owner.closed(self, error, lost: lost)
        } else {
            for exchange in lost { exchange.failed(error) }
        }
    }
}

extension Welcome {
    /// Stands where there is no welcome: nothing may be sent.
    fileprivate static let absent = Welcome()

    private init() {
        (region, node, cluster, `protocol`, capabilities) = ("", "", "", "", [])
        (seenSnapshot, stable, seen, hwt) = (Snapshot(ts: 0), nil, nil, 0)
        (maxTransactionMs, stalenessAlertMs) = (nil, nil)
        freshness = Freshness(now: 0, stalenessMs: 0, stale: false, heldBackBy: nil)
        (unresponsive, token, credits, limits, regions) = (.nothing, "", 0, .standard, [])
    }
}
