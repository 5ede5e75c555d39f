import IsochronSession
import XCTest

@testable import Isochron

/// Documents by their keys; pending ones have a star.
private func texts(_ result: QueryResult<Int>?) -> [String] {
    (result?.documents ?? []).map { document in
        "\(document.key)=\((try? document.value).map(String.init) ?? "?")\(document.isPending ? "*" : "")"
    }
}

private func changes(_ result: QueryResult<Int>?) -> [String] {
    (result?.changes ?? []).map { change in
        switch change {
        case .added(let document, let at): "+\(document.key)@\(at)"
        case .changed(let document, let from, let at): "~\(document.key)@\(from)-\(at)"
        case .removed(let document, let from): "-\(document.key)@\(from)"
        }
    }
}

/// Live queries over scripted nodes.
final class WatchTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    private func world(_ seeds: [String: Int] = [:]) async throws -> (FakeServer, IsochronClient, FakeStore, World) {
        let (world, store) = (World(), FakeStore())
        for (key, value) in seeds.sorted(by: { $0.key < $1.key }) { store.seed("default/\(key)", "\(value)") }
        let node = world.server(store, ChangesTests.withFeed)
        return (node, try await world.client([node]), store, world)
    }

    @SessionActor
    func testTheFirstResultIsTheSnapshotAndATransactionOfAnotherClientIsOneResult() async throws {
        let (_, app, store, _) = try await world(["n/a": 1, "n/b": 2, "m": 9])
        let results = app.collection("n", of: Int.self).watch().makeAsyncIterator()
        let first = try await results.next()
        XCTAssertEqual(texts(first), ["a=1", "b=2"])
        XCTAssertEqual(changes(first), ["+a@0", "+b@1"])
        XCTAssertEqual(first?.snapshot, store.ust)
        XCTAssertEqual(first?.meta.hasPendingWrites, false)
        store.commit("t", [("default/n/a", "3"), ("default/n/b", .null), ("default/n/c", "4")])
        store.stabilise()
        let second = try await results.next()
        XCTAssertEqual(texts(second), ["a=3", "c=4"])
        XCTAssertEqual(changes(second), ["-b@1", "~a@0-0", "+c@1"])
        XCTAssertEqual(second?.snapshot, store.ust)
    }

    @SessionActor
    func testAnOwnWriteShowsAtOnceAndIsPendingUntilItIsStable() async throws {
        let (node, app, store, _) = try await world(["n/a": 1])
        let numbers = app.collection("n", of: Int.self)
        let results = numbers.watch().makeAsyncIterator()
        _ = try await results.next()
        let held = Gate()
        node.script = { $0.type == "commit" ? .hold(held) : .answer }
        let writing = start { try await numbers.set("b", 5) }
        let shown = try await results.next()
        XCTAssertEqual(texts(shown), ["a=1", "b=5*"])
        XCTAssertEqual(shown?.meta.hasPendingWrites, true)
        XCTAssertTrue(store.outcomes.keys.allSatisfy { $0.hasPrefix("seed") })
        held.open()
        _ = try await writing.value
        store.stabilise()
        let stable = try await results.next()
        XCTAssertEqual(texts(stable), ["a=1", "b=5"])
        XCTAssertEqual(changes(stable), ["~b@1-1"])
    }

    @SessionActor
    func testAnUpdateIsLaidOverTheDocumentAndARefusedWriteGoesAgain() async throws {
        let (node, app, _, _) = try await world()
        let results = app.watch("doc", as: JSONValue.self).makeAsyncIterator()
        let absent = try await results.next()
        XCTAssertNil(try absent?.value)
        let held = Gate()
        node.script = { frame in
            let refused = errorFrame(frame.id, "STORAGE_FAILED", retryable: false)
            return frame.type == "commit" ? .hold(held, answer: refused) : .answer
        }
        let writing = start { try await app.update("doc", [.increment("/n", by: 2)]) }
        let shown = try await results.next()
        XCTAssertEqual(try shown?.value, ["n": 2])
        XCTAssertEqual(shown?.isPending, true)
        held.open()
        let refused = await code(of: writing)
        XCTAssertEqual(refused, .storageFailed)
        let gone = try await results.next()
        XCTAssertNil(try gone?.value)
        XCTAssertEqual(gone?.isPending, false)
    }

    @SessionActor
    func testASlowLoopGetsTheNewestResultWithTheChangesSinceItsLastOne() async throws {
        let (node, app, store, _) = try await world(["n/a": 1, "n/b": 1])
        let results = app.collection("n", of: Int.self).watch().makeAsyncIterator()
        _ = try await results.next()
        for round in 2...5 {
            let before = node.received("live").count
            store.seed("default/n/a", "\(round)")
            store.seed("default/n/c\(round)", "0")
            try await until("the next request") { node.received("live").count > before }
        }
        store.commit("t", [("default/n/c2", .null)])
        store.stabilise()
        await settle()
        try await until("moved") { node.received("live").last?.number("after") == store.ust }
        let newest = try await results.next()
        XCTAssertEqual(texts(newest), ["a=5", "b=1", "c3=0", "c4=0", "c5=0"])
        XCTAssertEqual(changes(newest), ["~a@0-0", "+c3@2", "+c4@3", "+c5@4"])
    }

    @SessionActor
    func testConditionsOrdersAndTheLimitApplyToTheHeldRange() async throws {
        let (_, app, store, _) = try await world()
        for (id, json) in ["a": #"{"n":1,"done":false}"#, "b": #"{"n":3,"done":false}"#, "c": #"{"n":2,"done":true}"#] {
            store.seed("default/t/\(id)", json)
        }
        let todos = app.collection("t", of: [String: JSONValue].self)
        let watch = todos.watch(
            where: [Condition("/done", .equal, false)], orderBy: [FieldOrder("/n", .descending)], limit: 1)
        let results = watch.makeAsyncIterator()
        let first = try await results.next()
        XCTAssertEqual(first?.documents.map(\.key), ["b"])
        store.seed("default/t/a", #"{"n":0,"done":false}"#)
        store.seed("default/t/c", #"{"n":9,"done":false}"#)
        let second = try await results.next()
        XCTAssertEqual(second?.documents.map(\.key), ["c"])
    }

    @SessionActor
    func testNamedKeysComeInTheirOrderAndRangesEndBeforeTheirEnd() async throws {
        let (_, app, _, _) = try await world(["n/a": 1, "n/b": 2, "n/c": 3, "n/d": 4])
        let numbers = app.collection("n", of: Int.self)
        let named = numbers.watch(keys: ["c", "x", "a", "c"]).makeAsyncIterator()
        let names = try await named.next()
        XCTAssertEqual(texts(names), ["c=3", "a=1"])
        let ranged = numbers.watch(start: "b", end: "d", reverse: true).makeAsyncIterator()
        let range = try await ranged.next()
        XCTAssertEqual(texts(range), ["c=3", "b=2"])
        let plain = app.watch(prefix: "n/b", as: Int.self).makeAsyncIterator()
        let whole = try await plain.next()
        XCTAssertEqual(texts(whole), ["n/b=2"])
    }

    @SessionActor
    func testSeveralWatchesAreAtOneSnapshotInOneResult() async throws {
        let (_, app, store, _) = try await world(["n/a": 1, "m/a": 1])
        let (n, m) = (app.collection("n", of: Int.self), app.collection("m", of: Int.self))
        let cuts = app.live(n.watch(), m.watch("a"), n.watch(keys: ["a"])).makeAsyncIterator()
        let cut = try await cuts.next()
        XCTAssertEqual(texts(cut?.0), ["a=1"])
        XCTAssertEqual(try cut?.1.value, 1)
        for round in 2...4 {
            store.commit("t\(round)", [("default/n/a", .string("\(round)")), ("default/m/a", .string("\(round)"))])
            store.stabilise()
            let next = try await cuts.next()
            XCTAssertEqual(texts(next?.0), ["a=\(round)"])
            XCTAssertEqual(try next?.1.value, round)
            XCTAssertEqual(texts(next?.2), ["a=\(round)"])
            XCTAssertEqual(next?.0.snapshot, next?.1.snapshot)
        }
    }

    @SessionActor
    func testOnAnotherConnectionAWatchGoesOnFromItsSnapshotWithAllItsScopes() async throws {
        let (world, store) = (World(), FakeStore())
        store.seed("default/n/a", "1")
        let (one, two) = (world.server(store, ChangesTests.withFeed), world.server(store, ChangesTests.withFeed))
        let app = try await world.client([one])
        let results = app.collection("n", of: Int.self).watch().makeAsyncIterator()
        _ = try await results.next()
        try await until("waits") { (one.received("live").last?.number("waitMs") ?? 0) > 0 }
        let at = store.ust
        one.cut()
        store.seed("default/n/b", "2")
        let next = try await results.next()
        XCTAssertEqual(texts(next), ["a=1", "b=2"])
        XCTAssertEqual(changes(next), ["+b@1"])
        let resumed = one.received("live").filter { $0["add"] != nil }
        XCTAssertEqual(resumed.last?.number("after"), at)
        XCTAssertEqual(one.received("list").count, 1)
        XCTAssertEqual(two.received("live").count, 0)
    }

    @SessionActor
    func testBelowTheRetentionTheRangeIsReadAnewAndComparedOnTheClient() async throws {
        let (node, app, store, _) = try await world(["n/a": 1, "n/b": 1])
        let results = app.collection("n", of: Int.self).watch().makeAsyncIterator()
        _ = try await results.next()
        store.commit("t", [("default/n/a", .null), ("default/n/c", "3")])
        store.commit("u", [("default/n/b", "1")])
        node.feeds.floor = store.clock
        node.cut()
        store.stabilise()
        let next = try await results.next()
        XCTAssertEqual(texts(next), ["b=1", "c=3"])
        XCTAssertEqual(changes(next), ["-a@0", "+c@1"])
        store.seed("default/n/d", "4")
        let after = try await results.next()
        XCTAssertEqual(changes(after), ["+d@2"])
    }

    @SessionActor
    func testWatchesOfOneRangeShareItAndTheLastOneThatEndsRemovesIt() async throws {
        let (node, app, store, _) = try await world(["n/a": 1])
        let watch = app.collection("n", of: Int.self).watch()
        let ends = Locked(0)
        for _ in 0..<2 {
            let results = watch.makeAsyncIterator()
            _ = try await results.next()
            let again = watch.makeAsyncIterator()
            let shared = try await again.next()
            XCTAssertEqual(texts(shared), ["a=1"])
            ends.change { $0 += 1 }
        }
        await settle()
        try await until("removed") { node.feeds.watches.isEmpty && node.received("live").count > 2 }
        XCTAssertLessThanOrEqual(node.received("list").count, 2)
        store.seed("default/n/a", "2")
        XCTAssertEqual(ends.get(), 2)
    }

    @SessionActor
    func testATransactionReadsAtLeastWhatAWatchHasShown() async throws {
        let (node, app, store, _) = try await world(["n/a": 1])
        let results = app.collection("n", of: Int.self).watch().makeAsyncIterator()
        _ = try await results.next()
        store.seed("default/n/a", "2")
        let shown = try await results.next()
        node.lag = 1000
        let reading = start { try await app.get("n/a", as: Int.self) }
        try await until("read") { node.received("read").contains { $0.number("at") == shown?.snapshot } }
        let read = try await reading.value
        XCTAssertEqual(read, 2)
    }

    @SessionActor
    func testAWrongQueryEndsItsLoopWithTheReason() async throws {
        let (node, app, _, world) = try await world()
        let numbers = app.collection("n", of: Int.self)
        let wrong: [(Watch<QueryResult<Int>>, IsochronError.Code, String)] = [
            (numbers.watch(limit: -1), .invalidRequest, "limit has to be a whole number from 0 on"),
            (numbers.watch(keys: []), .invalidRequest, "keys has to be an array of at least one key"),
            (numbers.watch(start: "b", end: "a"), .invalidRequest, "the range has no keys"),
            (numbers.watch(where: [Condition("a", .equal, 1)]), .invalidRequest, "where[0].path has to be"),
            (numbers.watch(where: [Condition("/a", .isOneOf, 1)]), .invalidRequest, "where[0].value has to be an"),
            (numbers.watch(where: [Condition("/a", .less, nil)]), .invalidRequest, "where[0].value has to be a n"),
            (numbers.watch(where: [Condition("/a", .equal, .number(.nan))]), .valueInvalid, "where/0/value: nan"),
            (numbers.watch(orderBy: [FieldOrder("/~2")]), .invalidRequest, "orderBy[0].path has to be"),
            (numbers.watch(keys: ["a/b"]), .keyInvalid, "an id has no slash"),
            (numbers.watch(prefix: String(repeating: "x", count: 1025)), .keyInvalid, "a key has at most"),
            (app.keyspace("a/b").watch(as: Int.self), .keyspaceUnknown, "cannot be the name"),
            (numbers.watch(keys: (0...10_000).map(String.init)), .watchTooLarge, "watch fewer keys"),
        ]
        for (watch, expected, message) in wrong {
            let results = watch.makeAsyncIterator()
            let error = await thrown { _ = try await results.next() } as? IsochronError
            XCTAssertEqual(error?.code, expected, message)
            XCTAssertTrue(error?.message.contains(message) ?? false, "\(error?.message ?? "")")
            let after = try await results.next()
            XCTAssertNil(after)
        }
        XCTAssertEqual(node.received("live").count, 0)
        let other = try await world.client([node])
        let foreign = await code { _ = try await all(app.live(numbers.watch(), other.watch("a", as: Int.self))) }
        XCTAssertEqual(foreign, .invalidRequest)
        let plain = try await world.client([world.server(FakeStore())])
        let unsupported = await code { _ = try await all(plain.watch("a", as: Int.self)) }
        XCTAssertEqual(unsupported, .notSupportedByProtocol)
    }

    @SessionActor
    func testADocumentOfAnotherTypeThrowsWhereItIsReadAndTheWatchGoesOn() async throws {
        let (_, app, store, _) = try await world(["n/a": 1])
        store.seed("default/n/b", #""text""#)
        let results = app.collection("n", of: Int.self).watch().makeAsyncIterator()
        let first = try await results.next()
        XCTAssertEqual(texts(first), ["a=1", "b=?"])
        let wrong = await code { _ = try first?.documents.last?.value }
        XCTAssertEqual(wrong, .valueInvalid)
        store.seed("default/n/b", "2")
        let second = try await results.next()
        XCTAssertEqual(texts(second), ["a=1", "b=2"])
    }

    @SessionActor
    func testARangeAboveTheLimitOfAWatchIsTooLarge() async throws {
        let (node, app, _, _) = try await world()
        node.script = { frame in
            guard frame.type == "list" else { return .answer }
            let page = node.received("list").count
            let entries = (0..<1000).map { at -> JSONValue in [.string("n/\(100 + page)-\(1000 + at)"), 1000, "0"] }
            return .frame([
                "type": "listed", "id": .integer(frame.id), "snapshot": 1000, "entries": .array(entries),
                "next": .string("n/\(100 + page)-3"),
            ])
        }
        let large = await code { _ = try await all(app.collection("n", of: Int.self).watch()) }
        XCTAssertEqual(large, .watchTooLarge)
        XCTAssertEqual(node.received("list").count, 11)
    }

    @SessionActor
    func testACancelledTaskAndAClosedClientEndAWatch() async throws {
        let (node, app, _, _) = try await world(["n/a": 1])
        let watch = app.collection("n", of: Int.self).watch()
        let waiting = start { try await all(watch) }
        try await until("waits") { node.received("live").contains { ($0.number("waitMs") ?? 0) > 0 } }
        waiting.cancel()
        let reason = await thrown { try await waiting.value }
        XCTAssertTrue(reason is CancellationError)
        let left = start { try await all(watch) }
        try await until("reads again") { node.received("list").count == 2 }
        await app.close()
        let closed = await code(of: left)
        XCTAssertEqual(closed, .clientClosed)
        let after = await code { _ = try await all(watch) }
        XCTAssertEqual(after, .clientClosed)
    }

    @SessionActor
    func testADamagedAnswerEndsTheConnectionAndChangesNothing() async throws {
        let (node, app, store, _) = try await world(["n/a": 1])
        let results = app.collection("n", of: Int.self).watch().makeAsyncIterator()
        _ = try await results.next()
        let answers: [[String: JSONValue]] = [
            ["to": 1, "changes": []], ["to": 5000],
            ["to": 5000, "changes": [["default/n/a", [[1, "t", "9"]]]]],
            ["to": 5000, "changes": [["default/n/a", [[5001, "t", "9"]]]]],
            ["to": 5000, "changes": [["default/n/a", [[4000, "t"]]]]],
            ["to": 5000, "changes": [], "ended": [[1, "PERMISSION_DENIED"]]],
        ]
        let at = store.ust
        var asked = 0
        for answer in answers {
            let opened = node.network.opened.get()
            try await until("asks from its position on this connection") {
                let requests = node.received("live").dropFirst(asked)
                return requests.contains { ($0.number("waitMs") ?? 0) > 0 } && requests.last?.number("after") == at
            }
            asked = node.received("live").count
            let id = node.received("live").last?.id ?? 0
            node.push(.object(answer.merging(["type": "live", "id": .integer(id)]) { $1 }))
            try await until("connects anew") { node.network.opened.get() > opened && node.connections == 1 }
        }
        try await until("goes on from its position") {
            node.received("live").count > asked && node.received("live").last?.number("after") == at
        }
        store.seed("default/n/a", "2")
        let next = try await results.next()
        XCTAssertEqual(texts(next), ["a=2"])
    }
}
