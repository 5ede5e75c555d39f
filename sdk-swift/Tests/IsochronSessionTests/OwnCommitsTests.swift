import IsochronSession
import XCTest

/// What a session knows of its own commits; the step traces compare the rest with the TypeScript sessions.
final class OwnCommitsTests: XCTestCase {
    private let cut = SessionCut(map: 1, horizon: 10, nodes: [2])

    private func commit(_ ct: Timestamp, _ nodes: [Int64]?, map: Int64? = nil) -> OwnCommit {
        let sent = CommitAttempt(txId: "t.\(ct)", snapshot: 1, deps: nil, hwt: 0, sentAfter: 1, writes: [])
        return OwnCommit(
            sent: sent, attempts: [], acknowledged: ct, ct: ct, place: CommitPlace(map: map, nodes: nodes))
    }

    func testACutDefersACommitAboveTheHorizonThatNeedsASuspendedNodeAndAllThatFollow() {
        let later = commit(14, [2], map: 1)
        var own = OwnCommits([commit(9, [2]), commit(11, [0]), commit(12, [1, 2]), commit(13, [0]), later])
        XCTAssertTrue(own.take(cut))
        XCTAssertEqual(own.exported.map(\.isDeferred), [false, false, true, true, false])
        XCTAssertEqual(own.deferredCount, 2)
        XCTAssertEqual(own.mapBefore, 0)
        XCTAssertFalse(own.take(cut))
    }

    func testACommitWhoseNodesAreNotKnownIsDeferredByEveryCutBelowIt() {
        var (above, below) = (OwnCommits([commit(11, nil)]), OwnCommits([commit(10, nil)]))
        XCTAssertTrue(above.take(cut))
        XCTAssertFalse(below.take(cut))
        XCTAssertEqual(above.exported, [])
    }

    func testAnAnswerThatIsOlderThanACutIsJudgedByTheCutAndSoIsWhatFollows() {
        var own = OwnCommits()
        _ = own.take(cut)
        XCTAssertFalse(own.isOvertaken(11, CommitPlace(map: nil, nodes: [0])))
        XCTAssertFalse(own.isOvertaken(11, CommitPlace(map: 1, nodes: [2])))
        XCTAssertTrue(own.isOvertaken(11, CommitPlace(map: nil, nodes: [2])))
        XCTAssertTrue(own.isOvertaken(12, CommitPlace(map: nil, nodes: [0])))
    }

    func testACommitFollowsTheLatestUnstableWriteOnEachNodeAndNothingExactWhereNodesAreNotKnown() {
        var own = OwnCommits([commit(11, [0, 1]), commit(12, [1])])
        XCTAssertEqual(own.behind, [CommitNeed(ct: 11, node: 0), CommitNeed(ct: 12, node: 1)])
        own.add(commit(13, nil))
        XCTAssertEqual(own.behind, [])
    }

    func testASessionWithDeferredCommitsReadsWhatItHasSeenWithTheseLaidOverUntilTheyAreMadeAgain() throws {
        var session = Session(id: "session-of-the-test-01", rules: .paris)
        session.observe(Snapshot(ts: 5))
        var tx = session.begin()
        tx.write("default/a", .json("1"))
        _ = try session.commit(tx)
        try session.committed(Snapshot(ts: 11), CommitPlace(map: 0, nodes: [2]))
        var before = session.begin()
        XCTAssertTrue(session.own.take(cut))
        session.observe(Snapshot(ts: 20))
        session.stable(20)
        XCTAssertEqual([session.isBehind, session.ust == 5, session.own.final(of: 11) == nil], [true, true, true])
        var reader = session.begin()
        try session.started(&reader, Snapshot(ts: 5))
        XCTAssertEqual(reader.lookup("default/a")?.value, .json("1"))
        session.end(reader)
        session.committedAgain(try XCTUnwrap(session.own.deferred), 21, CommitPlace(map: 1, nodes: [1]), [])
        session.observe(Snapshot(ts: 20))
        XCTAssertEqual([session.ust, session.hwt, session.own.final(of: 11)], [20, 21, 21])
        // It began before that, with a snapshot between the two timestamps: the write is laid over it.
        try session.started(&before, Snapshot(ts: 20))
        XCTAssertEqual(before.lookup("default/a")?.ts, 21)
        session.end(before)
        session.observe(Snapshot(ts: 21))
        XCTAssertEqual(session.cacheSize, 0)
        XCTAssertEqual(session.own.final(of: 11), 21)
    }

    func testASessionGoesOnWithoutItsDeferredCommits() {
        var own = OwnCommits([commit(11, [2]), commit(12, [0])])
        _ = own.take(cut)
        XCTAssertEqual(own.drop(where: \.isDeferred), ["t.11", "t.12"])
        XCTAssertNil(own.deferred)
    }
}
