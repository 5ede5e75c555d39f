import IsochronSession
import XCTest

@testable import Isochron

final class StatusTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testTheStatusOfATransactionOfAnyClientIsAskedByItsId() async throws {
        let (world, store) = (World(), FakeStore())
        let (node, other) = (world.server(store), world.server(store) { $0.region = "oregon" })
        let write = try await world.client([node]).set("a", 1)
        let app = try await world.client([other])
        let committed = try await app.transactionStatus(txId: write.txId)
        XCTAssertEqual(committed, TransactionStatus(state: .committed, timestamp: write.timestamp))
        let unknown = try await app.transactionStatus(txId: "abcdefghijklmnopqrstuv.0")
        XCTAssertEqual(unknown, TransactionStatus(state: .unknown, timestamp: nil))
        for state in TransactionStatus.State.allCases {
            other.script = { frame in
                guard frame.type == "status" else { return .answer }
                return .frame([
                    "type": "status", "id": .integer(frame.id), "status": .string(state.rawValue), "ts": nil,
                ])
            }
            let answer = try await app.transactionStatus(txId: "abcdefghijklmnopqrstuv.0")
            XCTAssertEqual(answer.state, state)
        }
    }

    @SessionActor
    func testTheStatusOfACommitWithALostAnswerIsFoundWithTheFieldsOfItsError() async throws {
        let (world, store) = (World(), FakeStore())
        let (node, other) = (world.server(store), world.server(store) { $0.region = "oregon" })
        node.script = { $0.type == "commit" ? .applyAndDrop : .answer }
        let app = try await world.client([node]) {
            $0.requestTimeout = .milliseconds(30)
            $0.commitTimeout = .milliseconds(60)
        }
        let failure = await thrown { try await app.set("a", 1) }
        let error = try XCTUnwrap(failure as? IsochronError)
        XCTAssertEqual(error.code, .outcomeUnknown)
        XCTAssertEqual(error.sentAfter, 1000)
        let txId = try XCTUnwrap(error.txId)
        let later = try await world.client([other])
        let found = try await later.transactionStatus(txId: txId, sentAfter: error.sentAfter)
        XCTAssertEqual(found, TransactionStatus(state: .committed, timestamp: 1001))
        XCTAssertEqual(other.received("status").first?.number("sentAfter"), 1000)
    }

    @SessionActor
    func testTheStatusOfACommitIsPendingWhileThisClientRepeatsIt() async throws {
        let world = World()
        let node = world.server()
        let held = Gate()
        node.script = { $0.type == "commit" ? .hold(held) : .answer }
        let app = try await world.client([node])
        let writing = start { try await app.set("a", 1) }
        try await until("sent") { node.received("commit").count == 1 }
        let txId = try XCTUnwrap(node.received("commit").first?.text("tx"))
        let pending = try await app.transactionStatus(txId: txId)
        XCTAssertEqual(pending, TransactionStatus(state: .pending, timestamp: nil))
        held.open()
        let write = try await writing.value
        let committed = try await app.transactionStatus(txId: txId)
        XCTAssertEqual(committed, TransactionStatus(state: .committed, timestamp: write.timestamp))
    }

    @SessionActor
    func testStalenessIsCountedByTheClockOfTheNodeAndNotOfThisMachine() async throws {
        let world = World()
        let node = world.server()
        node.freshness = ["now": .integer(Int64(wallMs(of: 1000).rounded(.up)) + 70000), "stalenessMs": 70000]
        let app = try await world.client([node])
        let snapshot = try await app.snapshot()
        let (ages, _) = try await app.transaction { tx in
            let before = await tx.staleness
            _ = try await tx.get("a", as: Int.self)
            return (before, await tx.staleness)
        }
        XCTAssertNil(ages.0)
        // By this machine's clock, a timestamp of 1000 is more than a year old.
        let inStatus = await app.currentStatus.staleness
        let inSession = await app.session.staleness
        let inSnapshot = await snapshot.staleness
        for age in [ages.1, inStatus, inSession, inSnapshot] {
            XCTAssertGreaterThanOrEqual(age ?? .zero, .seconds(70))
            XCTAssertLessThan(age ?? .zero, .seconds(130))
        }
    }

    @SessionActor
    func testAStaleStatusNamesTheRegionThatHoldsStableTimeBack() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.freshness = [
            "stale": true, "heldBackBy": ["region": "ireland", "node": "ireland-1", "partition": "default/3"],
        ]
        node.push(["type": "ust", "ust": 1000, "freshness": node.freshnessNow])
        let stale = try await status(of: app, "stale") { $0.isStale }
        XCTAssertEqual(stale.heldBackBy, HeldBack(region: "ireland", node: "ireland-1", partition: "default/3"))
        XCTAssertEqual(stale.state, .online)
        let later = try await world.client([node])
        let known = await later.currentStatus.isStale
        XCTAssertTrue(known)
        node.freshness = [:]
        node.push(["type": "ust", "ust": 1001, "freshness": node.freshnessNow])
        let fresh = try await status(of: app, "fresh") { !$0.isStale }
        XCTAssertNil(fresh.heldBackBy)
    }

    @SessionActor
    func testAClientWithATokenWaitsUntilTheWritesOfThatSessionAreVisible() async throws {
        let world = World()
        let node = world.server()
        let ts = node.store.commit("w", [(key: "default/a", value: "1")])
        node.hwt = ts
        node.script = { frame in
            if frame.type == "stable" { node.store.stabilise() }
            return .answer
        }
        let app = try await world.client([node], token: "of-http")
        XCTAssertEqual(node.received("stable").first?.number("ts"), ts)
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
    }

    @SessionActor
    func testAClientWithATokenThrowsSessionGapWhenTheWaitTakesTooLong() async throws {
        let world = World()
        let node = world.server()
        node.hwt = 2000
        let gap = await code {
            try await world.client([node], token: "of-http") { $0.requestTimeout = .milliseconds(40) }
        }
        XCTAssertEqual(gap, .sessionGap)
        try await until("closed") { node.connections == 0 }
    }

    @SessionActor
    func testAClientWithTheWritesOfItsSessionDoesNotWait() async throws {
        let world = World()
        let node = world.server()
        let first = try await world.client([node])
        node.hwt = try await first.set("a", 1).timestamp
        let app = try await world.client([node], session: await first.session.export())
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        XCTAssertEqual(node.received("stable").count, 0)
    }
}
