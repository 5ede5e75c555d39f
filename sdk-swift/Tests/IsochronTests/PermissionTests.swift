import IsochronSession
import XCTest

@testable import Isochron

/// Documents by their keys.
private func texts(_ result: QueryResult<Int>?) -> [String] {
    (result?.documents ?? []).map { "\($0.key)=\((try? $0.value).map(String.init) ?? "?")" }
}

/// Live queries whose permission goes, over scripted nodes.
final class PermissionTests: XCTestCase, @unchecked Sendable {
    private static let denial = "The access rule album does not allow it."

    @SessionActor
    private func world(_ seeds: [String: Int]) async throws -> (FakeServer, IsochronClient, FakeStore) {
        let (world, store) = (World(), FakeStore())
        for (key, value) in seeds.sorted(by: { $0.key < $1.key }) { store.seed("default/\(key)", "\(value)") }
        let node = world.server(store, ChangesTests.withFeed)
        return (node, try await world.client([node]), store)
    }

    /// The error that ends a loop whose results are taken so far.
    @SessionActor
    private func end<Shown>(_ results: Watch<Shown>.Iterator) async throws -> IsochronError {
        try await ending(of: start { try await results.next() })
    }

    @SessionActor
    func testAScopeThatAccessRulesEndEndsItsObserversWithPermissionDeniedAndTheOthersGoOn() async throws {
        let (node, app, store) = try await world(["n/a": 1])
        let numbers = app.collection("n", of: Int.self)
        let (one, two) = (numbers.watch(keys: ["a"]).makeAsyncIterator(), numbers.watch("a").makeAsyncIterator())
        let kept = numbers.watch().makeAsyncIterator()
        _ = (try await one.next(), try await two.next(), try await kept.next())
        node.feeds.refuses = { $0.keys.contains("default/n/a") }
        store.seed("default/n/a", "2")
        let goesOn = try await kept.next()
        XCTAssertEqual(texts(goesOn), ["a=2"])
        for error in [try await end(one), try await end(two)] {
            XCTAssertEqual(error.code, .permissionDenied)
            XCTAssertEqual(error.message, Self.denial)
            XCTAssertEqual(error.retryable, false)
        }
        let after = try await one.next()
        XCTAssertNil(after)
        store.seed("default/n/a", "3")
        let last = try await kept.next()
        XCTAssertEqual(texts(last), ["a=3"])
        XCTAssertEqual(node.received("live").flatMap { $0.numbers("remove") ?? [] }.count, 1)
        XCTAssertEqual(node.feeds.watches.count, 1)
    }

    @SessionActor
    func testAWatchOfSeveralScopesEndsWithOneOfThemAndItsOtherScopesAreRemoved() async throws {
        let (node, app, store) = try await world(["n/a": 1, "m/a": 1, "o/a": 1])
        let (n, m) = (app.collection("n", of: Int.self), app.collection("m", of: Int.self))
        let kept = app.collection("o", of: Int.self).watch().makeAsyncIterator()
        let cuts = app.live(n.watch(), m.watch("a")).makeAsyncIterator()
        _ = (try await kept.next(), try await cuts.next())
        node.feeds.refuses = { $0.keys.contains("default/m/a") }
        store.commit("t", [("default/n/a", "2"), ("default/m/a", "2"), ("default/o/a", "2")])
        store.stabilise()
        let error = try await end(cuts)
        XCTAssertEqual(error.code, .permissionDenied)
        try await until("removed") { node.feeds.watches.count == 1 }
        let last = try await kept.next()
        XCTAssertEqual(texts(last), ["a=2"])
    }

    @SessionActor
    func testAWatchThatBeginsAnewAfterItsPermissionIsBackShowsItsDocuments() async throws {
        let (node, app, store) = try await world(["n/a": 1])
        let watch = app.collection("n", of: Int.self).watch()
        let before = watch.makeAsyncIterator()
        _ = try await before.next()
        node.feeds.refuses = { _ in true }
        store.seed("default/n/a", "2")
        let error = try await end(before)
        XCTAssertEqual(error.code, .permissionDenied)
        node.feeds.refuses = { _ in false }
        let again = watch.makeAsyncIterator()
        let first = try await again.next()
        XCTAssertEqual(texts(first), ["a=2"])
        store.seed("default/n/a", "3")
        let last = try await again.next()
        XCTAssertEqual(texts(last), ["a=3"])
    }

    @SessionActor
    func testAFirstReadThatIsRefusedIsRepeatedUntilASnapshotHasTheOwnWritesThatPermitIt() async throws {
        let (node, app, store) = try await world(["n/a": 1])
        let numbers = app.collection("n", of: Int.self)
        try await numbers.set("b", 2)
        // The rule reads the own write: there is no permission in a snapshot without it.
        node.script = { frame in
            if frame.type != "list" || store.ust >= store.clock { return .answer }
            return refusal(frame.id, "PERMISSION_DENIED", retryable: false)
        }
        let results = numbers.watch().makeAsyncIterator()
        let first = start { try await results.next() }
        try await until("it is refused twice") { node.received("list").count > 1 }
        store.stabilise()
        let shown = try await first.value
        XCTAssertEqual(texts(shown), ["a=1", "b=2"])
    }

    @SessionActor
    func testAFirstReadThatIsRefusedEndsItsObserverWhereTheSessionHasNoOwnWrites() async throws {
        let (node, app, _) = try await world(["n/a": 1])
        node.script = { frame in
            frame.type == "list" ? refusal(frame.id, "PERMISSION_DENIED", retryable: false) : .answer
        }
        let error = try await end(app.collection("n", of: Int.self).watch().makeAsyncIterator())
        XCTAssertEqual(error.code, .permissionDenied)
        XCTAssertEqual(node.received("list").count, 1)
    }
}
