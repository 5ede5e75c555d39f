import IsochronSession
import XCTest

@testable import Isochron

final class OperationsTests: XCTestCase, @unchecked Sendable {
    private static func okapi(_ options: inout FakeOptions) {
        options.protocol = "okapi"
        options.capabilities = ["operations", "rot", "stable", "snapshots"]
    }

    /// Types of the received frames, except for those of every connection.
    @SessionActor
    private func asked(_ node: FakeServer) -> [String] {
        node.frames.map(\.type).filter { $0 != "hello" && $0 != "ping" }
    }

    @SessionActor
    func testASessionRunsOneOperationAtATimeAndSendsItsSeenEntriesWithEach() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.okapi)
        let app = try await world.client([node])
        let held = Gate()
        node.script = { $0.type == "put" && node.received("put").count == 1 ? .hold(held) : .answer }
        let writing = start { try await app.set("a", 1) }
        try await until("the put") { node.received("put").count == 1 }
        let reading = start { try await app.get("a", as: Int.self) }
        await settle()
        XCTAssertEqual(asked(node), ["put"])
        held.open()
        _ = try await writing.value
        let first = try await reading.value
        let both = try await app.getMany(["a", "b"], as: Int.self)
        try await app.delete("a")
        let last = try await app.get("a", as: Int.self)
        XCTAssertEqual([first, last], [1, nil])
        XCTAssertEqual(both, [1, nil])
        XCTAssertEqual(asked(node), ["put", "get", "rot", "put", "get"])
        let puts = node.received("put")
        XCTAssertEqual(puts.map { $0["value"] }, ["1", .some(.null)])
        XCTAssertEqual(puts.map { $0.numbers("seen") }, [[], [1001, 0]])
        XCTAssertEqual(puts.first?.number("sentAfter"), 1000)
        XCTAssertEqual(puts.first?.texts("attemptRegions"), ["virginia"])
        XCTAssertEqual(node.received("get").map { $0.numbers("seen") }, [[1001, 0], [1002, 0]])
        let pending = await app.currentStatus.pendingCommits
        XCTAssertEqual(pending, 0)
    }

    @SessionActor
    func testAWriteIsRepeatedUnderItsIdUntilItsOutcomeIsKnown() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.okapi)
        let app = try await world.client([node])
        node.script = { frame in
            guard frame.type == "put" else { return .answer }
            switch node.received("put").count {
            case 1: return .applyAndClose
            case 2: return refusal(frame.id, "OUTCOME_PENDING", retryable: true)
            default: return .answer
            }
        }
        let write = try await app.set("a", 1)
        XCTAssertEqual(write.timestamp, 1001)
        XCTAssertEqual(node.store.outcomes[write.txId], 1001)
        XCTAssertEqual(Set(node.received("put").map(\.withoutId)).count, 1)
        XCTAssertEqual(node.received("put").count, 3)
    }

    @SessionActor
    func testAWriteThatWasDurablyGivenUpBeginsAnotherAttemptUnderTheSameId() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.okapi)
        let app = try await world.client([node])
        node.script = { frame in
            frame.type == "put" && frame.texts("attemptRegions").count == 1
                ? refusal(frame.id, "TRANSACTION_ABORTED", retryable: false) : .answer
        }
        try await app.set("a", 1)
        XCTAssertEqual(
            node.received("put").map { $0.texts("attemptRegions") }, [["virginia"], ["virginia", "virginia"]])
        XCTAssertEqual(Set(node.received("put").map { $0.text("tx") }).count, 1)
    }

    @SessionActor
    func testAWriteWithoutAKnownOutcomeIsStillAskedForAndBlocksLaterOperations() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.okapi)
        let app = try await world.client([node]) {
            $0.requestTimeout = .milliseconds(100)
            $0.commitTimeout = .milliseconds(150)
        }
        node.script = { $0.type == "put" ? .drop : .answer }
        let unknown = await code { try await app.set("a", 1) }
        XCTAssertEqual(unknown, .outcomeUnknown)
        let held = await code { try await app.get("a", as: Int.self) }
        XCTAssertEqual(held, .sessionBlocked)
        node.script = { _ in .answer }
        try await until("resolved") { node.store.outcomes.count == 1 }
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
    }

    @SessionActor
    func testASessionContinuesInAnotherRegionWithTheSeenEntriesOfTheFirst() async throws {
        let (world, store) = (World(), FakeStore())
        let west = world.server(store) {
            Self.okapi(&$0)
            $0.region = "oregon"
        }
        let east = world.server(store) {
            Self.okapi(&$0)
            $0.regions = [("oregon", [west.url])]
        }
        let app = try await world.client([east])
        try await app.set("a", 1)
        // A read under way is made anew on the next connection.
        east.script = { $0.type == "get" ? .drop : .answer }
        let reading = start { try await app.get("a", as: Int.self) }
        try await until("asked") { east.received("get").count == 1 }
        east.stop()
        let value = try await reading.value
        XCTAssertEqual(value, 1)
        try await app.set("a", 2)
        XCTAssertEqual(west.received("get").first?.numbers("seen"), [1001, 0])
        XCTAssertEqual(west.received("get").first?.text("region"), "virginia")
        XCTAssertEqual(west.received("put").first?.text("region"), "oregon")
        XCTAssertEqual(west.received("put").first?.texts("attemptRegions"), ["oregon"])
    }

    @SessionActor
    func testASessionContinuesAfterACancelledRead() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.okapi)
        let app = try await world.client([node])
        node.script = { $0.type == "get" ? .drop : .answer }
        let reading = start { try await app.get("a", as: Int.self) }
        try await until("asked") { node.received("get").count == 1 }
        reading.cancel()
        let error = await thrown { try await reading.value }
        XCTAssertTrue(error is CancellationError)
        node.script = { _ in .answer }
        try await app.set("a", 1)
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
    }

    @SessionActor
    func testTheTokenKeepsAnAcknowledgedWriteAfterTheLateAnswerOfACancelledRead() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.okapi)
        let app = try await world.client([node])
        let held = Gate()
        node.script = { $0.type == "get" && node.received("get").count == 1 ? .hold(held) : .answer }
        let reading = start { try await app.get("a", as: Int.self) }
        try await until("asked") { node.received("get").count == 1 }
        reading.cancel()
        _ = await thrown { try await reading.value }
        try await app.set("a", 1)
        let token = await app.session.token
        XCTAssertEqual(token, "virginia-w1001")
        held.open()
        await settle()
        let after = await app.session.token
        XCTAssertEqual(after, token)
    }

    @SessionActor
    func testASessionOfSingleOperationsIsExportedWithItsSeenEntriesAndContinued() async throws {
        let (world, store) = (World(), FakeStore())
        let east = world.server(store, Self.okapi)
        let west = world.server(store) {
            Self.okapi(&$0)
            $0.region = "oregon"
        }
        let app = try await world.client([east])
        try await app.set("a", 1)
        let exported = await app.session.export()
        XCTAssertEqual(exported.protocolName, "okapi")
        XCTAssertEqual(exported.seen, ExportedSeen(seen: [1001, 0], region: "virginia"))
        let there = try await world.client([west], session: try ExportedSession(json: exported.json))
        _ = try await there.get("a", as: Int.self)
        XCTAssertEqual(west.received("get").first?.numbers("seen"), [1001, 0])
        XCTAssertEqual(west.received("get").first?.text("region"), "virginia")
    }

    @SessionActor
    func testASessionContinuesFromATokenAsTheNodeDecodesIt() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.okapi)
        node.seen = ["seen": [900, 7], "region": "oregon"]
        let app = try await world.client([node], token: "of an HTTP answer")
        _ = try await app.get("a", as: Int.self)
        XCTAssertEqual(node.received("get").first?.numbers("seen"), [900, 7])
        XCTAssertEqual(node.received("get").first?.text("region"), "oregon")
    }

    @SessionActor
    func testASessionWithoutItsSeenEntriesIsNotContinued() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.okapi)
        let session = ExportedSession(token: "t", protocolName: "okapi", ust: 0, hwt: 0)
        let refused = await code { try await world.client([node], session: session) }
        XCTAssertEqual(refused, .tokenInvalid)
    }

    @SessionActor
    func testUnsupportedCallsUnderSingleOperationsAreRefusedBeforeASend() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.okapi)
        let app = try await world.client([node])
        let attempts: [@SessionActor () async throws -> Void] = [
            { try await app.transaction { try $0.set("a", 1) } },
            { try await app.update("a", ["b": 1]) },
            { _ = try await app.snapshot(at: 1) },
            { _ = try await all(app.list(as: Int.self)) },
            { _ = try await app.transactionStatus(txId: "abcdefghijklmnopqrstuv.0") },
        ]
        for attempt in attempts {
            let error = await thrown(attempt) as? IsochronError
            XCTAssertEqual(error?.code, .notSupportedByProtocol)
            XCTAssertTrue(error?.message.contains("okapi") == true)
        }
        XCTAssertEqual(asked(node), [])
    }

    @SessionActor
    func testSeveralKeysAreRefusedUnderAProtocolWithoutReadOnlyTransactions() async throws {
        let world = World()
        let node = world.server {
            $0.protocol = "eventual"
            $0.capabilities = ["operations", "stable"]
        }
        let app = try await world.client([node])
        let refused = await code { try await app.getMany(["a", "b"], as: Int.self) }
        XCTAssertEqual(refused, .notSupportedByProtocol)
        let one = try await app.getMany(["a"], as: Int.self)
        XCTAssertEqual(one, [nil])
        let none = try await app.getMany([], as: Int.self)
        XCTAssertEqual(none, [])
    }
}
