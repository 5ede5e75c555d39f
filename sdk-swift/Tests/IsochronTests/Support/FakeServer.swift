import IsochronSession

@testable import Isochron

/// A frame that a client sent.
struct FakeFrame: Sendable {
    let raw: JSONValue

    var type: String { text("type") ?? "" }
    var id: Int64 { number("id") ?? 0 }
    subscript(_ name: String) -> JSONValue? { raw[name] }

    func text(_ name: String) -> String? {
        if case .string(let text)? = raw[name] { return text }
        return nil
    }

    func number(_ name: String) -> Int64? {
        if case .integer(let number)? = raw[name] { return number }
        return nil
    }

    func texts(_ name: String) -> [String] {
        guard case .array(let items)? = raw[name] else { return [] }
        return items.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    func numbers(_ name: String) -> [Int64]? {
        guard case .array(let items)? = raw[name] else { return nil }
        return items.compactMap { if case .integer(let number) = $0 { number } else { nil } }
    }

    /// The avoided regions of each attempt of a commit; nil if the frame has none.
    var avoids: [[String]]? {
        guard case .array(let lists)? = raw["avoids"] else { return nil }
        return lists.map { FakeFrame(raw: ["avoid": $0]).texts("avoid") }
    }

    var writes: [(key: String, value: JSONValue)] {
        guard case .array(let items)? = raw["writes"] else { return [] }
        return items.compactMap { item in
            guard case .string(let key)? = item["key"] else { return nil }
            return (key, item["value"] ?? .null)
        }
    }

    /// All members except for the id, which differs in every send.
    var withoutId: JSONValue {
        guard case .object(var members) = raw else { return raw }
        members["id"] = nil
        return .object(members)
    }
}

/// A script's reaction to a frame: a node's usual one, an answer of its own, no answer at all, or the end of the
/// connection.
enum Scripted {
    case answer
    case drop
    case close
    /// The end of the connection, as the socket reports it where TLS fails.
    case failTLS
    case applyAndDrop
    case applyAndClose
    case frame(JSONValue)
    case text(String)
    /// The usual answer, or another one, once the gate is open.
    case hold(Gate, answer: JSONValue? = nil)
}

/// An error frame.
func errorFrame(_ id: Int64?, _ code: String, retryable: Bool) -> JSONValue {
    var frame: [String: JSONValue] = ["type": "error", "code": .string(code), "detail": .string("scripted \(code)")]
    frame["retryable"] = .bool(retryable)
    if let id { frame["id"] = .integer(id) }
    return .object(frame)
}

func refusal(_ id: Int64?, _ code: String, retryable: Bool) -> Scripted {
    .frame(errorFrame(id, code, retryable: retryable))
}

/// Deviations of a scripted server from the usual one.
struct FakeOptions {
    var region = "virginia"
    var node: String?
    var credits: Int64 = 256
    var limits: [String: Int64] = [:]
    var regions: [(id: String, endpoints: [String])] = []
    var cluster = "test"
    var `protocol` = "paris"
    var capabilities = ["transactions", "list", "stable", "snapshots", "read-past", "stable-snapshots"]
}

/// A scripted node: the session protocol on a dictionary. Several may share a store, like the regions of a cluster.
@SessionActor
final class FakeServer {
    let network: FakeNetwork
    let store: FakeStore
    let options: FakeOptions
    let url: String
    private(set) var isListening = true
    private var sockets: [(socket: FakeSocket, open: [String: JSONValue])] = []
    /// Every received frame, and the number of frames in each message.
    private(set) var frames: [FakeFrame] = []
    private(set) var packing: [Int] = []
    /// Runs before a frame is answered.
    var script: @SessionActor (FakeFrame) -> Scripted = { _ in .answer }
    /// Snapshot of starts and reads; by default the store's stable time.
    var lag: Int64?
    /// Reported freshness, if it differs from that of the store.
    var freshness: [String: JSONValue] = [:]
    /// Nodes and regions that do not answer it.
    var unresponsive: (nodes: [String], regions: [String])?
    /// Commit timestamp of the session's last write in the welcome.
    var hwt: Int64 = 0
    /// Reported state of a token's session.
    var seen: JSONValue?
    /// How long it accepts credentials; nil for ever.
    var lifeMs: Int64?
    /// Invalid members of the welcome.
    var welcome: [String: JSONValue] = [:]
    /// The readers of its log.
    private(set) lazy var feeds = FakeFeeds(store)
    /// The chosen subprotocol; by default the offered one.
    var subprotocol: String?

    init(_ network: FakeNetwork, _ store: FakeStore, _ name: String, _ options: FakeOptions) {
        self.network = network
        self.store = store
        self.options = options
        url = "http://\(name)"
        network.servers.change { $0["ws://\(name)/v1/session"] = self }
    }

    var region: String { options.region }
    var connections: Int { sockets.count }
    /// Number of open transactions on all connections.
    var openTransactions: Int { sockets.reduce(0) { $0 + $1.open.count } }

    /// Frames of one type, in the order of their arrival.
    func received(_ type: String) -> [FakeFrame] { frames.filter { $0.type == type } }

    /// Sends to every connection.
    func push(_ frame: JSONValue) { push(text: Self.text(frame)) }

    func push(text: String) {
        for (socket, _) in sockets { socket.deliver(.messages([.text(text)])) }
    }

    func push(_ message: WebSocketMessage) {
        for (socket, _) in sockets { socket.deliver(.messages([message])) }
    }

    /// Cuts all connections, without a close frame.
    func cut() {
        feeds.forget()
        for (socket, _) in sockets { socket.end(code: nil, "cut") }
    }

    /// Ends all connections with a close code.
    func close(code: UInt16) {
        for (socket, _) in sockets { socket.end(code: code, "") }
    }

    /// Stops listening, and ends all connections.
    func stop() {
        isListening = false
        cut()
    }

    func restart() { isListening = true }

    func serve(_ socket: FakeSocket, _ offered: String) async {
        sockets.append((socket, [:]))
        socket.deliver(.opened(subprotocol: subprotocol ?? offered))
        for await messages in socket.sent {
            for message in messages { take(message, socket) }
        }
        sockets.removeAll { $0.socket === socket }
    }

    private func take(_ message: WebSocketMessage, _ socket: FakeSocket) {
        guard case .text(let text) = message, let raw = try? JSONReader.read(text) else { return }
        let value = (try? JSONValue(raw)) ?? .null
        let items: [JSONValue]
        if case .array(let all) = value { items = all } else { items = [value] }
        packing.append(items.count)
        let arrived = items.map(FakeFrame.init)
        frames += arrived
        for frame in arrived { take(frame, socket) }
    }

    private func take(_ frame: FakeFrame, _ socket: FakeSocket) {
        switch script(frame) {
        case .answer where frame.type == "live" || frame.type == "changes":
            feeds.take(frame, socket) { [weak self] in self?.reply($0, socket) }
        case .answer: reply(answer(frame, socket), socket)
        case .drop: break
        case .close: socket.end(code: nil, "scripted")
        case .failTLS: socket.end(code: tlsFailedCode, "the certificate of node-1 has expired")
        case .applyAndDrop: _ = answer(frame, socket)
        case .applyAndClose:
            _ = answer(frame, socket)
            socket.end(code: nil, "scripted")
        case .frame(let own): reply(own, socket)
        case .text(let text): socket.deliver(.messages([.text(text)]))
        case .hold(let gate, let own):
            Task { @SessionActor in
                await gate.wait()
                reply(own ?? answer(frame, socket), socket)
            }
        }
    }

    private func reply(_ frame: JSONValue, _ socket: FakeSocket) {
        socket.deliver(.messages([.text(Self.text(frame))]))
    }

    static func text(_ value: JSONValue) -> String {
        var out = JSONWriter()
        out.value(Raw(value))
        return out.text
    }

    private func answer(_ frame: FakeFrame, _ socket: FakeSocket) -> JSONValue {
        switch frame.type {
        case "hello": return welcomeFrame
        case "start": return start(frame, socket)
        case "read": return read(frame, socket)
        case "list": return list(frame, socket)
        case "commit": return commit(frame, socket)
        case "get": return got(frame.id, [frame.text("key") ?? ""])
        case "rot": return got(frame.id, frame.texts("keys"))
        case "put": return put(frame)
        case "abort":
            change(socket) { $0[frame.text("tx") ?? ""] = nil }
            return ["type": "aborted", "id": .integer(frame.id)]
        case "status":
            let ts = store.outcomes[frame.text("tx") ?? ""]
            let status: JSONValue = ts == nil ? "unknown" : "committed"
            return [
                "type": "status", "id": .integer(frame.id), "status": status, "ts": ts.map { .integer($0) } ?? .null,
            ]
        case "stable":
            if store.ust >= frame.number("ts") ?? 0 {
                return ["type": "stable", "id": .integer(frame.id), "ust": .integer(store.ust)]
            }
            return errorFrame(frame.id, "STABLE_TIMEOUT", retryable: true)
        case "authenticate":
            var renewed: [String: JSONValue] = ["type": "authenticated", "id": .integer(frame.id), "now": 7]
            renewed["expiresAt"] = lifeMs.map { .integer(7 + $0) }
            return .object(renewed)
        default: return ["type": "pong", "id": .integer(frame.id)]
        }
    }

    /// Its welcome.
    var welcomeFrame: JSONValue {
        let ust = lag ?? store.ust
        var limits: [String: Int64] = ["maxKeyBytes": 1024, "maxValueBytes": 1_048_576, "maxKeysPerRequest": 1000]
        limits["maxRequestBytes"] = 8 * 1_048_576
        limits.merge(options.limits) { $1 }
        var frame: [String: JSONValue] = [
            "type": "welcome", "region": .string(region), "node": .string(options.node ?? "\(region)-1"),
            "cluster": .string(options.cluster), "protocol": .string(options.protocol),
            "capabilities": .array(options.capabilities.map { .string($0) }), "ust": .integer(ust),
            "hwt": .integer(hwt), "freshness": freshnessNow, "token": .string("\(region)-\(store.ust)"),
            "credits": .integer(options.credits), "limits": .object(limits.mapValues { .integer($0) }),
            "maxTransactionMs": 30000,
        ]
        frame["regions"] = .array(
            options.regions.map { ["id": .string($0.id), "endpoints": .array($0.endpoints.map { .string($0) })] })
        if let deps { frame["deps"] = deps }
        if !options.capabilities.contains("stable-snapshots") { frame["stable"] = .integer(ust) }
        if let seen { frame["seen"] = seen }
        if let lifeMs { frame["expiresAt"] = .integer(nowMs + lifeMs) }
        frame["unresponsive"] = unresponsiveNow
        return .object(frame.merging(welcome) { $1 })
    }

    /// Pushes its stable time, its freshness, and the nodes that do not answer it.
    func report() {
        var frame: [String: JSONValue] = ["type": "ust", "ust": .integer(store.ust), "freshness": freshnessNow]
        frame["unresponsive"] = unresponsiveNow
        push(.object(frame))
    }

    private var unresponsiveNow: JSONValue? {
        unresponsive.map { silent in
            [
                "nodes": .array(silent.nodes.map { .string($0) }),
                "regions": .array(silent.regions.map { .string($0) }),
            ]
        }
    }

    /// Reported freshness: its clock equals the store's stable time.
    var freshnessNow: JSONValue {
        var members: [String: JSONValue] = [
            "now": .integer(nowMs), "stalenessMs": 0, "stale": false, "heldBackBy": nil,
        ]
        members.merge(freshness) { $1 }
        return .object(members)
    }

    private var nowMs: Int64 { Int64(wallMs(of: lag ?? store.ust).rounded(.up)) }

    private var deps: JSONValue? { store.deps.map { .array($0.map { .integer($0) }) } }

    private func with(_ snapshot: JSONValue, _ frame: [String: JSONValue]) -> JSONValue {
        guard case .object(let members) = snapshot else { return .object(frame) }
        return .object(frame.merging(members) { $1 })
    }

    private func change(_ socket: FakeSocket, _ body: (inout [String: JSONValue]) -> Void) {
        guard let at = sockets.firstIndex(where: { $0.socket === socket }) else { return }
        body(&sockets[at].open)
    }

    private func open(_ socket: FakeSocket) -> [String: JSONValue] {
        sockets.first { $0.socket === socket }?.open ?? [:]
    }

    /// A request for a snapshot with all its entries gets that one.
    private func assigned(_ frame: FakeFrame) -> JSONValue {
        if let at = frame["at"], let deps = frame["deps"] { return ["snapshot": at, "deps": deps] }
        var snapshot: [String: JSONValue] = ["snapshot": frame["at"] ?? .integer(lag ?? store.ust)]
        snapshot["deps"] = deps
        return .object(snapshot)
    }

    private func start(_ frame: FakeFrame, _ socket: FakeSocket) -> JSONValue {
        let tx = frame.text("tx") ?? ""
        if open(socket)[tx] != nil { return errorFrame(frame.id, "TX_ID_REUSED", retryable: false) }
        let snapshot = assigned(frame)
        change(socket) { $0[tx] = snapshot }
        let ts = FakeFrame(raw: snapshot).number("snapshot") ?? 0
        return with(snapshot, ["type": "started", "id": .integer(frame.id), "token": .string("\(region)-\(ts)")])
    }

    private func snapshot(_ frame: FakeFrame, _ socket: FakeSocket) -> JSONValue? {
        guard let tx = frame.text("tx") else { return assigned(frame) }
        return open(socket)[tx]
    }

    private func read(_ frame: FakeFrame, _ socket: FakeSocket) -> JSONValue {
        guard let snapshot = snapshot(frame, socket) else {
            return errorFrame(frame.id, "TRANSACTION_UNKNOWN", retryable: false)
        }
        let ts = FakeFrame(raw: snapshot).number("snapshot") ?? 0
        let values = frame.texts("keys").map { store.read($0, at: ts) }
        return with(snapshot, ["type": "values", "id": .integer(frame.id), "values": .array(values)])
    }

    private func list(_ frame: FakeFrame, _ socket: FakeSocket) -> JSONValue {
        guard let snapshot = snapshot(frame, socket) else {
            return errorFrame(frame.id, "TRANSACTION_UNKNOWN", retryable: false)
        }
        let ts = FakeFrame(raw: snapshot).number("snapshot") ?? 0
        let (start, limit) = (frame.text("start") ?? "", Int(frame.number("limit") ?? 100))
        var found: [(key: String, version: JSONValue)] = []
        for qualified in store.keys {
            let (keyspace, key) = unqualify(qualified)
            guard keyspace == frame.text("keyspace"), key.hasPrefix(frame.text("prefix") ?? ""), key >= start else {
                continue
            }
            let version = store.read(qualified, at: ts)
            if version != .null { found.append((key, version)) }
        }
        let entries = found.prefix(limit).map { entry -> JSONValue in
            [.string(entry.key), entry.version[0] ?? .null, entry.version[1] ?? .null]
        }
        let next: JSONValue = found.count > limit ? .string(found[limit].key) : .null
        return with(snapshot, ["type": "listed", "id": .integer(frame.id), "entries": .array(entries), "next": next])
    }

    private func commit(_ frame: FakeFrame, _ socket: FakeSocket) -> JSONValue {
        let tx = frame.text("tx") ?? ""
        if frame["snapshot"] == nil, open(socket)[tx] == nil {
            return errorFrame(frame.id, "TRANSACTION_UNKNOWN", retryable: false)
        }
        change(socket) { $0[tx] = nil }
        let ts = store.commit(
            tx, hwt: frame.number("hwt") ?? 0, sentAfter: frame.number("sentAfter") ?? 0, frame.writes)
        var answer: [String: JSONValue] = ["type": "committed", "id": .integer(frame.id), "ts": .integer(ts)]
        answer["token"] = .string("\(region)-w\(ts)")
        if let deps { answer["deps"] = deps }
        return .object(answer)
    }

    /// For single operations: everything is visible at once, and the seen timestamp is the store's clock.
    private func got(_ id: Int64, _ keys: [String]) -> JSONValue {
        let values = keys.map { store.read($0, at: store.clock) }
        return [
            "type": "got", "id": .integer(id), "values": .array(values), "seen": [.integer(store.clock), 0],
            "ust": .integer(store.ust), "token": .string("\(region)-\(store.clock)"),
        ]
    }

    private func put(_ frame: FakeFrame) -> JSONValue {
        let write = (key: frame.text("key") ?? "", value: frame["value"] ?? .null)
        let ts = store.commit(frame.text("tx") ?? "", sentAfter: frame.number("sentAfter") ?? 0, [write])
        return [
            "type": "written", "id": .integer(frame.id), "ts": .integer(ts), "seen": [.integer(ts), 0],
            "region": .string(frame.texts("attemptRegions").last ?? region), "ust": .integer(store.ust),
            "token": .string("\(region)-w\(ts)"),
        ]
    }
}
