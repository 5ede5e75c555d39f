import IsochronSession
import XCTest

@testable import Isochron

/// The change feed over a scripted node.
final class ChangesTests: XCTestCase, @unchecked Sendable {
    static func withFeed(_ options: inout FakeOptions) {
        options.capabilities += ["changes", "live-queries", "updates"]
    }

    @SessionActor
    func testAMessageHasWholeTransactionsInTheirOrderAndTheNextOneGoesOnBehindIt() async throws {
        let (world, store) = (World(), FakeStore())
        let node = world.server(store, Self.withFeed)
        let app = try await world.client([node])
        var messages = app.changes(keyspace: "default", prefix: "a").makeAsyncIterator()
        let begin = try await messages.next()
        XCTAssertEqual(begin, ChangesMessage(from: 1000, to: 1000, cursor: "1000:default/a", transactions: []))
        store.commit("t1", [("default/a1", "1"), ("default/b", "2"), ("default/a2", ["bytes": "AQI="])])
        let operations = #"[{"op":"increment","path":"/n","by":2},{"op":"remove","path":"/x"}]"#
        store.commit("t2", [("default/a1", ["operations": .string(operations)]), ("default/a2", nil)])
        store.stabilise()
        let message = try await messages.next()
        let first = ChangedTransaction(
            id: "t1", timestamp: 1001,
            writes: [
                ChangedKey(keyspace: "default", key: "a1", content: .stored(.json(1))),
                ChangedKey(keyspace: "default", key: "a2", content: .stored(.bytes([1, 2]))),
            ])
        let second = ChangedTransaction(
            id: "t2", timestamp: 1002,
            writes: [
                ChangedKey(
                    keyspace: "default", key: "a1", content: .updated([.increment("/n", by: 2), .remove("/x")])),
                ChangedKey(keyspace: "default", key: "a2", content: .deleted),
            ])
        XCTAssertEqual(message?.transactions, [first, second])
        XCTAssertEqual([message?.from, message?.to], [1000, 1002])
        XCTAssertEqual(node.received("changes").map { $0["after"] }, [.some(.null), 1000])
        XCTAssertEqual(node.received("changes").map { $0.text("scope") }, ["default/a", "default/a"])
    }

    @SessionActor
    func testAPageIsAskedForWhenTheLoopTakesItAndNotBefore() async throws {
        let (world, store) = (World(), FakeStore())
        let node = world.server(store, Self.withFeed)
        let app = try await world.client([node])
        var messages = app.changes(at: 1000).makeAsyncIterator()
        for round in 1...3 {
            store.seed("default/a", "\(round)")
            let message = try await messages.next()
            XCTAssertEqual(message?.transactions.count, 1)
            await settle()
            XCTAssertEqual(node.received("changes").count, round)
        }
    }

    @SessionActor
    func testAFeedGoesOnFromItsCursorInAnotherLoopAndRefusesThatOfAnotherScope() async throws {
        let (world, store) = (World(), FakeStore())
        let node = world.server(store, Self.withFeed)
        let app = try await world.client([node])
        var messages = app.changes().makeAsyncIterator()
        store.seed("default/a", "1")
        let first = try await messages.next()
        store.seed("default/b", "2")
        let cursor = try XCTUnwrap(first?.cursor)
        XCTAssertEqual(cursor, "1001:")
        var later = app.changes(since: cursor).makeAsyncIterator()
        let next = try await later.next()
        XCTAssertEqual(next?.transactions.map(\.timestamp), [1002])
        let scoped = app.changes(keyspace: "default", since: "1001:default/")
        var goingOn = scoped.makeAsyncIterator()
        let goesOn = try await goingOn.next()
        XCTAssertEqual(goesOn?.from, 1001)
        for damaged in ["", "1001", ":", "x:", "1001:other", "-1:", "+1:", "99999999999999999:", "9999999999999999:"] {
            let refused = await code { _ = try await all(app.changes(since: damaged)) }
            XCTAssertEqual(refused, .cursorInvalid, damaged)
        }
    }

    @SessionActor
    func testAFeedIsRefusedWithTheReasonAndEndsThen() async throws {
        let (world, store) = (World(), FakeStore())
        let node = world.server(store, Self.withFeed)
        let app = try await world.client([node])
        let wrong: [(ChangeFeed, IsochronError.Code)] = [
            (app.changes(prefix: "a"), .invalidRequest), (app.changes(since: "1:", at: 1), .invalidRequest),
            (app.changes(at: -1), .invalidRequest), (app.changes(keyspace: "a/b"), .keyspaceUnknown),
            (app.changes(keyspace: "a", prefix: String(repeating: "x", count: 1025)), .keyInvalid),
        ]
        for (feed, expected) in wrong {
            var messages = feed.makeAsyncIterator()
            let refused = await code { _ = try await messages.next() }
            XCTAssertEqual(refused, expected)
            let after = try await messages.next()
            XCTAssertNil(after)
        }
        XCTAssertEqual(node.received("changes").count, 0)
        node.feeds.floor = 500
        let gone = await code { _ = try await all(app.changes(at: 499)) }
        XCTAssertEqual(gone, .changesGone)
        let plain = try await world.client([world.server(FakeStore())])
        let unsupported = await code { _ = try await all(plain.changes()) }
        XCTAssertEqual(unsupported, .notSupportedByProtocol)
    }

    @SessionActor
    func testAFeedWaitsThroughALostConnectionAndSkipsNothing() async throws {
        let (world, store) = (World(), FakeStore())
        let (one, two) = (world.server(store, Self.withFeed), world.server(store, Self.withFeed))
        let app = try await world.client([one, two])
        var messages = app.changes(at: 1000).makeAsyncIterator()
        var (seen, asked): ([Int64], Int) = ([], 0)
        for round in 0..<4 {
            let taking = start { [messages] in
                var own = messages
                let message = try await own.next()
                return (own, message)
            }
            try await until("asked") { one.received("changes").count + two.received("changes").count > asked }
            asked = one.received("changes").count + two.received("changes").count
            for node in [one, two] where node.connections > 0 { node.cut() }
            store.seed("default/a", "\(round)")
            let (next, message) = try await taking.value
            messages = next
            seen += message?.transactions.map(\.timestamp) ?? []
        }
        XCTAssertEqual(seen, [1001, 1002, 1003, 1004])
    }

    @SessionActor
    func testACancelledTaskAndAClosedClientEndTheWait() async throws {
        let (world, store) = (World(), FakeStore())
        let node = world.server(store, Self.withFeed)
        let app = try await world.client([node])
        let waiting = start { try await all(app.changes(at: 1000)) }
        try await until("asked") { node.received("changes").count == 1 }
        waiting.cancel()
        let reason = await thrown { try await waiting.value }
        XCTAssertTrue(reason is CancellationError)
        let left = start { try await all(app.changes(at: 1000)) }
        try await until("asked") { node.received("changes").count == 2 }
        await app.close()
        let closed = await code(of: left)
        XCTAssertEqual(closed, .clientClosed)
    }

    @SessionActor
    func testAPageThatWasNotAskedForEndsTheConnectionAndIsNotShown() async throws {
        let (world, store) = (World(), FakeStore())
        let node = world.server(store, Self.withFeed)
        let app = try await world.client([node])
        store.seed("default/a", "1")
        let write: JSONValue = ["key": "default/a", "value": "1"]
        let damaged: [[String: JSONValue]] = [
            ["from": 999, "to": 1001, "transactions": []], ["from": 1000, "to": 999, "transactions": []],
            ["from": 1000, "to": 1001, "transactions": [["tx": "t", "ts": 1000, "writes": [write]]]],
            ["from": 1000, "to": 1001, "transactions": [["tx": "t", "ts": 1002, "writes": [write]]]],
            ["from": 1000, "to": 1001, "transactions": [["tx": "t", "ts": 1001, "writes": [["key": "a"]]]]],
            ["from": 1000, "to": 1001],
        ]
        for page in damaged {
            let before = node.received("changes").count
            node.script = { frame in
                guard frame.type == "changes", node.received("changes").count == before + 1 else { return .answer }
                return .frame(.object(page.merging(["type": "changes", "id": .integer(frame.id)]) { $1 }))
            }
            var messages = app.changes(at: 1000).makeAsyncIterator()
            let message = try await messages.next()
            XCTAssertEqual(message?.transactions.count, 1)
            XCTAssertEqual(node.received("changes").count, before + 2)
        }
    }
}
