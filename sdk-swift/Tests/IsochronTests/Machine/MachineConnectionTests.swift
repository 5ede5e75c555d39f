import IsochronSession
import XCTest

@testable import Isochron

/// Which connections the machine opens, uses and closes.
final class MachineConnectionTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testConnectionsThatFailRightAfterTheWelcomeAreReopenedWithGrowingPauses() async throws {
        let scene = try Connected(random: { 0.5 })
        scene.home.script = always("ping") { _ in .close }
        scene.network.cut(scene.home)
        let before = scene.home.received("hello").count
        scene.world.run(10_000)
        let tries = scene.home.received("hello").count - before
        XCTAssertGreaterThan(tries, 3)
        XCTAssertLessThan(tries, 15)
    }

    @SessionActor
    func testAConnectionLostDuringAMeasurementIsReplacedAndTheOldestRequestsLeaveFirst() async throws {
        let scene = try Looking()
        let (world, home, other) = (scene.world, scene.home, scene.other)
        home.script = { $0.type == "read" || $0.type == "ping" ? .drop : .answer }
        let first = world.read("first")
        // The look has measured the other one, and waits for the ping of this one: no credit is free.
        world.run(200)
        let second = world.read("second")
        world.run(1)
        XCTAssertEqual(other.received("ping").count, 2)
        scene.network.cut(home)
        world.run(100)
        XCTAssertEqual(other.received("read").map { $0.texts("keys") }, [["default/first"], ["default/second"]])
        XCTAssertEqual([first.settled, second.settled], [1, 1])
        XCTAssertEqual(scene.network.live.count, 1)
    }

    @SessionActor
    func testAConnectionWithoutACreditForAMeasurementIsNotLeftForAFartherOne() async throws {
        let scene = try Looking()
        scene.home.script = always("read") { _ in .drop }
        for at in 0..<scene.home.credits { scene.world.read("k\(at)") }
        scene.world.run(400)
        XCTAssertEqual(scene.world.current?.region, "east")
        XCTAssertEqual(scene.other.received("ping").count, 0)
    }

    @SessionActor
    func testNoConnectionIsUsedToANodeThatRefusesTheSecondMeasurement() async throws {
        let scene = try Looking()
        (scene.home.delayMs, scene.other.delayMs) = (20, 1)
        let pings = Locked(0)
        scene.other.script = always("ping") { id in
            let count = pings.change { count in
                count += 1
                return count
            }
            return count % 2 == 0 ? refusal(id, "OVERLOADED", retryable: true) : .answer
        }
        scene.world.run(400)
        XCTAssertGreaterThan(pings.get(), 1)
        XCTAssertEqual(scene.world.current?.region, "east")
    }

    @SessionActor
    func testAConnectionIsClosedWhenItsFirstMeasurementIsRefused() async throws {
        let store = FakeStore()
        let (east, west) = (ScriptedNode("east", store), ScriptedNode("west", store))
        east.script = always("ping") { refusal($0, "OVERLOADED", retryable: true) }
        let world = try MachineWorld([east, west])
        XCTAssertEqual(world.ask(.connect, 150).settled, 1)
        world.run(1000)
        XCTAssertEqual(world.network.live.map(\.node.name), ["west"])
    }

    @SessionActor
    func testAConnectionSendsATokenThatArrivedWhileItOpenedAndKeepsTheMergedOne() async throws {
        let scene = try Connected(["east", "west"])
        let (world, home, other) = (scene.world, scene.home, scene.other)
        home.script = once("commit", .drop)
        world.write("a")
        world.run(5)
        scene.network.push(home, ["type": "goaway", "reason": "restart", "delayMs": 60_000])
        world.run(25)
        XCTAssertEqual(other.received("hello").last?.text("token"), "east-0")
        // The old connection still answers its requests, after the hello of the new one.
        scene.network.push(home, committed(home))
        world.run(100)
        XCTAssertEqual(world.current?.region, "west")
        XCTAssert(other.received("ping").contains { $0.text("token") == "east-w2000" })
        XCTAssertEqual(world.machine.core.currentToken, "east-w2000+")
    }

    @SessionActor
    func testAConnectionSendsTheTokenOfAnOlderOneAsSoonAsACreditIsFree() async throws {
        let scene = try Connected(["east", "west"])
        let (world, home, other) = (scene.world, scene.home, scene.other)
        other.credits = 2
        home.script = once("commit", .drop)
        world.write("a")
        world.run(5)
        scene.network.push(home, ["type": "goaway", "reason": "restart", "delayMs": 60_000])
        world.run(80)
        other.script = always("read") { _ in .drop }
        for key in ["a", "b"] { world.read(key) }
        world.run(20)
        scene.network.push(home, committed(home))
        world.run(20)
        XCTAssertEqual(world.current?.region, "west")
        for frame in other.received("read") {
            let id = JSONValue.integer(frame.id)
            scene.network.push(
                other, ["type": "values", "id": id, "snapshot": 1000, "values": [nil], "token": "west-1"])
        }
        world.run(100)
        XCTAssertEqual(world.machine.core.currentToken, "east-w2000+")
    }

    @SessionActor
    func testTheOlderTokenIsSentAgainWhenTheConnectionWasLostBeforeTheMergedOne() async throws {
        let scene = try Connected(["east", "west"])
        let (world, home, other) = (scene.world, scene.home, scene.other)
        home.script = once("commit", .drop)
        world.write("a")
        world.run(5)
        scene.network.push(home, ["type": "goaway", "reason": "restart", "delayMs": 60_000])
        world.run(80)
        other.script = {
            $0.type == "read" || ($0.type == "ping" && $0.text("token") != nil) ? .drop : .answer
        }
        world.read("a")
        world.run(20)
        scene.network.push(home, committed(home))
        world.run(20)
        let id = JSONValue.integer(try XCTUnwrap(other.received("read").first).id)
        scene.network.push(other, ["type": "values", "id": id, "snapshot": 1000, "values": [nil], "token": "west-1"])
        world.run(20)
        XCTAssertEqual(world.machine.core.currentToken, "west-1")
        other.script = { _ in .answer }
        scene.network.cut(other)
        world.run(500)
        XCTAssertEqual(world.machine.core.currentToken, "east-w2000+")
    }

    @SessionActor
    func testAConnectionWhoseNodeRefusesTheTokenOfAnOlderOneIsReplacedByOneThatBeginsWithIt() async throws {
        for ms in [25.0, 80] {
            let scene = try Connected(["east", "west"])
            let (world, home, other) = (scene.world, scene.home, scene.other)
            home.script = once("commit", .drop)
            world.write("a")
            world.run(5)
            scene.network.push(home, ["type": "goaway", "reason": "restart", "delayMs": 60_000])
            world.run(ms)
            var refusals = 0
            other.script = { frame in
                guard frame.type == "ping", frame.text("token") != nil, refusals == 0 else { return .answer }
                refusals += 1
                return refusal(frame.id, "TIMESTAMP_IN_FUTURE", retryable: true)
            }
            scene.network.push(home, committed(home))
            world.read("a")
            world.run(500)
            XCTAssertEqual(refusals, 1)
            let hellos = other.received("hello").suffix(2).map { $0.text("token") }
            XCTAssertEqual(hellos, ["east-0", "east-w2000"])
            XCTAssertEqual(world.machine.core.currentToken, "east-w2000+")
        }
    }

    @SessionActor
    func testConnectionsThatAreNotInUseDoNotChangeTheToken() async throws {
        let scene = try Looking()
        scene.home.script = always("ping") { _ in .drop }
        scene.other.script = always("ping") { .frame(["type": "pong", "id": .integer($0), "token": "of-a-look"]) }
        scene.world.run(200)
        XCTAssertEqual(scene.other.received("ping").count, 2)
        XCTAssertEqual(scene.world.machine.core.currentToken, "east-0")
    }

    @SessionActor
    func testAConnectionWithAnInvalidFrameIsReplacedAndItsRequestsAreRepeated() async throws {
        let scene = try Connected()
        scene.home.script = once("read", .frame(["type": "values", "id": 9999, "snapshot": 1000, "values": [nil]]))
        let read = scene.world.read("a")
        scene.world.run(100)
        XCTAssertEqual(read.values, [nil])
        XCTAssertEqual(scene.home.received("hello").count, 2)
        XCTAssertEqual(scene.network.live.count, 1)
    }

    @SessionActor
    func testConnectionsThatOpenAfterTheChoiceOfAnotherOneAreClosed() async throws {
        let store = FakeStore()
        let (east, west) = (ScriptedNode("east", store), ScriptedNode("west", store))
        west.delayMs = 100
        let world = try MachineWorld([east, west])
        XCTAssertEqual(world.ask(.connect, 150).settled, 1)
        world.run(1000)
        XCTAssertEqual(world.network.live.map(\.node.name), ["east"])
    }

    /// The answer to the only commit that a node has received, with a token of its own.
    @SessionActor
    private func committed(_ node: ScriptedNode) -> JSONValue {
        let id = node.received("commit").first?.id ?? 0
        return ["type": "committed", "id": .integer(id), "ts": 2000, "token": "east-w2000"]
    }
}
