import IsochronSession

/// The owner of connections. A connection reports nothing before its welcome.
@SessionActor
protocol ConnectionOwner: AnyObject {
    /// A request was refused.
    func refused(_ exchange: Exchange, _ error: IsochronError, on connection: Connection)
    /// A message was processed: credits may be free, and the connection is of use.
    func progressed(_ connection: Connection)
    func token(_ token: String, from connection: Connection)
    func ust(_ frame: UstFrame, from connection: Connection)
    func goaway(_ frame: GoawayFrame, from connection: Connection)
    /// The connection is closed. These requests remain without an answer.
    func closed(_ connection: Connection, _ error: IsochronError, lost: [Exchange])
}

/// One WebSocket: hello and welcome, request ids, credits, packing, a heartbeat. It reports to its owner and repeats
/// nothing.
@SessionActor
final class Connection: SocketListener {
    typealias Opened = @SessionActor (Result<Connection, IsochronError>) -> Void

    /// After two intervals without a message the node is pinged; after a third one the connection is given up.
    static let heartbeatMs = 5000.0
    /// The close codes with a specific error; all others are CONNECTION_LOST. No node sends the first: the socket
    /// reports that TLS failed.
    private static let closeCodes: [UInt16: IsochronError.Code] = [
        tlsFailedCode: .tlsFailed, 4400: .frameInvalid, 4401: .unauthenticated, 4403: .originNotAllowed,
    ]

    let url: String
    /// Its first frame.
    let hello: Hello
    private let loop: Loop
    private let settings: ClientSettings
    /// The owner of this object.
    private weak var owner: (any ConnectionOwner)?
    private var socket: SocketId = 0
    private var greeting: Welcome?
    private var byId: [Int64: Exchange] = [:]
    /// How many of them wait by design.
    private var waits = 0
    private var nextId: Int64 = 1
    /// The callback of `open`; nil after its call.
    private var unopened: Opened?
    /// The timer of the welcome, then of the heartbeat.
    private var timer: LoopTimer?
    private var quietBeats = 0
    /// Steady times: of the last message, of the oldest unanswered request, of the ping that checks whether the node is
    /// there.
    private var receivedMs = 0.0
    private var owingSinceMs = 0.0
    private var askedMs: Double?
    private var latestFreshness: Freshness?
    /// The nodes and regions that do not answer the node, by its latest report.
    private(set) var unresponsive = Unresponsive.nothing
    /// Version of the node's map, to which a new attempt belongs (M6).
    private(set) var map: Int64 = 0
    private(set) var isClosed = false
    /// Last measured round trip.
    private(set) var rttMs: Double?

    init(
        _ loop: Loop, _ url: String, _ hello: Hello, _ settings: ClientSettings, _ owner: any ConnectionOwner
    ) {
        self.loop = loop
        self.url = url
        self.hello = hello
        self.settings = settings
        self.owner = owner
    }

    /// Opens the connection, up to its welcome. Fails with the server's refusal, or with CONNECTION_LOST.
    func open(_ opened: @escaping Opened) {
        unopened = opened
        socket = loop.open(url, self)
        let late = "\(url) did not answer within \(Int(min(settings.connectTimeoutMs, 1e15))) ms"
        timer = loop.after(settings.connectTimeoutMs) { [weak self] in self?.drop(.lost(late)) }
    }

    /// The server's welcome. `open` returns no connection without one.
    var welcome: Welcome { greeting ?? .absent }

    var region: RegionId { welcome.region }

    /// Freshness of the node's snapshots, by its latest report.
    var freshness: Freshness { latestFreshness ?? welcome.freshness }

    /// The regions that a new attempt of a commit through this node avoids: none if that would be all of them.
    var avoid: [RegionId] {
        let regions = unresponsive.regions
        if welcome.regions.allSatisfy({ regions.contains($0.id) }) { return [] }
        return regions.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) }
    }

    /// Requests that may be sent now.
    var free: Int { isClosed ? 0 : welcome.mostInFlight - byId.count }

    /// Whether it owes no answer, beside those to requests that wait by design.
    var isIdle: Bool { byId.count == waits }

    /// Unanswered requests of this connection, the oldest first.
    var inFlight: [Exchange] { byId.sorted { $0.key < $1.key }.map(\.value) }

    func owes(_ exchange: Exchange) -> Bool {
        byId.values.contains { $0 === exchange }
    }

    /// Measures the round trip, in ms; nil if no credit is free, or the connection is lost before the answer.
    func ping(_ done: @escaping @SessionActor (_ rttMs: Double?) -> Void = { _ in }) {
        if free <= 0 { return done(nil) }
        let answered: Caller<Double> = { [weak self] result in
            guard case .success(let rttMs) = result else { return done(nil) }
            self?.rttMs = rttMs
            done(rttMs)
        }
        PingExchange(loop: loop).run({ send([$0]) }, answered)
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

    /// Estimated bytes of an encoded frame: exact near the limit, else three for each UTF-16 unit, as in the TypeScript
    /// client, so that both divide messages at the same places.
    private static func estimate(_ part: [UInt8], _ limit: Int) -> Int {
        var units = 0
        for byte in part where byte & 0xC0 != 0x80 { units += byte >= 0xF0 ? 2 : 1 }
        return units * 3 > limit / 4 ? part.count : units * 3
    }

    /// Answers are due and no message has arrived for a while: pings the node, and gives up if the ping is not answered
    /// either. Takes `limitMs` in all; a server that is merely slow to answer a request answers the ping.
    func checkQuiet(_ nowMs: Double, _ limitMs: Double) {
        if isIdle { return }
        if let askedMs {
            if nowMs - askedMs > limitMs / 2 { drop(.lost("\(url) has gone silent")) }
        } else if nowMs - max(receivedMs, owingSinceMs) > limitMs / 2, free > 0 {
            ask()
        }
    }

    /// Pings the node: without any message the connection is given up soon.
    func ask() {
        askedMs = askedMs ?? loop.nowMs
        ping()
    }

    /// Closes with a handshake, if there was a welcome: no request waits for it any more.
    func close() {
        finish(.lost("the connection was closed"), abrupt: unopened != nil)
    }

    /// Gives the connection up.
    func drop(_ error: IsochronError) {
        finish(error, abrupt: true)
    }

    /// Nil if the request cannot be sent: then it has failed.
    private func encode(_ exchange: Exchange, _ limit: Int) -> [UInt8]? {
        let id = nextId
        nextId += 1
        do {
            let part = JSONCodec.encode(try exchange.request(on: self), id: id)
            if part.count >= limit {
                throw IsochronError(.requestTooLarge, "a request of \(part.count) bytes is above \(limit)")
            }
            byId[id] = exchange
            if exchange.waits { waits += 1 }
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
        if !isClosed { loop.out?.send(socket, JSONCodec.pack([JSONCodec.encode(hello)])) }
    }

    func closed(_ code: UInt16?, _ reason: String) {
        finish(closeError(code, reason), abrupt: false)
    }

    func received(_ message: WebSocketMessage) {
        if isClosed { return }
        // A welcome alone is no progress: a node that fails right after it is retried only after a pause.
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
            unresponsive = frame.unresponsive ?? .nothing
            map = frame.map ?? 0
            if greeting != nil { owner?.ust(frame, from: self) }
        case .goaway(let frame):
            if greeting != nil { owner?.goaway(frame, from: self) }
        case .answer(let answer): try take(answer)
        }
    }

    private func greeted(_ welcome: Welcome) throws {
        guard greeting == nil, let opened = unopened else { throw IsochronError.malformed("a second welcome") }
        greeting = welcome
        unresponsive = welcome.unresponsive ?? .nothing
        map = welcome.map ?? 0
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
        if exchange.waits { waits -= 1 }
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
        (byId, waits) = ([:], 0)
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
    /// The placeholder before the welcome: nothing may be sent.
    fileprivate static let absent = Welcome(
        region: "", node: "", cluster: "", protocol: "", capabilities: [], ust: Snapshot(ts: 0), stable: nil, seen: nil,
        hwt: 0, freshness: Freshness(now: 0, stalenessMs: 0, stale: false, heldBackBy: nil), unresponsive: nil,
        map: nil, cuts: [], expiresAt: nil, token: "", credits: 0, limits: .standard, maxTransactionMs: 0,
        stalenessAlertMs: nil, regions: [])
}
