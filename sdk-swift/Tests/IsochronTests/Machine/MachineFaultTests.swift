import IsochronSession
import XCTest

@testable import Isochron

/// A seeded source of randomness that closures can share.
private final class Chance: Sendable {
    private let random: Locked<SeededRandom>

    init(_ seed: UInt64) {
        random = Locked(SeededRandom(seed: seed))
    }

    func float() -> Double { random.change { $0.float() } }
    func below(_ bound: Int) -> Int { Int(float() * Double(bound)) }
    func isTrue(_ probability: Double) -> Bool { float() < probability }
    func pick<Item>(_ items: [Item]) -> Item { items[below(items.count)] }
}

/// Random requests, drops, cuts, refusals and delays.
@SessionActor
private struct FaultyLife {
    private static let codes = [
        "NOT_READY", "OVERLOADED", "OUTCOME_PENDING", "INTERNAL", "CREDITS_EXHAUSTED", "RATE_LIMITED",
        "REPLICA_UNREACHABLE",
    ]

    let chance: Chance
    let store = FakeStore()
    let nodes: [ScriptedNode]
    let world: MachineWorld
    /// The probability of a fault.
    let trouble = Locked(0.2)

    init(seed: UInt64) throws {
        let (chance, store, trouble) = (Chance(seed), store, trouble)
        let nodes = ["east", "west", "north"].map { ScriptedNode($0, store) }
        for node in nodes {
            node.credits = 1 + chance.below(6)
            node.delayMs = Double(1 + chance.below(20))
            node.regions = nodes
            node.script = { frame in
                if !chance.isTrue(trouble.get()) { return .answer }
                let refused = refusal(frame.number("id"), chance.pick(Self.codes), retryable: true)
                return chance.pick([.drop, .close, .applyAndDrop, .applyAndClose, refused])
            }
        }
        world = try MachineWorld(
            nodes, requestTimeoutMs: chance.pick([200, 1000]), returnAfterMs: chance.pick([50, 1000]),
            random: { chance.float() }, label: "seed \(seed)")
        world.network.jitterMs = { chance.isTrue(trouble.get()) ? Double(chance.below(100)) : 0 }
        self.chance = chance
        self.nodes = nodes
    }

    func act(_ at: Int) throws {
        let (network, key) = (world.network, "default/k\(chance.below(5))")
        switch chance.below(11) {
        case 0..<3: _ = world.call(.read(nil, [key]))
        case 3..<5: _ = world.call(.write(key, .json("\(Int(network.nowMs))")))
        case 5: try transact(at, key)
        case 6..<8: chance.pick(world.calls).cancel()
        case 8: network.cut(chance.pick(nodes))
        case 9: chance.pick(nodes).state = chance.pick([.serves, .refuses, .silent])
        default:
            let delayMs = JSONValue.integer(Int64(chance.below(500)))
            network.push(chance.pick(nodes), ["type": "goaway", "reason": "restart", "delayMs": delayMs])
        }
    }

    /// A transaction that reads, and is committed or ended, perhaps during the read.
    private func transact(_ handle: HandleId, _ key: QualifiedKey) throws {
        let (machine, network) = (world.machine, world.network)
        let mode = chance.pick([SnapshotHandle.Mode.transaction, .snapshot])
        try machine.begin(handle, mode, at: nil, nowMs: network.nowMs)
        _ = world.call(.read(handle, [key]))
        if chance.isTrue(0.5) { world.run(Double(chance.below(50))) }
        try machine.handle(handle).tx.write(key, .json("\"written\""))
        if chance.isTrue(0.7) { _ = world.call(.commit(handle)) } else { network.step(.end(handle)) }
    }

    /// The network works from now on.
    func heal() {
        trouble.set(0)
        serve()
    }

    func serve() {
        for node in nodes { node.state = .serves }
    }
}

final class MachineFaultTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testEveryCallIsSettledExactlyOnceWhateverTheNetworkDoes() async throws {
        var (committed, unknown, rejected) = (0, 0, 0)
        for seed in 0..<60 as Range<UInt64> {
            let life = try FaultyLife(seed: seed)
            let (world, network) = (life.world, life.world.network)
            try live(life, seed)
            XCTAssertEqual(world.calls.filter { $0.settled != 1 }.count, 0, "seed \(seed)")
            XCTAssertEqual(network.timerMs, .infinity, "seed \(seed)")
            XCTAssertEqual(network.live.count, 0, "seed \(seed)")
            for call in world.calls {
                switch call.call {
                case .write, .commit: break
                default: continue
                }
                if call.code == .outcomeUnknown { unknown += 1 } else if call.error != nil { rejected += 1 }
                guard let outcome = call.committed else { continue }
                committed += 1
                XCTAssertEqual(life.store.outcomes[outcome.txId], outcome.timestamp, "seed \(seed)")
            }
        }
        XCTAssertGreaterThan(min(committed, unknown, rejected), 10)
    }

    /// From connect to close; for half of the seeds the network recovers in between.
    @SessionActor
    private func live(_ life: FaultyLife, _ seed: UInt64) throws {
        let (chance, world) = (life.chance, life.world)
        _ = world.call(.connect)
        world.run(Double(chance.below(1000)))
        if !world.machine.core.protocolName.isEmpty {
            for at in 0..<150 {
                try life.act(at)
                world.run(Double(chance.below(30)))
            }
            if chance.isTrue(0.5) {
                life.heal()
                world.run(60_000)
                let pending = world.machine.core.status(world.network.nowMs).pendingCommits
                XCTAssertEqual(pending, 0, "seed \(seed)")
            }
        }
        _ = world.call(.close(flushMs: 0))
        life.serve()
        world.run(30_000)
    }
}
