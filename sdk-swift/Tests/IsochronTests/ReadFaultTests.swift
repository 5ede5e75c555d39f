import IsochronSession
import XCTest

@testable import Isochron

final class ReadFaultTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testReadsAreRepeatedOnAnotherEndpointWhenTheirConnectionIsLost() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        home.script = { $0.type == "read" ? .close : .answer }
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        XCTAssertEqual(other.received("read").count, 1)
    }

    @SessionActor
    func testReadsAreRepeatedAfterARetryableRefusalAndFailWithADefiniteOne() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", "1")
        let app = try await world.client([node])
        node.script = { frame in
            frame.type == "read" && node.received("read").count < 5
                ? refusal(frame.id, "REPLICA_UNREACHABLE", retryable: true) : .answer
        }
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        node.script = { $0.type == "read" ? refusal($0.id, "SNAPSHOT_TOO_OLD", retryable: false) : .answer }
        let refused = await code { try await app.get("a", as: Int.self) }
        XCTAssertEqual(refused, .snapshotTooOld)
    }

    @SessionActor
    func testReadsNeverReturnAnOlderSnapshotThanTheSessionHasSeen() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.store.seed("default/a", "1")
        _ = try await app.get("a", as: Int.self)
        node.lag = 1000
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        XCTAssertEqual(node.received("read").last?.number("at"), node.store.ust)
        let (inside, _) = try await app.transaction { try await $0.get("a", as: Int.self) }
        XCTAssertEqual(inside, 1)
        XCTAssertEqual(node.received("start").map { $0.number("at") }, [nil, node.store.ust])
        XCTAssertEqual(node.connections, 1)
    }

    @SessionActor
    func testReadsFailWithConnectionLostWithoutAConnectionWithinTheRequestTimeout() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node]) { $0.requestTimeout = .milliseconds(40) }
        node.stop()
        let read = await code { try await app.get("a", as: Int.self) }
        XCTAssertEqual(read, .offline)
        let write = await code { try await app.set("a", 1) }
        XCTAssertEqual(write, .offline)
        let status = await app.currentStatus
        XCTAssertEqual(status.state, .offline)
        XCTAssertNil(status.region)
        XCTAssertEqual(status.pendingCommits, 0)
    }

    @SessionActor
    func testACancelledReadThrowsCancellationErrorAndACancelledTaskSendsNone() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.script = { $0.type == "read" ? .drop : .answer }
        let first = start { try await app.get("a", as: Int.self) }
        try await until("asked") { node.received("read").count == 1 }
        first.cancel()
        let error = await thrown { try await first.value }
        XCTAssertTrue(error is CancellationError)
        let gate = Gate()
        let second = start {
            await gate.wait()
            return try await app.get("a", as: Int.self)
        }
        second.cancel()
        gate.open()
        let early = await thrown { try await second.value }
        XCTAssertTrue(early is CancellationError)
        XCTAssertEqual(node.received("read").count, 1)
    }
}

final class CloseTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testCloseRejectsPendingCallsAndCommitsInDoubtDifferentlyAndMayBeCalledTwice() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.script = { $0.type == "ping" ? .answer : .drop }
        let reading = start { try await app.get("a", as: Int.self) }
        let sent = start { try await app.set("b", 1) }
        try await until("sent") { node.received("commit").count == 1 && node.received("read").count == 1 }
        let queued = start { try await app.set("c", 1) }
        try await status(of: app, "queued") { $0.pendingCommits == 2 }
        let inside = start { try await app.transaction { try await $0.get("d", as: Int.self) }.result }
        try await until("started") { node.received("start").count == 1 }
        let statuses = start { try await all(app.status).last?.state }
        async let first = app.close()
        async let second = app.close()
        _ = await (first, second)
        let codes = [await code(of: reading), await code(of: queued), await code(of: inside)]
        XCTAssertEqual(codes, [.clientClosed, .clientClosed, .clientClosed])
        let sentCode = await code(of: sent)
        XCTAssertEqual(sentCode, .outcomeUnknown)
        let read = await code { try await app.get("a", as: Int.self) }
        let write = await code { try await app.set("a", 1) }
        let snapshot = await code { try await app.snapshot() }
        let status = await code { try await app.transactionStatus(txId: "abcdefghijklmnopqrstuv.0") }
        XCTAssertEqual([read, write, snapshot, status], Array(repeating: .clientClosed, count: 4))
        let last = try await statuses.value
        XCTAssertEqual(last, .closed)
        let state = await app.currentStatus.state
        XCTAssertEqual(state, .closed)
        try await until("closed") { node.connections == 0 }
    }

    @SessionActor
    func testCloseEndsAnOfflineClient() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node]) { $0.random = { 0.999 } }
        node.stop()
        let reading = start { try await app.get("a", as: Int.self) }
        try await status(of: app, "offline") { $0.state == .offline }
        await app.close()
        let closed = await code(of: reading)
        XCTAssertEqual(closed, .clientClosed)
    }

    @SessionActor
    func testAClosedClientLeavesNothingBehindEvenWithACommitInDoubt() async throws {
        let world = World()
        let node = world.server()
        var app: IsochronClient? = try await world.client([node])
        try await app?.set("a", 1)
        try await app?.transaction { try $0.set("b", try await $0.get("a", as: Int.self)) }
        node.script = { $0.type == "commit" ? .drop : .answer }
        let writing = start { [app] in try await app?.set("c", 1) }
        try await until("sent") { node.received("commit").count == 3 }
        weak var driver = app?.lifetime.driver
        weak var core = driver?.core
        weak var connector = core?.connector
        weak var connection = connector?.current
        XCTAssertNotNil(connection)
        await app?.close()
        let writingCode = await code(of: writing)
        XCTAssertEqual(writingCode, .outcomeUnknown)
        app = nil
        try await until("all of it is gone") { driver == nil && core == nil && connector == nil && connection == nil }
    }

    @SessionActor
    func testAnAnswerAfterTheCloseIsDropped() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        let held = Gate()
        node.script = { $0.type == "read" ? .hold(held) : .answer }
        let reading = start { try await app.get("a", as: Int.self) }
        try await until("asked") { node.received("read").count == 1 }
        await app.close()
        held.open()
        let closed = await code(of: reading)
        XCTAssertEqual(closed, .clientClosed)
    }
}
