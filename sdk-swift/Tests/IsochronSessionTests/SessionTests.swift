import IsochronSession
import XCTest

/// Cases beyond the vectors: copied values, and the fields of errors.
final class SessionTests: XCTestCase {
    private let id = String(repeating: "a", count: 22)

    func testATransactionSeesTheCacheAsItWasAtItsStart() throws {
        var session = Session(id: id, rules: .paris)
        var first = session.begin()
        try session.started(&first, Snapshot(ts: 1))
        try commit("default/a", .json("1"), at: 5, in: &session)
        XCTAssertNil(first.lookup("default/a"))
        var second = session.begin()
        try session.started(&second, Snapshot(ts: 2))
        XCTAssertEqual(second.lookup("default/a"), ReadResult(value: .json("1"), ts: 5))
        XCTAssertEqual(second.overlay().map { $0.key }, ["default/a"])
    }

    func testTheCacheKeepsEntriesThatAnOpenTransactionMayNeed() throws {
        var session = Session(id: id, rules: .paris)
        try commit("default/a", .json("1"), at: 5, in: &session)
        var open = session.begin()
        try session.started(&open, Snapshot(ts: 2))
        session.stable(9)
        XCTAssertEqual(session.cacheSize, 1)
        session.end(open)
        XCTAssertEqual(session.cacheSize, 0)
    }

    func testACopyOfASessionIsAnotherSession() throws {
        var session = Session(id: id, rules: .bpr)
        let copy = session
        session.observe(Snapshot(ts: 7))
        XCTAssertEqual(copy.ust, 0)
        XCTAssertEqual(session.seen, Snapshot(ts: 7))
    }

    func testErrorsOfASessionHaveBothSnapshots() throws {
        var session = Session(id: id, rules: .paris, state: SessionState(ust: 9))
        var transaction = session.begin()
        XCTAssertThrowsError(try session.started(&transaction, Snapshot(ts: 8))) { error in
            XCTAssertEqual(error as? SessionError, .snapshotBelowSeen(snapshot: 8, seen: 9))
        }
        XCTAssertNil(transaction.snapshot)
        try session.started(&transaction, Snapshot(ts: 9))
        XCTAssertThrowsError(try session.started(&transaction, Snapshot(ts: 10))) { error in
            XCTAssertEqual(error as? SessionError, .snapshotChanged(from: 9, to: 10))
        }
        XCTAssertEqual(session.ust, 9)
    }

    func testASnapshotOfThePastIsReadWithoutOwnWrites() throws {
        var session = Session(id: id, rules: .paris)
        try commit("default/a", .json("1"), at: 5, in: &session)
        var past = SessionTransaction(id: session.nextTxId(), seen: Snapshot(ts: 3))
        try session.started(&past, Snapshot(ts: 3))
        XCTAssertNil(past.lookup("default/a"))
        XCTAssertEqual(past.overlay().count, 0)
        XCTAssertEqual(session.ust, 3)
    }

    func testADetachedSessionIsAnotherOneThatHasSeenEverythingAndDoesNotFollowTheCommitInFlight() throws {
        var session = Session(id: id, rules: .paris)
        try commit("default/a", .json("1"), at: 7, in: &session)
        var transaction = session.begin()
        transaction.write("default/b", .json("2"))
        _ = try session.commit(transaction)
        let before = session.export()
        let other = String(repeating: "d", count: 22)
        try session.detach(id: other)
        XCTAssertEqual(session.id, other)
        XCTAssertEqual(session.export(), before)
        XCTAssertEqual(session.nextTxId(), "\(other).0")
        XCTAssertThrowsError(try session.committed(Snapshot(ts: 9))) {
            XCTAssertEqual($0 as? SessionError, .noCommitInFlight)
        }
        XCTAssertThrowsError(try session.detach(id: id))
        XCTAssertEqual(session.id, other)
    }

    /// No snapshot, stable time or vector may end the program: sessions get some of them unvalidated.
    func testNoTimestampTrapsASessionOfTransactions() throws {
        let odd: [Timestamp] = [.min, -1, 0, 1, .max]
        for rules in [SessionRules.paris, .bpr, .nocc, .wren, .cure, .hCure] {
            for ts in odd {
                for deps in [nil, [], [ts], [ts, ts], [ts, ts, ts], [.max, .min, ts, ts]] as [[Timestamp]?] {
                    try drive(Session(id: id, rules: rules), with: Snapshot(ts: ts, deps: deps))
                }
            }
        }
    }

    private func drive(_ begun: Session, with snapshot: Snapshot) throws {
        var session = begun
        var transaction = session.begin()
        do { try session.started(&transaction, snapshot) } catch SessionError.snapshotBelowSeen {}
        transaction.write("default/a", .bytes([1]))
        session.observe(snapshot)
        session.stable(snapshot.ts)
        _ = try session.commit(transaction)
        try session.committed(snapshot)
        let state = session.export()
        XCTAssertEqual(Session(id: id, rules: session.rules, state: state).seen, session.seen)
    }

    private func commit(
        _ key: QualifiedKey, _ value: Value?, at ct: Timestamp, in session: inout Session
    ) throws {
        var transaction = session.begin()
        transaction.write(key, value)
        _ = try session.commit(transaction)
        try session.committed(Snapshot(ts: ct))
    }
}

final class OperationSessionTests: XCTestCase {
    private let id = String(repeating: "b", count: 22)

    func testAMatrixIsReadUpToItsLastWholeElement() throws {
        for broken in [[7], [7, 7], [1, 1, 5, 7], [0, 0, 4, 1, 1, 6, 9, 9]] as [[Timestamp]] {
            var session = OperationSession(id: id, region: "oregon", rules: .matrices)
            try read([0, 0, 3, 1, 1, 4], in: &session)
            try read(broken, in: &session)
            XCTAssertEqual(session.seen.count % 3, 0)
            XCTAssertTrue(session.seen.starts(with: broken.count == 8 ? [0, 0, 4, 1, 1, 6] : [0, 0, 3, 1, 1]))
        }
    }

    func testNoVectorTrapsASessionOfSingleOperations() throws {
        let odd: [[Timestamp]] = [[], [.min], [.max, .min], [.max, .max, .max, .min, .min, .min, 0]]
        for rules in [OperationSessionRules.highest, .matrices, .copsGt, .ccLo] {
            for (one, other) in odd.flatMap({ one in odd.map { (one, $0) } }) {
                var session = OperationSession(id: id, region: "oregon", rules: rules)
                try read(one, in: &session)
                try read(other, in: &session)
                _ = try session.put("default/a", nil)
                let depends = [Dependency(key: "default/a", source: .min, ts: .max, near: true)]
                try session.answered(.wrote(seen: one, region: "", ust: .min, depends: depends + depends))
                XCTAssertEqual(session.region, "")
            }
        }
    }

    func testNoIdIsUsedTwiceEvenThatOfARefusedCall() throws {
        var session = OperationSession(id: id, region: "oregon", rules: .ccLo)
        _ = try session.get("default/a")
        XCTAssertThrowsError(try session.put("default/a", nil))
        XCTAssertThrowsError(try session.rot(["default/a"]))
        XCTAssertEqual(session.nextTxId(), "\(id).2")
    }

    func testAMoveDropsAReadUnderWayAndKeepsAPutUnderWay() throws {
        var session = OperationSession(id: id, region: "oregon")
        _ = try session.get("default/a")
        session.move(to: "virginia")
        let put = try session.put("default/a", .json("1"))
        session.move(to: "oregon")
        XCTAssertEqual(put.attemptRegions, ["virginia"])
        XCTAssertEqual(try session.retry().attemptRegions, ["virginia", "oregon"])
        XCTAssertEqual(try session.retry().txId, put.txId)
    }

    private func read(_ seen: [Timestamp], in session: inout OperationSession) throws {
        _ = try session.get("default/a")
        try session.answered(.read(seen: seen, ust: 1))
    }
}
