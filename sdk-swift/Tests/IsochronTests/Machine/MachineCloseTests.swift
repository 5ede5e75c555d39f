import IsochronSession
import XCTest

@testable import Isochron

/// A client that closes.
final class MachineCloseTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testAClientThatClosesWhileItConnectsOpensNoOtherSocket() async throws {
        let store = FakeStore()
        let world = try MachineWorld(["east", "west"].map { ScriptedNode($0, store) })
        let connecting = world.call(.connect)
        let closing = world.ask(.close(flushMs: 0))
        XCTAssertEqual(world.network.sockets.count, 2)
        XCTAssertEqual(world.network.live.count, 0)
        XCTAssertEqual([connecting.settled, closing.settled], [1, 1])
        XCTAssertEqual(connecting.code, .connectionLost)
    }

    @SessionActor
    func testAClientThatClosesWhileItReconnectsOpensNoOtherSocket() async throws {
        let scene = try Connected(["east", "west"])
        for node in scene.nodes { node.state = .silent }
        scene.network.cut(scene.home)
        scene.world.run(50)
        let count = scene.network.sockets.count
        XCTAssertEqual(scene.network.live.count, 1)
        let closing = scene.world.ask(.close(flushMs: 0), 2000)
        XCTAssertEqual([closing.settled, scene.network.sockets.count], [1, count])
    }

    @SessionActor
    func testAClosedClientNeedsNoTimerAndSettlesEveryCall() async throws {
        let scene = try Connected(["east", "west"], returnAfterMs: 100)
        let world = scene.world
        scene.home.script = { $0.type == "ping" ? .answer : .drop }
        let calls = [world.read("a"), world.write("a"), world.write("b")]
        world.run(10)
        let closing = world.call(.close(flushMs: 0))
        world.run(10)
        XCTAssertEqual(calls.map(\.code), [.clientClosed, .outcomeUnknown, .clientClosed])
        XCTAssertEqual(closing.settled, 1)
        expectNothingLeft(world)
        XCTAssertEqual(world.ask(.read(nil, ["default/a"])).code, .clientClosed)
        expectNothingLeft(world)
    }

    @SessionActor
    func testACloseWaitsAtMostASecondForItsSocketsAndIsSettledOnce() async throws {
        let scene = try Connected()
        scene.home.state = .silent
        scene.home.delayMs = 5000
        let closing = scene.world.ask(.close(flushMs: 0), 900)
        XCTAssertEqual(closing.settled, 0)
        scene.world.run(200)
        XCTAssertEqual(closing.settled, 1)
        XCTAssertEqual(scene.network.timerMs, .infinity)
        scene.world.run(20_000)
        XCTAssertEqual(closing.settled, 1)
        expectNothingLeft(scene.world)
    }

    @SessionActor
    func testACloseDoesNotWaitForANodeThatHasNotAnsweredTheHello() async throws {
        let node = ScriptedNode("east", FakeStore())
        node.script = { _ in .drop }
        let world = try MachineWorld([node])
        let connecting = world.ask(.connect)
        node.state = .silent
        let closing = world.ask(.close(flushMs: 0))
        XCTAssertEqual([connecting.settled, closing.settled], [1, 1])
        XCTAssertEqual(world.network.live.count, 0)
    }

    @SessionActor
    func testAClientMayCloseTwice() async throws {
        let world = try Connected().world
        let (first, second) = (world.call(.close(flushMs: 0)), world.call(.close(flushMs: 0)))
        world.run(50)
        XCTAssertEqual([first.settled, second.settled], [1, 1])
    }

    @SessionActor
    func testACloseWhileSessionsAreLoadedEndsTheConnectOnceTheyAreLoaded() async throws {
        let world = try MachineWorld([ScriptedNode("east", FakeStore())])
        world.network.loadsAtOnce = false
        let connecting = world.ask(.connect)
        XCTAssertEqual(world.network.loads, ["paris"])
        let closing = world.ask(.close(flushMs: 0))
        world.network.loaded("paris")
        world.run(50)
        XCTAssertEqual([connecting.settled, closing.settled], [1, 1])
        expectNothingLeft(world)
    }

    /// No timer and no socket is left.
    @SessionActor
    private func expectNothingLeft(_ world: MachineWorld, line: UInt = #line) {
        XCTAssertEqual(world.network.timerMs, .infinity, line: line)
        XCTAssertEqual(world.network.live.count, 0, line: line)
    }
}
