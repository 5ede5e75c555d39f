import IsochronSession
import XCTest

@testable import Isochron

/// A client with one commit that its node does not answer.
@SessionActor
private struct InDoubt {
    let world = World()
    let node: FakeServer
    let app: IsochronClient
    let write: Going<Write>

    init(requestTimeout: Duration, commitTimeout: Duration) async throws {
        let node = world.server()
        let app = try await world.client([node]) {
            $0.requestTimeout = requestTimeout
            $0.commitTimeout = commitTimeout
        }
        (self.node, self.app) = (node, app)
        try await app.set("before", 1)
        node.script = { $0.type == "commit" && $0.writes.first?.key == "default/a" ? .drop : .answer }
        write = start { try await app.set("a", 1) }
        try await until("sent") { node.received("commit").count > 1 }
    }

    /// The first send of the commit.
    var sent: FakeFrame? { node.received("commit").dropFirst().first }
}

final class BlockedTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testUnsentWritesAreBlockedByTheTransactionWithoutAKnownOutcome() async throws {
        let scene = try await InDoubt(requestTimeout: .milliseconds(40), commitTimeout: .milliseconds(80))
        let app = scene.app
        let blocked = await thrown { try await app.set("b", 1) } as? IsochronError
        let unknown = await thrown { try await scene.write.value } as? IsochronError
        XCTAssertEqual(blocked?.code, .sessionBlocked)
        XCTAssertEqual(blocked?.retryable, true)
        XCTAssertNotNil(blocked?.blockedBy)
        XCTAssertEqual(blocked?.blockedBy, unknown?.txId)
        XCTAssertEqual(blocked?.sentAfter, unknown?.sentAfter)
        XCTAssertNil(blocked?.txId)
        XCTAssertTrue(scene.node.received("commit").allSatisfy { $0.writes.first?.key != "default/b" })
    }

    @SessionActor
    func testTheStatusHasTheNumberOfPendingCommitsAndTheAgeOfTheOldest() async throws {
        let scene = try await InDoubt(requestTimeout: .milliseconds(40), commitTimeout: .milliseconds(80))
        let app = scene.app
        let behind = start { try await app.set("b", 1) }
        try await status(of: app, "two are pending") { $0.pendingCommits == 2 }
        _ = await scene.write.result
        let age = await app.currentStatus.oldestPendingCommitAge
        XCTAssertGreaterThanOrEqual(age ?? .zero, .milliseconds(75))
        _ = await behind.result
        let left = await app.currentStatus.pendingCommits
        XCTAssertEqual(left, 1)
    }

    @SessionActor
    func testTheStatusHasNoCommitAgeWithoutAPendingCommit() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        try await app.set("a", 1)
        let status = await app.currentStatus
        XCTAssertEqual(status.pendingCommits, 0)
        XCTAssertNil(status.oldestPendingCommitAge)
    }
}

final class DetachTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testAfterDetachLaterWritesUseASessionThatHasSeenEverythingButDoesNotFollowTheCommit() async throws {
        let scene = try await InDoubt(requestTimeout: .seconds(10), commitTimeout: .seconds(10))
        let (app, node) = (scene.app, scene.node)
        let waiting = start { try await app.set("b", 1) }
        try await status(of: app, "it waits") { $0.pendingCommits == 2 }
        let sent = try XCTUnwrap(scene.sent)
        let detached = await app.detach()
        XCTAssertEqual(detached, sent.text("tx"))
        let write = try await waiting.value
        XCTAssertNotEqual(write.txId.split(separator: ".").first, sent.text("tx")?.split(separator: ".").first)
        XCTAssertEqual(node.received("commit").last?.number("hwt"), sent.number("hwt"))
        // Earlier own writes are still read from the cache; the undecided one is not there.
        let read = try await app.getMany(["before", "a", "b"], as: Int.self)
        XCTAssertEqual(read, [1, nil, 1])
        let pending = await app.currentStatus.pendingCommits
        XCTAssertEqual(pending, 1)
        let hwt = await app.session.export().hwt
        XCTAssertEqual(hwt, write.timestamp)
        let txId = try XCTUnwrap(detached)
        let known = try await app.transactionStatus(txId: txId)
        XCTAssertEqual(known.state, .pending)
    }

    @SessionActor
    func testTheClientAsksForTheOutcomeOfADetachedCommitAndItsSessionDoesNotFollowIt() async throws {
        let scene = try await InDoubt(requestTimeout: .milliseconds(60), commitTimeout: .seconds(10))
        let (app, node) = (scene.app, scene.node)
        _ = await app.detach()
        let write = try await app.set("b", 1)
        node.script = { _ in .answer }
        try await status(of: app, "decided") { $0.pendingCommits == 0 }
        XCTAssertEqual(node.store.outcomes.count, 3)
        let hwt = await app.session.export().hwt
        XCTAssertEqual(hwt, write.timestamp)
        let before = try await app.getMany(["a"], as: Int.self)
        XCTAssertEqual(before, [nil])
        node.store.stabilise()
        let after = try await app.getMany(["a"], as: Int.self)
        XCTAssertEqual(after, [1])
    }

    @SessionActor
    func testTheCallOfADetachedCommitReturnsItsWrite() async throws {
        let scene = try await InDoubt(requestTimeout: .milliseconds(60), commitTimeout: .seconds(10))
        let (app, node) = (scene.app, scene.node)
        let detached = await app.detach()
        node.script = { _ in .answer }
        let write = try await scene.write.value
        XCTAssertEqual(write.txId, detached)
        XCTAssertEqual(write.timestamp, 1002)
        let again = await app.detach()
        XCTAssertNil(again)
    }

    @SessionActor
    func testARefusalOfADetachedCommitEndsItsCallAndLeavesTheSessionAlone() async throws {
        let scene = try await InDoubt(requestTimeout: .milliseconds(60), commitTimeout: .seconds(10))
        let (app, node) = (scene.app, scene.node)
        _ = await app.detach()
        let held = Gate()
        node.script = { frame in
            guard frame.type == "commit" else { return .answer }
            let isDetached = frame.writes.first?.key == "default/a"
            return isDetached ? refusal(frame.id, "TX_ID_REUSED", retryable: false) : .hold(held)
        }
        let later = start { try await app.set("b", 1) }
        let refused = await code(of: scene.write)
        XCTAssertEqual(refused, .outcomeUnknown)
        held.open()
        let write = try await later.value
        let hwt = await app.session.export().hwt
        XCTAssertEqual(hwt, write.timestamp)
    }

    @SessionActor
    func testDetachChangesNothingWithoutACommitInDoubt() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        let detached = await app.detach()
        XCTAssertNil(detached)
        let (first, second) = (try await app.set("a", 1), try await app.set("a", 2))
        XCTAssertEqual(first.txId.split(separator: ".").first, second.txId.split(separator: ".").first)
        await app.close()
        let closed = await app.detach()
        XCTAssertNil(closed)
    }

    @SessionActor
    func testDetachWorksUnderProtocolsOfSingleOperations() async throws {
        let world = World()
        let node = world.server(FakeStore()) {
            $0.protocol = "contrarian"
            $0.capabilities = ["operations", "rot", "stable"]
        }
        let app = try await world.client([node])
        try await app.set("before", 1)
        let held = Gate()
        node.script = { $0.type == "put" && $0.text("key") == "default/a" ? .hold(held) : .answer }
        let first = start { try await app.set("a", 1) }
        try await until("the put") { node.received("put").count == 2 }
        let waiting = start { try await app.set("b", 1) }
        let detached = await app.detach()
        XCTAssertEqual(detached, node.received("put").last?.text("tx"))
        let write = try await waiting.value
        XCTAssertNotEqual(write.txId.split(separator: ".").first, detached?.split(separator: ".").first)
        let put = try XCTUnwrap(node.received("put").last)
        XCTAssertEqual(put.text("key"), "default/b")
        // It carries everything that the session saw before.
        XCTAssertEqual(put.numbers("seen"), [1001, 0])
        let session = await app.session.export()
        held.open()
        try await status(of: app, "decided") { $0.pendingCommits == 0 }
        let late = try await first.value
        XCTAssertEqual(late.txId, detached)
        let after = await app.session.export()
        XCTAssertEqual(after.seen, session.seen)
        XCTAssertEqual(after.token, session.token)
    }
}
