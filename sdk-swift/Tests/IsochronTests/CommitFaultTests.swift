import IsochronSession
import XCTest

@testable import Isochron

final class LostCommitTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testALostCommitIsSentAgainUnchangedUnderItsIdAndHappensOnce() async throws {
        let world = World()
        let node = world.server()
        node.script = { $0.type == "commit" && node.received("commit").count == 1 ? .applyAndClose : .answer }
        let app = try await world.client([node])
        let write = try await app.set("a", 1)
        let commits = node.received("commit")
        XCTAssertEqual(commits.count, 2)
        XCTAssertEqual(Set(commits.map(\.withoutId)).count, 1)
        XCTAssertEqual(node.store.outcomes.count, 1)
        XCTAssertEqual(write.timestamp, 1001)
        XCTAssertEqual(write.txId, commits.first?.text("tx"))
        let hwt = await app.session.export().hwt
        XCTAssertEqual(hwt, 1001)
    }

    @SessionActor
    func testALostCommitKeepsItsAttemptRegionsAndSentAfterInAnotherRegion() async throws {
        let cluster = try await TwoRegions()
        let (app, store, home, other) = (cluster.app, cluster.store, cluster.home, cluster.other)
        home.script = { frame in
            guard frame.type == "commit" else { return .answer }
            store.stabilise()
            return .applyAndClose
        }
        try await app.transaction { tx in
            _ = try await tx.get("a", as: Int.self)
            try tx.set("a", 1)
        }
        let (first, second) = (home.received("commit").first, other.received("commit").first)
        XCTAssertEqual(second?.text("tx"), first?.text("tx"))
        XCTAssertEqual(second?.texts("attemptRegions"), [home.region])
        XCTAssertEqual(second?.number("sentAfter"), first?.number("sentAfter"))
        XCTAssertEqual(second?.number("hwt"), first?.number("hwt"))
        // The node has no open transaction: the retry includes the snapshot.
        XCTAssertEqual(second?.number("snapshot"), 1000)
        XCTAssertEqual(store.outcomes.count, 1)
    }

    @SessionActor
    func testACommitIsSentAgainWhenTheAnswerDoesNotComeInTime() async throws {
        let world = World()
        let node = world.server()
        node.script = { $0.type == "commit" && node.received("commit").count == 1 ? .applyAndDrop : .answer }
        let app = try await world.client([node]) { $0.requestTimeout = .milliseconds(40) }
        try await app.set("a", 1)
        XCTAssertEqual(Set(node.received("commit").map { $0.text("tx") }).count, 1)
        XCTAssertEqual(node.received("commit").count, 2)
    }

    @SessionActor
    func testAnOverdueCommitIsUnknownAndIsResolvedInTheBackgroundBeforeALaterOneIsSent() async throws {
        let world = World()
        let node = world.server()
        node.script = { $0.type == "commit" ? .drop : .answer }
        let app = try await world.client([node]) {
            $0.requestTimeout = .milliseconds(40)
            $0.commitTimeout = .milliseconds(80)
        }
        let unknown = await thrown { try await app.set("a", 1) } as? IsochronError
        XCTAssertEqual(unknown?.code, .outcomeUnknown)
        let txId = try XCTUnwrap(unknown?.txId)
        let held = await code { try await app.set("b", 1) }
        XCTAssertEqual(held, .sessionBlocked)
        XCTAssertEqual(Set(node.received("commit").map { $0.text("tx") }), [txId])
        node.script = { _ in .answer }
        try await until("resolved") { node.store.outcomes[txId] != nil }
        try await app.set("c", 1)
        let read = try await app.getMany(["a", "b", "c"], as: Int.self)
        XCTAssertEqual(read, [1, nil, 1])
    }

    @SessionActor
    func testALostCommitStaysInDoubtWhenTheClusterRefusesTheClient() async throws {
        let world = World()
        let node = world.server()
        node.script = { frame in
            if frame.type == "commit" { return .applyAndClose }
            guard frame.type == "hello", node.received("hello").count > 1 else { return .answer }
            return refusal(nil, "UNAUTHENTICATED", retryable: false)
        }
        let app = try await world.client([node])
        let unknown = await code { try await app.set("a", 1) }
        XCTAssertEqual(unknown, .outcomeUnknown)
        let refused = await code { try await app.get("a", as: Int.self) }
        XCTAssertEqual(refused, .unauthenticated)
    }
}

final class RefusedCommitTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testAllWaitingCommitsEndInOrderWhenTheClusterRefusesTheClient() async throws {
        let world = World()
        let node = world.server()
        node.script = { frame in
            if frame.type == "read" { return .close }
            guard frame.type == "hello", node.received("hello").count > 1 else { return .answer }
            return refusal(nil, "UNAUTHENTICATED", retryable: false)
        }
        let app = try await world.client([node])
        let read = await code { try await app.get("a", as: Int.self) }
        XCTAssertEqual(read, .unauthenticated)
        async let first = code { try await app.set("a", 1) }
        async let second = code { try await app.set("b", 1) }
        async let third = code { try await app.set("c", 1) }
        let codes = await [first, second, third]
        XCTAssertEqual(codes, [.unauthenticated, .unauthenticated, .unauthenticated])
        XCTAssertEqual(node.received("commit").count, 0)
    }

    @SessionActor
    func testAPendingCommitMovesHomeWhenTheConnectionHasMovedToAnotherRegion() async throws {
        let cluster = try await TwoRegions()
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        home.script = { $0.type == "commit" ? .close : .answer }
        other.script = { frame in
            frame.type == "commit" && frame.texts("attemptRegions").count < 2
                ? refusal(frame.id, "OUTCOME_PENDING", retryable: true) : .answer
        }
        try await app.set("a", 1)
        XCTAssertEqual(other.received("commit").map { $0.texts("attemptRegions").count }, [1, 2])
        XCTAssertEqual(other.received("commit").last?.texts("attemptRegions"), [home.region, other.region])
        XCTAssertEqual(Set(other.received("commit").map { $0.text("tx") }).count, 1)
    }

    @SessionActor
    func testACommitIsAskedForInAnotherRegionWhenTheHomeRegionDoesNotDecide() async throws {
        let (world, store) = (World(), FakeStore())
        let neighbour = world.server(store) { $0.node = "virginia-2" }
        let other = world.server(store) { $0.region = "oregon" }
        let home = world.server(store) {
            $0.regions = [("virginia", [neighbour.url]), ("oregon", [other.url])]
        }
        let app = try await world.client([home])
        home.script = { $0.type == "commit" ? refusal($0.id, "OUTCOME_PENDING", retryable: true) : .answer }
        try await app.set("a", 1)
        XCTAssertEqual(home.received("commit").map { $0.texts("attemptRegions") }, [[home.region]])
        // The same commit, with the same home: its cohorts can be reached from there.
        XCTAssertEqual(other.received("commit").map { $0.texts("attemptRegions") }, [[home.region]])
        XCTAssertEqual(neighbour.received("commit").count, 0)
    }

    @SessionActor
    func testACommitIsTriedAgainUnderItsIdWhenACohortHasAbortedTheAttempt() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.script = { frame in
            frame.type == "commit" && frame.texts("attemptRegions").count < 3
                ? refusal(frame.id, "TRANSACTION_ABORTED", retryable: false) : .answer
        }
        let write = try await app.set("a", 1)
        XCTAssertEqual(node.received("commit").map { $0.texts("attemptRegions").count }, [1, 2, 3])
        XCTAssertEqual(Set(node.received("commit").map { $0.text("tx") }), [write.txId])
    }

    @SessionActor
    func testALastingFaultIsRetriedAsNewAttemptsAndThenReportedWithItsCode() async throws {
        for expected in [IsochronError.Code.overloaded, .storageFull, .clockDrift] {
            let world = World()
            let node = world.server()
            let app = try await world.client([node])
            let refusals = Locked(2)
            node.script = { frame in
                guard frame.type == "commit", refusals.get() > 0 else { return .answer }
                refusals.change { $0 -= 1 }
                return refusal(frame.id, expected.rawValue, retryable: true)
            }
            try await app.set("a", 1)
            XCTAssertEqual(node.received("commit").map { $0.texts("attemptRegions").count }, [1, 2, 3])
            refusals.set(.max)
            // A cohort's durable answer: the outcome is known, and the next commit need not wait.
            let refused = await code { try await app.set("a", 2) }
            XCTAssertEqual(refused, expected)
            refusals.set(0)
            try await app.set("a", 3)
        }
    }

    @SessionActor
    func testACommitStaysAtHomeWhileItsConnectionLasts() async throws {
        let world = World()
        let node = world.server()
        node.script = { frame in
            frame.type == "commit" && node.received("commit").count < 6
                ? refusal(frame.id, "OUTCOME_PENDING", retryable: true) : .answer
        }
        let app = try await world.client([node])
        try await app.set("a", 1)
        XCTAssertTrue(node.received("commit").allSatisfy { $0.texts("attemptRegions").count == 1 })
    }

    @SessionActor
    func testACommitCarriesItsSnapshotWhenTheServerHasLostTheOpenTransaction() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.script = { frame in
            frame.type == "commit" && frame["snapshot"] == nil
                ? refusal(frame.id, "TRANSACTION_UNKNOWN", retryable: false) : .answer
        }
        try await app.transaction { try $0.set("a", try await $0.get("a", as: Int.self) ?? 1) }
        XCTAssertEqual(node.received("commit").map { $0.number("snapshot") }, [nil, 1000])
    }

    @SessionActor
    func testARefusedCommitThrowsTheDefiniteCodeEvenOneOfANewerNode() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        for refusalCode in ["KEYSPACE_UNKNOWN", "FROM_THE_FUTURE"] {
            node.script = { $0.type == "commit" ? refusal($0.id, refusalCode, retryable: false) : .answer }
            let error = await thrown { try await app.set("a", 1) } as? IsochronError
            XCTAssertEqual(error?.code.rawValue, refusalCode)
        }
        node.script = { _ in .answer }
        try await app.set("a", 1)
    }

    @SessionActor
    func testACommitThatWasRefusedBeforeItBeganHasItsHomeWhereItIsSentNext() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        home.script = { $0.type == "commit" ? refusal($0.id, "NOT_READY", retryable: true) : .answer }
        try await app.set("c", 1)
        XCTAssertEqual(home.received("commit").map { $0.texts("attemptRegions") }, [[home.region]])
        XCTAssertEqual(other.received("commit").map { $0.texts("attemptRegions") }, [[other.region]])
    }

    @SessionActor
    func testACommitThatAnEarlierSendMayHaveBegunKeepsItsHome() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        // It takes the commit, and cannot be reached any more.
        home.script = { _ in home.received("commit").isEmpty ? .answer : .close }
        other.script = { frame in
            frame.type == "commit" && other.received("commit").count == 1
                ? refusal(frame.id, "NOT_READY", retryable: true) : .answer
        }
        try await app.set("c", 1)
        XCTAssertEqual(home.received("commit").map { $0.texts("attemptRegions") }, [[home.region]])
        XCTAssertEqual(other.received("commit").map { $0.texts("attemptRegions") }, [[home.region], [home.region]])
    }

    /// A client of a node that answers no commits, and the result of a write there.
    @SessionActor
    private func inDoubt(id: String? = nil) async throws -> (IsochronClient, FakeServer, IsochronError?) {
        let world = World()
        let node = world.server()
        node.script = { $0.type == "commit" ? .applyAndDrop : .answer }
        let app = try await world.client([node]) {
            $0.requestTimeout = .milliseconds(40)
            $0.commitTimeout = .milliseconds(80)
        }
        let error = await thrown { try await app.set("a", 1, id: id) } as? IsochronError
        XCTAssertEqual(error?.code, .outcomeUnknown)
        return (app, node, error)
    }

    @SessionActor
    func testAnOutcomeThatIsNotKnownIsNotRetryableAndBecomesKnown() async throws {
        let (app, node, error) = try await inDoubt()
        XCTAssertEqual(error?.retryable, false)
        node.script = { _ in .answer }
        let outcome = await error?.outcome?.value
        XCTAssertEqual(outcome, TransactionStatus(state: .committed, timestamp: node.store.clock))
        await app.close()
    }

    @SessionActor
    func testTheEventualOutcomeIsTheNodesAnswerAndUnknownOnceTheClientIsClosed() async throws {
        let cases: [(String?, TransactionStatus.State)] = [
            ("TRANSACTION_ABORTED", .aborted), ("OUTCOME_FORGOTTEN", .forgotten), ("OUTCOME_LOST", .forgotten),
            ("VALUE_INVALID", .unknown), (nil, .unknown),
        ]
        for (refused, state) in cases {
            let (app, node, error) = try await inDoubt()
            if let refused {
                node.script = { frame in
                    frame.type == "commit" ? refusal(frame.id, refused, retryable: false) : .answer
                }
            } else {
                await app.close()
            }
            let outcome = await error?.outcome?.value
            XCTAssertEqual(outcome, TransactionStatus(state: state, timestamp: nil))
        }
    }

    @SessionActor
    func testAWriteWithAnIdHappensOnceAndThrowsTheSameErrorWhileItsOutcomeIsNotKnown() async throws {
        let (app, node, error) = try await inDoubt(id: "order 7")
        let again = await thrown { try await app.set("a", 2, id: "order 7") } as? IsochronError
        XCTAssertEqual(again?.txId, error?.txId)
        node.script = { _ in .answer }
        _ = await error?.outcome?.value
        let write = try await app.set("a", 3, id: "order 7")
        XCTAssertEqual(write.txId, error?.txId)
        XCTAssertEqual(write.timestamp, node.store.clock)
        let stored = try await app.get("a", as: Int.self)
        XCTAssertEqual(stored, 1)
    }

    @SessionActor
    func testACommittedTransactionWithAnIdReturnsItsResultAndDoesNotRunAgain() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        var runs = 0
        for _ in 0..<2 {
            let (result, _) = try await app.transaction(id: "transfer 7") { tx in
                runs += 1
                try tx.set("a", runs)
                return "run \(runs)"
            }
            XCTAssertEqual(result, "run 1")
        }
        let failed = await thrown { try await app.set("", 1, id: "x") }
        XCTAssertNotNil(failed)
        try await app.set("b", 1, id: "x")
        let stored = try await app.getMany(["a", "b"], as: Int.self)
        XCTAssertEqual(stored, [1, 1])
    }
}
