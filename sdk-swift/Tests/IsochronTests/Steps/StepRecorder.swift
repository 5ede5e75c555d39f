import IsochronSession

@testable import Isochron

/// Drives one client machine with the inputs of a trace, and records the effects of each as JSON.
@SessionActor
final class StepRecorder: ClientEffects {
    /// The random values of a step; with empty lists a draw gives an impossible value.
    final class Draws: Sendable {
        let random = Locked<[Double]>([])
        let ids = Locked<[String]>([])

        func nextRandom() -> Double { random.change { $0.isEmpty ? .nan : $0.removeFirst() } }
        func nextId() -> String { ids.change { $0.isEmpty ? "" : $0.removeFirst() } }
    }

    let draws = Draws()
    private var machine: ClientMachine?
    private var callers: [Int64: PendingCall] = [:]
    private var settled: Set<Int64> = []
    private var effects: [Raw] = []
    private var writes: [String] = []

    init(_ settings: Raw.Members, nowMs: Double) throws {
        let draws = draws
        let client = ClientSettings(
            client: "isochron-steps/1", credentials: try settings["credentials"]?.text("credentials"),
            renewsCredentials: settings["auth"] == .bool(true),
            times: try ClientTimes(ofTrace: try settings.required("times").members("times")),
            newId: { draws.nextId() })
        machine = try ClientMachine(
            try settings.required("endpoints").items("endpoints").map { try $0.text("endpoint") },
            token: try settings["token"]?.text("token"),
            imported: try settings["session"].map { try ExportedSession($0) },
            client, self, random: { draws.nextRandom() }, nowMs: nowMs)
    }

    /// The effects of a step; the status and the states of all undecided writes after it, where they have changed.
    func step(_ step: Raw.Members) throws -> (effects: [Raw], status: Raw?, writes: Raw?) {
        effects = []
        let nowMs = try step.required("at").double()
        do {
            try take(step, nowMs)
        } catch let error as IsochronError {
            effects.append(object(("do", .string("throw")), ("error", shown(error))))
        }
        let hasChanged = effects.contains { $0 == object(("do", .string("changed"))) }
        guard let machine else { return (effects, nil, nil) }
        let status = hasChanged ? shown(machine.core.status(nowMs)) : nil
        let before = writes
        writes = machine.core.queue.states.map { $0?.map(\.rawValue).joined(separator: " ") ?? "queued" }
        return (effects, status, writes == before ? nil : .array(writes.map { .string($0) }))
    }

    private func take(_ step: Raw.Members, _ nowMs: Double) throws {
        guard let machine else { return }
        switch try step.text("do") {
        case "begin":
            let mode: SnapshotHandle.Mode =
                switch try step.text("mode") {
                case "one-shot": .oneShot
                case "transaction": .transaction
                default: .snapshot
                }
            try machine.begin(
                try step.number("handle"), mode, at: try step["snapshot"].map { Int64(try $0.double()) }, nowMs: nowMs)
        case "write":
            let value = try step.required("value").valueOrNil()
            try machine.handle(try step.number("handle")).tx.write(try step.text("key"), value)
        case "export":
            guard let session = machine.core.export() else { throw IsochronError.lost("no node has answered yet") }
            effects.append(object(("do", .string("exported")), ("session", session.raw)))
        default:
            machine.step(try input(step), nowMs: nowMs)
        }
    }

    private func input(_ step: Raw.Members) throws -> ClientInput {
        let name = try step.text("do")
        switch name {
        case "call":
            let id = Int64(try step.number("caller"))
            let caller = PendingCall { [weak self] result in self?.settle(id, result) }
            callers[id] = caller
            return .call(try call(try step.members("call")), caller)
        case "cancel":
            guard let caller = callers[Int64(try step.number("caller"))] else { throw Unknown(what: "a caller") }
            return .cancel(caller, CancellationError())
        case "end": return .end(try step.number("handle"))
        case "opened": return .opened(try step.number("socket"))
        case "message": return .message(try step.number("socket"), .text(try step.text("data")))
        case "closed":
            let code = try step["code"].map { UInt16(try $0.double()) }
            return .closed(try step.number("socket"), code: code, reason: try step.text("reason"))
        case "loaded":
            let protocolName = try step.text("protocol")
            guard let failed = try step["failed"]?.text("failed") else {
                return .loaded(protocolName, loadKind(protocolName))
            }
            return .loaded(protocolName, .failure(IsochronError(IsochronError.Code(rawValue: failed), failed)))
        case "credentials":
            let credentials = try step["credentials"]?.text("credentials")
            return .credentials(credentials.map { .success($0) } ?? .failure(Unknown(what: "credentials")))
        case "network": return .network
        case "timer": return .timer
        case "turn": return .turn
        default: throw Unknown(what: name)
        }
    }

    private func call(_ call: Raw.Members) throws -> Call {
        let name = try call.text("f")
        switch name {
        case "connect": return .connect
        case "detach": return .detach
        case "close": return .close(flushMs: try call["flushMs"]?.double() ?? 0)
        case "read":
            let keys = try call.required("keys").items("keys").map { try $0.text("key") }
            return .read(try call["handle"].map { Int(try $0.double()) }, keys)
        case "list":
            let request = try call.members("request")
            return .list(
                try call.number("handle"),
                ListRequest(
                    keyspace: try request.text("keyspace"), prefix: try request.text("prefix"),
                    start: try request.text("start"), limit: try request.number("limit")))
        case "open": return .open(try call.number("handle"))
        case "commit": return .commit(try call.number("handle"))
        case "write": return .write(try call.text("key"), try call.required("value").valueOrNil())
        case "stable":
            return .stable(
                Int64(try call.required("ts").double()), timeoutMs: try call.required("timeoutMs").double())
        case "status":
            return .status(try call.text("txId"), sentAfter: try call["sentAfter"].map { Int64(try $0.double()) })
        default: throw Unknown(what: name)
        }
    }

    private func settle(_ id: Int64, _ result: Result<CallOutcome, any Error>) {
        if !settled.insert(id).inserted { effects.append(.string("the call \(id) is settled twice")) }
        switch result {
        case .success(let outcome):
            effects.append(object(("do", .string("resolve")), ("caller", .integer(id)), ("value", shown(outcome))))
        case .failure(is CancellationError):
            let error = object(("code", .string("cancelled")))
            effects.append(object(("do", .string("reject")), ("caller", .integer(id)), ("error", error)))
        case .failure(let error):
            let shown = shown(IsochronError.of(error))
            effects.append(object(("do", .string("reject")), ("caller", .integer(id)), ("error", shown)))
        }
    }

    // Effects of the machine:

    func open(_ socket: SocketId, _ url: String) {
        effects.append(object(("do", .string("open")), ("socket", .integer(Int64(socket))), ("url", .string(url))))
    }

    func send(_ socket: SocketId, _ message: WebSocketMessage) {
        guard case .text(let text) = message, let decoded = try? JSONReader.read(text) else { return }
        let frames: Raw = if case .array = decoded { decoded } else { .array([decoded]) }
        effects.append(object(("do", .string("send")), ("socket", .integer(Int64(socket))), ("frames", frames)))
    }

    func close(_ socket: SocketId, abrupt: Bool) {
        effects.append(
            object(("do", .string("close")), ("socket", .integer(Int64(socket))), ("abrupt", .bool(abrupt))))
    }

    func load(_ protocolName: String) {
        effects.append(object(("do", .string("load")), ("protocol", .string(protocolName))))
    }

    func authenticate() {
        effects.append(object(("do", .string("authenticate"))))
    }

    func setTimer(_ atMs: Double) {
        effects.append(object(("do", .string("setTimer")), ("at", atMs.isFinite ? .number(atMs) : .null)))
    }

    func turn() {
        effects.append(object(("do", .string("turn"))))
    }

    func changed() {
        effects.append(object(("do", .string("changed"))))
    }

    /// The store belongs to the driver.
    func touched(written: Bool) {}

    /// Texts of logs are specific to each SDK.
    func log(_ level: LogLevel, _ message: String) {}
}

/// An element of a trace that this reader does not know.
struct Unknown: Error {
    let what: String
}

extension ClientTimes {
    fileprivate init(ofTrace members: Raw.Members) throws {
        let time = { (name: String) in try members.required(name).present?.double() ?? .infinity }
        self.init(
            requestTimeoutMs: try time("requestTimeoutMs"), connectTimeoutMs: try time("connectTimeoutMs"),
            commitTimeoutMs: try time("commitTimeoutMs"), returnAfterMs: try time("returnAfterMs"))
    }
}
