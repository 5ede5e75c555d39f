import IsochronSession
import XCTest

@testable import Isochron

final class HomingTests: XCTestCase, @unchecked Sendable {
    /// Delays the answers to pings, as a distant server would.
    @SessionActor
    private func putFarAway(_ node: FakeServer) {
        node.script = { frame in
            guard frame.type == "ping" else { return .answer }
            let gate = Gate()
            Task { @SessionActor in
                try await Task.sleep(for: .milliseconds(40))
                gate.open()
            }
            return .hold(gate)
        }
    }

    /// A client near `near`, which has gone away, so that the client uses `distant` now.
    @SessionActor
    private func awayFromHome() async throws -> (app: IsochronClient, near: FakeServer, distant: FakeServer) {
        let (world, store) = (World(), FakeStore())
        store.seed("default/a", "1")
        let near = world.server(store) { $0.region = "near" }
        let distant = world.server(store) { $0.region = "distant" }
        putFarAway(distant)
        let app = try await world.client([near, distant]) { $0.returnAfter = .milliseconds(20) }
        let region = await app.currentStatus.region
        XCTAssertEqual(region, "near")
        near.stop()
        try await status(of: app, "away") { $0.region == "distant" }
        return (app, near, distant)
    }

    @SessionActor
    func testTheClientReturnsToTheNearestEndpointOnceThatServesAgain() async throws {
        let (app, near, distant) = try await awayFromHome()
        _ = try await app.get("a", as: Int.self)
        near.restart()
        try await status(of: app, "home") { $0.region == "near" }
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        XCTAssertEqual(near.received("read").count, 1)
        XCTAssertEqual(near.received("hello").last?.text("token"), "distant-1001")
        try await until("the distant one is closed") { distant.connections == 0 }
    }

    @SessionActor
    func testARefusedProbeLeavesNoConnectionBehind() async throws {
        let (app, near, _) = try await awayFromHome()
        let hellos = near.received("hello").count
        near.script = { $0.type == "ping" ? refusal($0.id, "OVERLOADED", retryable: true) : .answer }
        near.restart()
        try await until("it has been looked at") {
            near.received("hello").count > hellos && near.received("ping").count > 1
        }
        try await until("it is left alone") { near.connections == 0 }
        let region = await app.currentStatus.region
        XCTAssertEqual(region, "distant")
    }

    @SessionActor
    func testTheReturnKeepsOpenTransactionsAndCommitsUnderWay() async throws {
        let (app, near, distant) = try await awayFromHome()
        let (read, write) = try await app.transaction { tx in
            let before = try await tx.get("a", as: Int.self)
            near.restart()
            try await status(of: app, "home") { $0.region == "near" }
            near.store.seed("default/a", "2")
            let after = try await tx.get("a", as: Int.self)
            try tx.set("b", 1)
            return [before, after, try await tx.get("c", as: Int.self)]
        }
        XCTAssertEqual(read, [1, 1, nil])
        XCTAssertNotNil(near.store.outcomes[write?.txId ?? ""])
        XCTAssertEqual(distant.received("commit").count, 0)
    }

    @SessionActor
    func testTheClientDoesNotReturnToANodeThatIsNotReadyOrHasNotCaughtUp() async throws {
        let (app, near, _) = try await awayFromHome()
        let (hellos, pings) = (near.received("hello").count, near.received("ping").count)
        let ready = Locked(false)
        near.script = { $0.type == "hello" && !ready.get() ? refusal(nil, "NOT_READY", retryable: true) : .answer }
        near.restart()
        try await until("looked at twice") { near.received("hello").count >= hellos + 2 }
        // It serves again, and its stable time has not advanced since it went away.
        near.freshness = ["stalenessMs": 60000]
        ready.set(true)
        let before = near.received("hello").count
        try await until("looked at again") { near.received("hello").count >= before + 2 }
        let region = await app.currentStatus.region
        XCTAssertEqual(region, "distant")
        XCTAssertEqual(near.received("ping").count, pings)
        near.freshness = [:]
        try await status(of: app, "home") { $0.region == "near" }
    }

    @SessionActor
    func testTheClientDoesNotReturnToARegionThatHoldsStableTimeBack() async throws {
        let (app, near, distant) = try await awayFromHome()
        let (hellos, pings) = (near.received("hello").count, near.received("ping").count)
        distant.freshness = ["stale": true, "heldBackBy": ["region": "near", "node": nil, "partition": nil]]
        distant.push(["type": "ust", "ust": 1001, "freshness": distant.freshnessNow])
        try await status(of: app, "stale") { $0.isStale }
        near.restart()
        try await until("looked at") { near.received("hello").count >= hellos + 2 }
        let region = await app.currentStatus.region
        XCTAssertEqual(region, "distant")
        XCTAssertEqual(near.received("ping").count, pings)
        distant.freshness = [:]
        distant.push(["type": "ust", "ust": 1002, "freshness": distant.freshnessNow])
        try await status(of: app, "home") { $0.region == "near" }
    }

    @SessionActor
    func testTheClientDoesNotReturnWithoutReturnAfter() async throws {
        let (world, store) = (World(), FakeStore())
        let near = world.server(store) { $0.region = "near" }
        let distant = world.server(store) { $0.region = "distant" }
        putFarAway(distant)
        let app = try await world.client([near, distant]) { $0.returnAfter = nil }
        near.push(["type": "goaway", "reason": "a moment", "delayMs": 0])
        try await status(of: app, "away") { $0.region == "distant" }
        for i in 0..<20 { _ = try await app.get("k\(i)", as: Int.self) }
        XCTAssertEqual(near.received("hello").count, 1)
    }

    @SessionActor
    func testAClientAtItsNearestEndpointDoesNotProbeOthers() async throws {
        let (world, store) = (World(), FakeStore())
        let near = world.server(store) { $0.region = "near" }
        let distant = world.server(store) { $0.region = "distant" }
        putFarAway(distant)
        let app = try await world.client([near, distant]) { $0.returnAfter = .milliseconds(5) }
        for i in 0..<20 { _ = try await app.get("k\(i)", as: Int.self) }
        XCTAssertEqual(distant.received("hello").count, 1)
        try await until("closed") { distant.connections == 0 }
    }

    @SessionActor
    func testAnEndpointThatIsBackIsProbedAndNotUsedIfItIsFartherAway() async throws {
        let (world, store) = (World(), FakeStore())
        let near = world.server(store) { $0.region = "near" }
        let distant = world.server(store) { $0.region = "distant" }
        putFarAway(distant)
        distant.stop()
        let app = try await world.client([near, distant]) { $0.returnAfter = .milliseconds(5) }
        distant.restart()
        try await until("measured") { distant.received("ping").count >= 2 && distant.connections == 0 }
        let region = await app.currentStatus.region
        XCTAssertEqual(region, "near")
    }

    @SessionActor
    func testAClientThatIsClosedDuringAProbeDoesNotChangeItsConnection() async throws {
        let (app, near, distant) = try await awayFromHome()
        let hellos = near.received("hello").count
        let hello = Gate()
        near.script = { $0.type == "hello" ? .hold(hello) : .answer }
        near.restart()
        try await until("hello") { near.received("hello").count > hellos }
        await app.close()
        hello.open()
        try await until("both are closed") { near.connections == 0 && distant.connections == 0 }
        let state = await app.currentStatus.state
        XCTAssertEqual(state, .closed)
    }

    @SessionActor
    func testAnotherNodeOfTheSameRegionIsTriedBeforeAMeasuredOneOfAnotherRegion() async throws {
        let (world, store) = (World(), FakeStore())
        let neighbour = world.server(store) {
            $0.region = "near"
            $0.node = "near-2"
        }
        let near = world.server(store) {
            $0.region = "near"
            $0.regions = [("near", [neighbour.url])]
        }
        let distant = world.server(store) { $0.region = "distant" }
        putFarAway(distant)
        let app = try await world.client([near, distant])
        near.stop()
        let moved = try await status(of: app, "moved") { $0.state == .online && $0.node != "near-1" }
        XCTAssertEqual(moved.node, "near-2")
    }
}
