import IsochronSession
import XCTest

@testable import Isochron

/// The reason of a caller that does not wait any more.
struct Enough: Error, Equatable {
    var of = ""
}

/// A call and its result.
@SessionActor
final class Called {
    let call: Call
    private let network: ScriptedNetwork
    /// Number of times that it was settled.
    private(set) var settled = 0
    private var result: Result<CallOutcome, any Error>?
    fileprivate private(set) lazy var caller = PendingCall { [weak self] in self?.settle($0) }

    fileprivate init(_ call: Call, _ network: ScriptedNetwork) {
        self.call = call
        self.network = network
    }

    func cancel(_ reason: Enough = Enough()) { network.step(.cancel(caller, reason)) }

    /// The error that it was rejected with.
    var error: (any Error)? {
        if case .failure(let error)? = result { return error }
        return nil
    }

    var code: IsochronError.Code? { (error as? IsochronError)?.code }

    /// The values that a read resolved with.
    var values: [Value?]? {
        if case .success(.values(let values))? = result { return values }
        return nil
    }

    /// The result that a write or a commit resolved with.
    var committed: Committed? {
        if case .success(.committed(let committed))? = result { return committed }
        return nil
    }

    private func settle(_ result: Result<CallOutcome, any Error>) {
        self.result = result
        settled += 1
        if settled > 1 { network.violated("\(call) was settled \(settled) times") }
    }
}

/// A client machine and its network, for tests.
@SessionActor
final class MachineWorld {
    let network: ScriptedNetwork
    let machine: ClientMachine
    private(set) var calls: [Called] = []

    init(
        _ nodes: [ScriptedNode], requestTimeoutMs: Double = 1000, returnAfterMs: Double = .infinity,
        random: @escaping @Sendable () -> Double = { 0 }, label: String = ""
    ) throws {
        let sessions = Locked(0)
        let settings = ClientSettings(
            client: "test", credentials: nil, renewsCredentials: false,
            times: ClientTimes(
                requestTimeoutMs: requestTimeoutMs, connectTimeoutMs: 500, commitTimeoutMs: 3000,
                returnAfterMs: returnAfterMs),
            newId: {
                sessions.change { count in
                    count += 1
                    return "session\(count)".padding(toLength: 22, withPad: "0", startingAt: 0)
                }
            })
        let network = ScriptedNetwork(nodes, label: label)
        let machine = try ClientMachine(
            nodes.map(\.url), token: nil, imported: nil, settings, network, random: random, nowMs: 0)
        network.input = { [unowned network] in machine.step($0, nowMs: network.nowMs) }
        self.network = network
        self.machine = machine
    }

    /// The connection in use.
    var current: Connection? { machine.core.connector.current }

    func call(_ call: Call) -> Called {
        let called = Called(call, network)
        calls.append(called)
        network.step(.call(call, called.caller))
        return called
    }

    /// Makes a call, and lets some time pass.
    @discardableResult
    func ask(_ call: Call, _ ms: Double = 50) -> Called {
        let called = self.call(call)
        run(ms)
        return called
    }

    @discardableResult
    func write(_ key: String, _ json: String = "1") -> Called { call(.write("default/\(key)", .json(json))) }

    @discardableResult
    func read(_ key: String) -> Called { call(.read(nil, ["default/\(key)"])) }

    /// Lets time pass.
    func run(_ ms: Double) { network.run(ms) }
}

/// A world whose client is connected to the first of its nodes. The others are further away.
@SessionActor
struct Connected {
    let store = FakeStore()
    let nodes: [ScriptedNode]
    let world: MachineWorld

    init(
        _ names: [String] = ["east"], returnAfterMs: Double = .infinity,
        random: @escaping @Sendable () -> Double = { 0 }
    ) throws {
        let store = store
        nodes = names.map { ScriptedNode($0, store) }
        for node in nodes.dropFirst() { node.delayMs = 10 }
        world = try MachineWorld(nodes, returnAfterMs: returnAfterMs, random: random)
        XCTAssertEqual(world.ask(.connect).settled, 1)
        XCTAssertEqual(world.current?.region, nodes[0].name)
    }

    var home: ScriptedNode { nodes[0] }
    var other: ScriptedNode { nodes[1] }
    var network: ScriptedNetwork { world.network }
}

/// A world whose client is connected to the nearest node, while another node that could not be reached at first is
/// further away: the client is about to measure its distance.
@SessionActor
struct Looking {
    let home: ScriptedNode
    let other: ScriptedNode
    let world: MachineWorld

    init() throws {
        let store = FakeStore()
        (home, other) = (ScriptedNode("east", store), ScriptedNode("west", store))
        home.credits = 2
        other.delayMs = 10
        other.state = .refuses
        world = try MachineWorld([home, other], returnAfterMs: 100)
        world.ask(.connect)
        other.state = .serves
        XCTAssertEqual(world.current?.region, "east")
    }

    var network: ScriptedNetwork { world.network }
}

/// Applies a script to the first frame of a type only.
@SessionActor
func once(_ type: String, _ scripted: Scripted) -> @SessionActor (FakeFrame) -> Scripted {
    let isDone = Locked(false)
    return { frame in
        if frame.type != type || isDone.get() { return .answer }
        isDone.set(true)
        return scripted
    }
}

/// Applies a script to every frame of a type.
@SessionActor
func always(
    _ type: String, _ scripted: @escaping @SessionActor (_ id: Int64) -> Scripted
) -> @SessionActor (FakeFrame) -> Scripted {
    { frame in frame.type == type ? scripted(frame.id) : .answer }
}
