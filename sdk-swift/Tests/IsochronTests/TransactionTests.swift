import IsochronSession
import XCTest

@testable import Isochron

final class TransactionTests: XCTestCase, @unchecked Sendable {
    private struct Mine: Error {}

    @SessionActor
    func testATransactionStartsWithItsFirstReadAndCommitsInTheSecondRoundTrip() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", "1")
        let app = try await world.client([node])
        try await until("the ping") { node.received("ping").count == 1 }
        let before = node.packing.count
        let (result, write) = try await app.transaction { tx in
            let read = try await tx.getMany(["a", "b"], as: Int.self)
            try tx.set("b", (read[0] ?? 0) + 1)
            return read[1]
        }
        XCTAssertNil(result)
        XCTAssertEqual(write?.timestamp, node.store.clock)
        XCTAssertEqual(Array(node.packing[before...]), [2, 1])
        XCTAssertEqual(node.frames.suffix(3).map(\.type), ["start", "read", "commit"])
        // It is open there, so the commit ends it and needs no snapshot.
        XCTAssertNil(node.received("commit").first?["snapshot"])
        XCTAssertEqual(node.openTransactions, 0)
    }

    @SessionActor
    func testAWriteOfTheClientInsideATransactionsFunctionIsRefused() async throws {
        let world = World()
        let node = world.server()
        let (app, other) = (try await world.client([node]), try await world.client([node]))
        let (late, _) = try await app.transaction { tx in
            let first = await code { try await app.set("a", 1) }
            _ = try await tx.get("b", as: Int.self)
            let second = await code { try await app.keyspace("eu").delete("a") }
            let third = await code { try await app.collection("todos", of: JSONValue.self).update("a", ["b": 1]) }
            XCTAssertEqual([first, second, third], [.invalidRequest, .invalidRequest, .invalidRequest])
            try await other.set("a", 1)
            return Task { @SessionActor in
                while !Task.isCancelled { await Task.yield() }
                try await Task { try await app.set("b", 1) }.value
            }
        }
        // A write of another client is not part of it, nor is one after its end.
        late.cancel()
        _ = try await late.value
        XCTAssertEqual(node.received("commit").count, 2)
    }

    @SessionActor
    func testAnIdWithASlashIsRefusedBecauseItWouldBelongToAnotherCollection() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        let notes = app.collection("notes", of: Int.self)
        let set = await code { try await notes.set("a/b", 1) }
        let get = await code { try await notes.get("a/b") }
        XCTAssertEqual([set, get], [.keyInvalid, .keyInvalid])
        try await app.collection("notes/a", of: Int.self).set("b", 1)
        let stored = try await app.get("notes/a/b", as: Int.self)
        XCTAssertEqual(stored, 1)
    }

    @SessionActor
    func testATransactionThatOnlyWritesNeedsNoStartAndOneRoundTrip() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        let (_, write) = try await app.transaction { tx in
            try tx.set("a", 1)
            try tx.keyspace("eu").set("b", 2)
            try tx.collection("todos").delete("c")
        }
        let commit = try XCTUnwrap(node.received("commit").first)
        XCTAssertEqual(write?.txId, commit.text("tx"))
        XCTAssertEqual(commit.writes.map(\.key), ["default/a", "eu/b", "default/todos/c"])
        XCTAssertEqual(commit.number("snapshot"), 1000)
        XCTAssertEqual(commit.number("sentAfter"), 1000)
        XCTAssertEqual(commit.number("hwt"), 0)
        XCTAssertEqual(commit.texts("attemptRegions"), ["virginia"])
        XCTAssertEqual(node.received("start").count, 0)
    }

    @SessionActor
    func testATransactionReadsKeysAndAbsentKeysRepeatablyWhileOthersWrite() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", #""old""#)
        let app = try await world.client([node])
        try await app.transaction { tx in
            let first = try await tx.getMany(["a", "none"], as: String.self)
            node.store.seed("default/a", #""new""#)
            node.store.seed("default/none", #""new""#)
            let second = try await tx.getMany(["a", "none"], as: String.self)
            XCTAssertEqual(first, second)
            let absent = try await tx.get("b", as: String.self)
            XCTAssertNil(absent)
        }
        let now = try await app.get("a", as: String.self)
        XCTAssertEqual(now, "new")
    }

    @SessionActor
    func testATransactionSeesTheWriteCacheAsItWasAtItsStart() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        try await app.set("a", "before")
        try await app.transaction { tx in
            _ = try await tx.get("x", as: String.self)
            try await Task.detached {
                try await app.set("a", "during")
                try await app.set("b", "during")
            }.value
            let seen = try await tx.getMany(["a", "b"], as: String.self)
            XCTAssertEqual(seen, ["before", nil])
        }
        let after = try await app.getMany(["a", "b"], as: String.self)
        XCTAssertEqual(after, ["during", "during"])
    }

    @SessionActor
    func testATransactionReadsAndListsItsOwnWritesWithoutARequest() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/k/1", #""one""#)
        let app = try await world.client([node])
        try await app.transaction { tx in
            let k = tx.collection("k")
            try k.set("2", "two")
            try k.delete("1")
            let read = try await k.getMany(["1", "2"], as: String.self)
            XCTAssertEqual(read, [nil, "two"])
            let asked = node.received("read").count
            XCTAssertEqual(asked, 0)
            let listed = try await all(k.list(as: String.self))
            XCTAssertEqual(try listed.map { [$0.key, try $0.value] }, [["2", "two"]])
        }
        let gone = try await app.collection("k", of: String.self).get("1")
        XCTAssertNil(gone)
    }

    @SessionActor
    func testATransactionIsAbortedWhenItsFunctionThrowsAndNothingIsWritten() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        let error = await thrown {
            try await app.transaction { tx in
                _ = try await tx.get("a", as: Int.self)
                try tx.set("a", 1)
                throw Mine()
            }
        }
        XCTAssertTrue(error is Mine)
        try await until("aborted") { node.received("abort").count == 1 && node.openTransactions == 0 }
        XCTAssertEqual(node.received("commit").count, 0)
    }

    @SessionActor
    func testATransactionsFunctionRunsExactlyOnceDespiteRepeatedRequests() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.script = { $0.type == "commit" && node.received("commit").count == 1 ? .applyAndClose : .answer }
        let runs = Locked(0)
        try await app.transaction { tx in
            runs.change { $0 += 1 }
            _ = try await tx.get("a", as: Int.self)
            try tx.set("a", runs.get())
        }
        XCTAssertEqual(runs.get(), 1)
        XCTAssertEqual(node.received("commit").count, 2)
        XCTAssertEqual(node.store.outcomes.count, 1)
    }

    @SessionActor
    func testATransactionCannotBeUsedOnceItHasEnded() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        let (leaked, write) = try await app.transaction { tx in tx }
        XCTAssertNil(write)
        let set = await code { try leaked.set("a", 1) }
        XCTAssertEqual(set, .transactionFinished)
        let get = await code { try await leaked.get("a", as: Int.self) }
        XCTAssertEqual(get, .transactionFinished)
    }

    @SessionActor
    func testATransactionWaitsForAnUpdateThatItsFunctionDidNotAwaitAndFailsWithIt() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", #"{"n":1,"m":1}"#)
        node.store.commit("bytes", [(key: "default/bytes", value: ["bytes": "AA=="])])
        node.store.stabilise()
        let app = try await world.client([node])
        let held = Gate()
        node.script = { $0.type == "read" ? .hold(held) : .answer }
        try await app.transaction { tx in
            Task { try await tx.update("a", ["n": 2]) }
            try await until("asked") { node.received("read").count == 1 }
            Task { @SessionActor in held.open() }
        }
        node.script = { _ in .answer }
        let patched = try await app.get("a", as: [String: Int].self)
        XCTAssertEqual(patched, ["n": 2, "m": 1])
        let failed = await code {
            try await app.transaction { tx in
                try tx.set("b", 1)
                try? await tx.update("bytes", ["n": 1])
            }
        }
        XCTAssertEqual(failed, .valueInvalid)
        let unwritten = try await app.get("b", as: Int.self)
        XCTAssertNil(unwritten)
    }

    @SessionActor
    func testTheUpdateThatExceedsTheOperationsOfAKeyInOneTransactionIsRefusedAndNothingIsSent() async throws {
        let world = World()
        let node = world.server { $0.capabilities.append("updates") }
        let app = try await world.client([node])
        func run(_ first: JSONValue?, _ counts: [Int]) async throws {
            try await app.transaction { tx in
                if let first { try tx.set("a", first) }
                for count in counts {
                    try tx.update("a", Array(repeating: .increment("/n", by: 1), count: count))
                    // The earlier writes are in the transaction's write set from here on.
                    _ = try await tx.get("b", as: Int.self)
                }
            }
        }
        let tooMany = await code { try await run(nil, [600, 401]) }
        let afterPut = await code { try await run(["n": 1], [999, 1]) }
        XCTAssertEqual([tooMany, afterPut], [.updateInvalid, .updateInvalid])
        XCTAssertEqual(node.received("commit").count, 0)
        try await run(nil, [600, 400])
        try await run(["n": 1], [999])
        XCTAssertEqual(node.received("commit").count, 2)
    }

    @SessionActor
    func testATransactionContinuesAtAnotherEndpointInItsSnapshotWhenItsConnectionIsLost() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, store, home, other) = (cluster.app, cluster.store, cluster.home, cluster.other)
        let (_, write) = try await app.transaction { tx in
            let first = try await tx.get("a", as: Int.self)
            let at = await tx.timestamp
            cluster.overtake()
            home.stop()
            let second = try await tx.getMany(["a", "b", "none"], as: Int.self)
            let stillAt = await tx.timestamp
            XCTAssertEqual([first] + second, [1, 1, 1, nil])
            XCTAssertEqual(at, stillAt)
            let reopened = other.received("start").first
            XCTAssertEqual(reopened?.number("at"), at)
            // A new id on the server: the rest of the first opening is never used.
            let opened = home.received("start").first
            XCTAssertNotEqual(reopened?.text("tx"), opened?.text("tx"))
            try tx.set("c", 1)
        }
        XCTAssertEqual(other.received("commit").first?.texts("attemptRegions"), [other.region])
        XCTAssertEqual(other.received("commit").first?.number("snapshot"), 1002)
        XCTAssertEqual(write?.timestamp, store.clock)
        try await until("nothing is open") { other.openTransactions == 0 }
    }

    @SessionActor
    func testATransactionThrowsTheServersExpiredAndAbortedErrors() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.script = { frame in
            switch frame.type {
            case "read": refusal(frame.id, "TRANSACTION_EXPIRED", retryable: false)
            case "commit": refusal(frame.id, "TRANSACTION_ABORTED", retryable: false)
            default: .answer
            }
        }
        let expired = await code { try await app.transaction { try await $0.get("a", as: Int.self) } }
        XCTAssertEqual(expired, .transactionExpired)
        let aborted = await code { try await app.set("a", 1) }
        XCTAssertEqual(aborted, .transactionAborted)
        node.script = { _ in .answer }
        try await app.set("a", 2)
    }

    @SessionActor
    func testASnapshotOfThePastIsReadWithoutTheOwnWritesAboveIt() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        let first = try await app.set("a", 1)
        try await app.set("a", 2)
        node.store.stabilise()
        _ = try await app.get("a", as: Int.self)
        let (past, _) = try await app.transaction(at: first.timestamp) { try await $0.get("a", as: Int.self) }
        XCTAssertEqual(past, 1)
        let now = try await app.get("a", as: Int.self)
        XCTAssertEqual(now, 2)
        for at in [-1, Int64.max] {
            let invalid = await code { try await app.transaction(at: at) { try await $0.get("a", as: Int.self) } }
            XCTAssertEqual(invalid, .invalidRequest)
        }
    }

    @SessionActor
    func testACancelledTransactionEndsWithCancellationErrorAndNothingIsWritten() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.script = { $0.type == "read" ? .drop : .answer }
        let going = start {
            _ = try await app.transaction { tx in
                try tx.set("a", 1)
                _ = try await tx.get("b", as: Int.self)
            }
        }
        try await until("asked") { node.received("read").count == 1 }
        going.cancel()
        let error = await thrown { try await going.value }
        XCTAssertTrue(error is CancellationError)
        XCTAssertEqual(node.received("commit").count, 0)
    }

    @SessionActor
    func testACancellationWithdrawsAWaitingCommitAndNotASentOne() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        let held = Gate()
        node.script = { $0.type == "commit" ? .hold(held) : .answer }
        let sent = start { try await app.set("a", 1) }
        try await until("sent") { node.received("commit").count == 1 }
        let queued = start { try await app.set("b", 1) }
        try await status(of: app, "queued") { $0.pendingCommits == 2 }
        queued.cancel()
        let withdrawn = await thrown { try await queued.value }
        XCTAssertTrue(withdrawn is CancellationError)
        sent.cancel()
        let unknown = await thrown { try await sent.value } as? IsochronError
        XCTAssertEqual(unknown?.code, .outcomeUnknown)
        XCTAssertEqual(unknown?.txId, node.received("commit").first?.text("tx"))
        XCTAssertEqual(unknown?.sentAfter, 1000)
        held.open()
        // The client learns the outcome, and later commits follow it.
        try await app.set("c", 1)
        let read = try await app.getMany(["a", "b"], as: Int.self)
        XCTAssertEqual(read, [1, nil])
    }
}

final class SnapshotTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testEveryReadOfASnapshotHasItsTimestampUntilItIsClosed() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", "1")
        let app = try await world.client([node])
        try await app.set("own", 7)
        let snapshot = try await app.snapshot()
        XCTAssertEqual(snapshot.timestamp, node.store.ust)
        node.store.seed("default/a", "2")
        let read = try await snapshot.getMany(["a", "own"], as: Int.self)
        XCTAssertEqual(read, [1, 7])
        let listed = try await all(snapshot.list(as: Int.self))
        XCTAssertEqual(listed.map(\.key), ["a", "own"])
        let absent = try await snapshot.collection("x").get("y", as: Int.self)
        XCTAssertNil(absent)
        XCTAssertEqual(node.received("start").count, 1)
        await snapshot.close()
        let finished = await code { try await snapshot.get("a", as: Int.self) }
        XCTAssertEqual(finished, .transactionFinished)
        try await until("given back") { node.openTransactions == 0 }
    }

    @SessionActor
    func testAnUnreferencedSnapshotIsReleased() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        var snapshot: SnapshotView? = try await app.snapshot()
        XCTAssertEqual(node.openTransactions, 1)
        XCTAssertNotNil(snapshot)
        snapshot = nil
        try await until("given back") { node.openTransactions == 0 }
        await app.close()
    }

    @SessionActor
    func testASnapshotIsTheSameInAnotherRegionAtTheSameTimestamp() async throws {
        let (world, store) = (World(), FakeStore())
        let writer = try await world.client([world.server(store)])
        let reader = try await world.client([world.server(store) { $0.region = "oregon" }])
        let write = try await writer.set("a", 1)
        store.stabilise()
        store.seed("default/a", "2")
        for app in [writer, reader] {
            let value = try await app.snapshot(at: write.timestamp).get("a", as: Int.self)
            XCTAssertEqual(value, 1)
        }
    }

    @SessionActor
    func testASnapshotOpensAgainAtTheSameTimestampAfterItExpired() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", "1")
        let app = try await world.client([node])
        let snapshot = try await app.snapshot()
        node.store.seed("default/a", "2")
        node.script = { frame in
            guard frame.type == "read", node.received("read").count == 1 else { return .answer }
            return refusal(frame.id, "TRANSACTION_EXPIRED", retryable: false)
        }
        let value = try await snapshot.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        XCTAssertEqual(node.received("start").map { $0.number("at") }, [nil, snapshot.timestamp])
    }

    @SessionActor
    func testTheRefusalOfASnapshotsStartIsThrown() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        node.script = { $0.type == "start" ? refusal($0.id, "SNAPSHOT_TOO_OLD", retryable: false) : .answer }
        let opened = await code { try await app.snapshot(at: 1) }
        XCTAssertEqual(opened, .snapshotTooOld)
        let read = await code { try await app.transaction(at: 1) { try await $0.get("a", as: Int.self) } }
        XCTAssertEqual(read, .snapshotTooOld)
    }
}
