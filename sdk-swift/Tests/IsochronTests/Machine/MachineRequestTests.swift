import IsochronSession
import XCTest

@testable import Isochron

/// Requests and their credits, and transactions.
final class MachineRequestTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testRequestsOfOneTurnLeaveInOneMessage() async throws {
        let scene = try Connected()
        let before = scene.home.packing.count
        let reads = (0..<10).map { scene.world.read("k\($0)") }
        scene.world.write("a")
        scene.world.run(50)
        XCTAssertEqual(Array(scene.home.packing.dropFirst(before)), [11])
        XCTAssert(reads.allSatisfy { $0.settled == 1 })
    }

    @SessionActor
    func testRequestsGetTheCreditsOfRefusedOnes() async throws {
        let scene = try Connected()
        scene.home.script = always("read") { refusal($0, "KEYSPACE_UNKNOWN", retryable: false) }
        let reads = (0..<40).map { scene.world.read("k\($0)") }
        scene.world.run(100)
        XCTAssert(reads.allSatisfy { $0.code == .keyspaceUnknown })
        scene.home.script = { _ in .answer }
        let read = scene.world.read("a")
        scene.world.run(10)
        XCTAssertEqual(read.values, [nil])
    }

    @SessionActor
    func testRequestsGetTheCreditsOfCancelledOnesOnlyAfterTheirAnswers() async throws {
        let scene = try Connected()
        let (home, world) = (scene.home, scene.world)
        home.script = always("read") { _ in .drop }
        for at in 0..<home.credits { world.read("k\(at)").cancel() }
        let reads = (0..<home.credits).map { world.read("k\($0)") }
        world.run(10)
        let held = home.received("read")
        XCTAssertEqual(held.count, home.credits)
        for read in reads { read.cancel() }
        let late = world.read("late")
        world.run(10)
        XCTAssertEqual(home.received("read").count, home.credits)
        home.script = { _ in .answer }
        for frame in held { scene.network.push(home, errorFrame(frame.id, "OVERLOADED", retryable: true)) }
        world.run(10)
        XCTAssertEqual(late.values, [nil])
    }

    @SessionActor
    func testRequestsWaitForAConnectionAndFailAtTheirDeadline() async throws {
        let scene = try Connected()
        scene.home.state = .refuses
        scene.network.cut(scene.home)
        let (early, late) = (scene.world.read("a"), scene.world.read("b"))
        early.cancel()
        scene.world.run(1500)
        XCTAssertEqual(early.error as? Enough, Enough())
        XCTAssertEqual(late.code, .offline)
    }

    @SessionActor
    func testATransactionWithItsFirstReadsInOneMessageIsOpenedOnce() async throws {
        let scene = try Connected()
        let world = scene.world
        try world.machine.begin(1, .transaction, at: nil, nowMs: scene.network.nowMs)
        let reads = ["a", "b"].map { world.call(.read(1, ["default/\($0)"])) }
        world.run(10)
        XCTAssertEqual(reads.map(\.values), [[nil], [nil]])
        let starts = scene.home.received("start").map { $0.text("tx") }
        XCTAssertEqual(starts.count, 1)
        XCTAssertEqual(scene.home.received("read").map { $0.text("tx") }, starts + starts)
    }
}
