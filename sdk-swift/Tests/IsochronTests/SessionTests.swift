import Foundation
import IsochronSession
import XCTest

@testable import Isochron

final class SessionTests: XCTestCase, @unchecked Sendable {
    private struct Todo: Codable, Equatable, Sendable {
        var title: String?
        var done: Bool?
    }

    @SessionActor
    func testASessionReadsItsOwnWriteBeforeThatIsStable() async throws {
        let world = World()
        let node = world.server()
        let todos = try await world.client([node]).collection("todos", of: Todo.self)
        try await todos.set("1", Todo(title: "milk"))
        XCTAssertEqual(node.store.ust, 1000)
        let written = try await todos.get("1")
        XCTAssertEqual(written, Todo(title: "milk"))
        try await todos.delete("1")
        let deleted = try await todos.get("1")
        XCTAssertNil(deleted)
    }

    @SessionActor
    func testAnotherSessionDoesNotReadAWriteBeforeThatIsStable() async throws {
        let world = World()
        let node = world.server()
        let (writer, reader) = (try await world.client([node]), try await world.client([node]))
        let write = try await writer.set("a", 1)
        let before = try await reader.get("a", as: Int.self)
        XCTAssertNil(before)
        let early = await code { try await write.stable(timeout: .milliseconds(5)) }
        XCTAssertEqual(early, .stableTimeout)
        node.store.stabilise()
        try await write.stable()
        let after = try await reader.get("a", as: Int.self)
        XCTAssertEqual(after, 1)
    }

    @SessionActor
    func testStableReturnsOnTheAnswerOfANodeAndNotOnTheStableTimeOfTheOwnNode() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        let write = try await app.set("a", 1)
        node.store.stabilise()
        let read = try await app.get("a", as: Int.self)
        XCTAssertEqual(read, 1)
        let ust = await app.currentStatus.ust
        XCTAssertGreaterThanOrEqual(ust, write.timestamp)
        node.script = { $0.type == "stable" ? refusal($0.id, "STABLE_TIMEOUT", retryable: true) : .answer }
        let early = await code { try await write.stable(timeout: .milliseconds(5)) }
        XCTAssertEqual(early, .stableTimeout)
        node.script = { _ in .answer }
        try await write.stable()
        let asked = node.received("stable").count
        try await write.stable()
        XCTAssertEqual(node.received("stable").count, asked)
    }

    @SessionActor
    func testACachedWriteIsDroppedOnceTheSnapshotContainsItSoThatANewerOneShows() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        try await app.set("a", "mine")
        node.store.seed("default/a", #""theirs""#)
        let read = try await app.get("a", as: String.self)
        XCTAssertEqual(read, "theirs")
        let writes = await app.session.export().writes
        XCTAssertEqual(writes, [])
    }

    @SessionActor
    func testBytesAreStoredAndReadAsBytes() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        let bytes = (0...255).map { UInt8($0) }
        try await app.set("b", bytes)
        try await app.set("d", Data(bytes))
        let cached = try await app.get("b", as: [UInt8].self)
        XCTAssertEqual(cached, bytes)
        node.store.stabilise()
        let stored = try await app.get("d", as: Data.self)
        XCTAssertEqual(stored, Data(bytes))
        let any = try await app.getMany(["b", "none"], as: Document.self)
        XCTAssertEqual(any, [.bytes(bytes), nil])
    }

    @SessionActor
    func testAStoredNullIsNotAnAbsentValue() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        try await app.set("null", JSONValue.null)
        let read = try await app.getMany(["null", "none"], as: JSONValue.self)
        XCTAssertEqual(read, [.some(.null), nil])
    }

    @SessionActor
    func testAnExportedSessionHasItsCacheAndContinuesUnderAnotherId() async throws {
        let (world, store) = (World(), FakeStore())
        let east = world.server(store)
        let west = world.server(store) { $0.region = "oregon" }
        let first = try await world.client([east])
        try await first.set("a", ["n": 1])
        try await first.set("b", [UInt8]([1, 2]))
        try await first.delete("c")
        let exported = await first.session.export()
        // There and back: through its own text, and through any encoder.
        let text = try ExportedSession(json: exported.json)
        let coded = try JSONDecoder().decode(ExportedSession.self, from: JSONEncoder().encode(text))
        XCTAssertEqual(coded, exported)
        let second = try await world.client([west], session: coded)
        let token = await first.session.token
        XCTAssertEqual(west.received("hello").first?.text("token"), token)
        let a = try await second.get("a", as: [String: Int].self)
        let b = try await second.get("b", as: [UInt8].self)
        let c = try await second.get("c", as: Int.self)
        XCTAssertEqual(a, ["n": 1])
        XCTAssertEqual(b, [1, 2])
        XCTAssertNil(c)
        try await second.set("d", 1)
        let ids = [east, west].compactMap { $0.received("commit").first?.text("tx")?.split(separator: ".").first }
        XCTAssertEqual(Set(ids).count, 2)
        // Its commits lie above everything that the first one saw and wrote.
        XCTAssertEqual(west.received("commit").first?.number("hwt"), exported.hwt)
    }

    func testAnExportHasTheFormatOfTheTypeScriptSdk() throws {
        let write = CachedWrite(ct: 1001, txId: "abcdefghijklmnopqrstuv.0", value: .json(#"{"n":1}"#))
        let bytes = CachedWrite(ct: 1002, txId: "abcdefghijklmnopqrstuv.1", value: .bytes([1, 2]))
        let gone = CachedWrite(ct: 1003, txId: "abcdefghijklmnopqrstuv.2", value: nil)
        let exported = ExportedSession(
            token: "t", ust: 1000, hwt: 1003,
            writes: [
                CacheEntry(key: "default/a", write: write), CacheEntry(key: "default/b", write: bytes),
                CacheEntry(key: "default/c", write: gone),
            ])
        let theirs = [
            #"{"version":1,"token":"t","ust":1000,"hwt":1003,"writes":["#,
            #"["default/a",1001,"abcdefghijklmnopqrstuv.0","{\"n\":1}"],"#,
            #"["default/b",1002,"abcdefghijklmnopqrstuv.1",{"bytes":"AQI="}],"#,
            #"["default/c",1003,"abcdefghijklmnopqrstuv.2",null]]}"#,
        ].joined()
        XCTAssertEqual(exported.json, theirs)
        XCTAssertEqual(try ExportedSession(json: theirs), exported)
    }

    @SessionActor
    func testAMergePatchIsAppliedToTheSessionsOwnWrite() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        let people = app.collection("people", of: JSONValue.self)
        try await people.set("1", ["name": "Ann", "address": ["city": "Rome", "zip": "1"]])
        try await people.update("1", ["name": nil, "address": ["zip": "2"]])
        let patched = try await people.get("1")
        XCTAssertEqual(patched, ["address": ["city": "Rome", "zip": "2"]])
        try await people.update("new", ["name": "Bob"])
        let new = try await people.get("new")
        XCTAssertEqual(new, ["name": "Bob"])
        try await app.set("bytes", [UInt8]([1]))
        let bytes = await code { try await app.update("bytes", ["a": 1]) }
        XCTAssertEqual(bytes, .valueInvalid)
    }

    @SessionActor
    func testADocumentIsChangedByAFunction() async throws {
        let world = World()
        let todos = try await world.client([world.server()]).collection("todos", of: Todo.self)
        try await todos.update("1") { Todo(title: $0?.title ?? "milk") }
        try await todos.update("1") { before in
            var after = before
            after?.done = true
            return after
        }
        let changed = try await todos.get("1")
        XCTAssertEqual(changed, Todo(title: "milk", done: true))
        try await todos.update("1") { _ in nil }
        let gone = try await todos.get("1")
        XCTAssertNil(gone)
    }

    @SessionActor
    func testASessionSendsOneCommitAtATime() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        let held = Gate()
        node.script = { $0.type == "commit" && node.received("commit").count == 1 ? .hold(held) : .answer }
        let a = start { try await app.set("a", 1) }
        try await until("a is sent") { node.received("commit").count == 1 }
        let b = start { try await app.set("b", 2) }
        try await status(of: app, "both are pending") { $0.pendingCommits == 2 }
        _ = try await app.get("x", as: Int.self)
        XCTAssertEqual(node.received("commit").count, 1)
        held.open()
        let (first, second) = (try await a.value, try await b.value)
        XCTAssertGreaterThan(second.timestamp, first.timestamp)
        XCTAssertEqual(node.received("commit").last?.number("hwt"), first.timestamp)
    }

    @SessionActor
    func testKeysThatSwiftTreatsAsEqualAreTwoKeys() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        try await app.set(composed, 1)
        try await app.set(decomposed, 2)
        let read = try await app.getMany([composed, decomposed], as: Int.self)
        XCTAssertEqual(read, [1, 2])
        let listed = try await all(app.list(as: Int.self))
        XCTAssertEqual(try listed.map { try $0.value }, [2, 1])
    }
}

final class ListingTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testAllPagesOfAListingShowOneSnapshotWithOwnWritesAndWithoutOwnDeletions() async throws {
        let world = World()
        let node = world.server()
        for id in ["a", "b", "c", "d", "e"] { node.store.seed("default/todos/\(id)", "\"\(id)\"") }
        let app = try await world.client([node])
        let todos = app.collection("todos", of: String.self)
        try await todos.set("aa", "own")
        try await todos.set("c", "changed")
        try await todos.delete("d")
        try await todos.set("z", "last")
        try await app.set("other", 1)
        let entries = try await all(todos.list(pageSize: 2))
        let shown = try entries.map { "\($0.key)=\(try $0.value)" }
        XCTAssertEqual(shown, ["a=a", "aa=own", "b=b", "c=changed", "e=e", "z=last"])
        let opened = node.received("start").map { $0.text("tx") }
        XCTAssertEqual(opened.count, 1)
        XCTAssertEqual(node.received("list").map { $0.text("tx") }, [opened[0], opened[0], opened[0]])
    }

    @SessionActor
    func testADocumentOfAnotherTypeDoesNotEndAListing() async throws {
        let world = World()
        let node = world.server()
        for (id, text) in [("a", "1"), ("b", "\"text\""), ("c", "3"), ("d", "[]"), ("e", "5")] {
            node.store.seed("default/\(id)", text)
        }
        let app = try await world.client([node])
        for pageSize in [1, 2, 100] {
            let listed = try await all(app.list(pageSize: pageSize, as: Int.self))
            XCTAssertEqual(listed.map(\.key), ["a", "b", "c", "d", "e"])
            XCTAssertEqual(listed.compactMap { try? $0.value }, [1, 3, 5])
            let other = await code { try listed[1].value }
            XCTAssertEqual(other, .valueInvalid)
        }
    }

    @SessionActor
    func testAListingStaysInItsSnapshotWhileOtherClientsWrite() async throws {
        let world = World()
        let node = world.server()
        for id in ["a", "b", "c"] { node.store.seed("default/\(id)", "1") }
        let app = try await world.client([node])
        var keys: [[String]] = []
        var timestamps: Set<Timestamp> = []
        for try await page in app.list(pageSize: 1, as: Int.self).pages {
            keys.append(page.entries.map(\.key))
            timestamps.insert(page.timestamp)
            XCTAssertNotNil(page.staleness)
            node.store.seed("default/b2", "1")
        }
        XCTAssertEqual(keys, [["a"], ["b"], ["c"]])
        XCTAssertEqual(timestamps.count, 1)
    }

    @SessionActor
    func testAListingKeepsToPrefixStartAndLimit() async throws {
        let world = World()
        let node = world.server()
        for id in ["a1", "a2", "a3", "b1"] { node.store.seed("default/\(id)", "1") }
        let app = try await world.client([node])
        let prefix = try await all(app.list(prefix: "a", as: Int.self)).map(\.key)
        XCTAssertEqual(prefix, ["a1", "a2", "a3"])
        let started = try await all(app.list(prefix: "a", start: "a2", as: Int.self)).map(\.key)
        XCTAssertEqual(started, ["a2", "a3"])
        let limited = try await all(app.list(limit: 2, as: Int.self)).map(\.key)
        XCTAssertEqual(limited, ["a1", "a2"])
        let none = try await all(app.list(limit: 0, as: Int.self))
        XCTAssertTrue(none.isEmpty)
        for (limit, pageSize) in [(nil, 0), (nil, 1001), (-1, 10)] as [(Int?, Int)] {
            let refused = await code { try await all(app.list(limit: limit, pageSize: pageSize, as: Int.self)) }
            XCTAssertEqual(refused, .invalidRequest)
        }
    }

    @SessionActor
    func testTheCacheIsReleasedWhenALoopOverAListingIsLeftEarly() async throws {
        let world = World()
        let node = world.server()
        for id in ["a", "b", "c"] { node.store.seed("default/\(id)", "1") }
        let app = try await world.client([node])
        try await app.set("own", 1)
        for try await _ in app.list(pageSize: 1, as: Int.self) { break }
        await settle()
        node.store.stabilise()
        _ = try await app.get("a", as: Int.self)
        let writes = await app.session.export().writes
        XCTAssertEqual(writes, [])
    }

    @SessionActor
    func testKeysOfAListingAreInTheOrderOfTheirUtf8Bytes() async throws {
        let world = World()
        let app = try await world.client([world.server()])
        try await app.set("\u{1f600}", 1)
        try await app.set("\u{ffee}", 2)
        let keys = try await all(app.list(as: Int.self)).map(\.key)
        XCTAssertEqual(keys, ["\u{ffee}", "\u{1f600}"])
    }
}
