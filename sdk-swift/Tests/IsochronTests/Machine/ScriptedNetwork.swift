import IsochronSession
import XCTest

@testable import Isochron

/// The environment of a machine in tests: scripted nodes, sockets that deliver in order, one clock. No real time
/// passes. Each effect is checked against the guarantees that every driver may rely on.
@SessionActor
final class ScriptedNetwork: ClientEffects {
    /// `closing`: the machine has closed it; `gone`: the machine has received its `closed`.
    enum State {
        case opening
        case open
        case closing
        case gone
    }

    @SessionActor
    final class Socket {
        let id: SocketId
        let node: ScriptedNode
        fileprivate(set) var state = State.opening
        /// The network has cut it.
        fileprivate var isCut = false
        /// Requests without an answer that has reached the machine.
        fileprivate var inFlight: [Int64: FakeFrame] = [:]
        fileprivate var lastArrivalMs = 0.0

        fileprivate init(_ id: SocketId, _ node: ScriptedNode) {
            self.id = id
            self.node = node
        }

        fileprivate var isDead: Bool { isCut || state == .gone }
    }

    private struct Due {
        let atMs: Double
        let run: @SessionActor () -> Void
    }

    /// More events than in any test: the machine loops.
    private static let maxEvents = 50_000

    let nodes: [ScriptedNode]
    /// The label of its test, for failures.
    let label: String
    /// Gives the machine an input.
    var input: @SessionActor (ClientInput) -> Void = { _ in }
    private(set) var sockets: [Socket] = []
    private(set) var nowMs = 0.0
    /// Time of the machine's timer; infinite without one.
    private(set) var timerMs = Double.infinity
    /// Whether loads of protocols are answered at once; else by `loaded`.
    var loadsAtOnce = true
    private(set) var loads: [String] = []
    /// Extra delay of a message.
    var jitterMs: @SessionActor () -> Double = { 0 }
    private var events: [Due] = []
    private var turnIsDue = false
    private var isStepping = false
    private var count = 0
    /// The last write that was sent, and whether its last send has been answered.
    private var write: (tx: String, isAnswered: Bool)?

    init(_ nodes: [ScriptedNode], label: String) {
        self.nodes = nodes
        self.label = label
    }

    /// Sockets that are open or being opened.
    var live: [Socket] { sockets.filter { $0.state != .gone } }

    /// A violation of the drivers' guarantees.
    func violated(_ what: String) { XCTFail("\(label): \(what)") }

    func step(_ input: ClientInput) {
        if isStepping { violated("a step inside of another one") }
        isStepping = true
        self.input(input)
        isStepping = false
    }

    func loaded(_ protocolName: String) {
        step(.loaded(protocolName, loadKind(protocolName)))
    }

    /// Lets time pass.
    func run(_ ms: Double) {
        let endMs = nowMs + ms
        while count < Self.maxEvents, goOn(until: endMs) { count += 1 }
        if count == Self.maxEvents { violated("more than \(count) events") }
        nowMs = endMs
    }

    /// The network cuts the connections to a node.
    func cut(_ node: ScriptedNode) {
        for socket in live where socket.node === node { cut(socket) }
    }

    /// Sends frames to every connection of a node, in one message.
    func push(_ node: ScriptedNode, _ frames: JSONValue...) {
        for socket in live where socket.node === node { deliver(socket, frames) }
    }

    /// Processes the next due event. False if none is due before the end.
    private func goOn(until endMs: Double) -> Bool {
        if turnIsDue {
            turnIsDue = false
            step(.turn)
            return true
        }
        let dueMs = min(events.first?.atMs ?? .infinity, timerMs)
        if dueMs > endMs { return false }
        nowMs = max(nowMs, dueMs)
        if let next = events.first, next.atMs <= timerMs {
            events.removeFirst()
            next.run()
        } else {
            timerMs = .infinity
            step(.timer)
        }
        return true
    }

    // Effects of the machine:

    func open(_ id: SocketId, _ url: String) {
        guard let node = nodes.first(where: { url.hasPrefix("\($0.url)/") }) else {
            return violated("no node at \(url)")
        }
        let socket = Socket(id, node)
        sockets.append(socket)
        if node.state == .silent { return }
        later(arrivalMs(socket)) { [self] in
            if socket.state != .opening { return }
            if node.state == .refuses { return gone(socket) }
            socket.state = .open
            step(.opened(id))
        }
    }

    func send(_ id: SocketId, _ message: WebSocketMessage) {
        guard let socket = socket(id), case .text(let text) = message, let raw = try? JSONReader.read(text) else {
            return
        }
        if socket.state != .open { violated("a message on a socket that is \(socket.state)") }
        let frames = if case .array(let all) = raw { all } else { [raw] }
        let sent = frames.map { FakeFrame(raw: (try? JSONValue($0)) ?? .null) }
        for frame in sent { check(socket, frame) }
        if !socket.isCut { later(arrivalMs(socket)) { [self] in arrive(socket, sent) } }
    }

    func close(_ id: SocketId, abrupt: Bool) {
        guard let socket = socket(id), socket.state != .gone else { return }
        socket.state = .closing
        if abrupt || socket.node.state != .silent { later(arrivalMs(socket)) { [self] in gone(socket) } }
    }

    func load(_ protocolName: String) {
        loads.append(protocolName)
        if loadsAtOnce { later(nowMs) { [self] in loaded(protocolName) } }
    }

    func authenticate() { violated("no credentials are renewed") }

    func setTimer(_ atMs: Double) {
        timerMs = atMs
    }

    func turn() {
        if turnIsDue { violated("a second turn was asked for before the end of the first one") }
        turnIsDue = true
    }

    func changed() {}

    func touched(written: Bool) {}

    func log(_ level: LogLevel, _ message: String) {}

    private func socket(_ id: SocketId) -> Socket? { sockets.first { $0.id == id } }

    private func check(_ socket: Socket, _ frame: FakeFrame) {
        if frame.type == "hello" { return }
        socket.inFlight[frame.id] = frame
        let (count, credits) = (socket.inFlight.count, socket.node.credits)
        if count > credits { violated("\(count) requests with \(credits) credits") }
        guard frame.type == "commit", let tx = frame.text("tx") else { return }
        if let write, write.tx != tx, !write.isAnswered {
            violated("\(tx) was sent before the outcome of \(write.tx) was known")
        }
        write = (tx, false)
    }

    private func arrive(_ socket: Socket, _ frames: [FakeFrame]) {
        if socket.isDead { return }
        let node = socket.node
        node.arrived(frames)
        var answers: [JSONValue] = []
        for frame in frames {
            switch node.script(frame) {
            case .answer: answers.append(node.answer(frame))
            case .frame(let own): answers.append(own)
            case .drop: break
            case .applyAndDrop: _ = node.answer(frame)
            case .close: return cut(socket)
            case .applyAndClose:
                _ = node.answer(frame)
                return cut(socket)
            case .text, .hold, .failTLS: violated("a scripted node has frames only")
            }
        }
        if !answers.isEmpty { deliver(socket, answers) }
    }

    private func deliver(_ socket: Socket, _ frames: [JSONValue]) {
        later(arrivalMs(socket)) { [self] in
            if socket.isDead { return }
            for frame in frames {
                let request = socket.inFlight.removeValue(forKey: FakeFrame(raw: frame).id)
                let answersWrite = request?.type == "commit" && request?.text("tx") == write?.tx
                if answersWrite, socket.state == .open { write?.isAnswered = true }
            }
            step(.message(socket.id, .text(FakeServer.text(.array(frames)))))
        }
    }

    private func cut(_ socket: Socket) {
        socket.isCut = true
        later(nowMs) { [self] in gone(socket) }
    }

    private func gone(_ socket: Socket) {
        if socket.state == .gone { return }
        socket.state = .gone
        step(.closed(socket.id, code: nil, reason: ""))
    }

    /// Arrival time of a message that leaves now: not before the previous message.
    private func arrivalMs(_ socket: Socket) -> Double {
        socket.lastArrivalMs = max(socket.lastArrivalMs, nowMs + socket.node.delayMs + jitterMs())
        return socket.lastArrivalMs
    }

    private func later(_ atMs: Double, _ run: @escaping @SessionActor () -> Void) {
        let at = (events.lastIndex { $0.atMs <= atMs } ?? -1) + 1
        events.insert(Due(atMs: atMs, run: run), at: at)
    }
}
