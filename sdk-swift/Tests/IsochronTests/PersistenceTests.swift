import Foundation
import IsochronSession
import XCTest

@testable import Isochron

/// Keeps saved sessions in memory, with a hook for tests.
private actor MemoryStore: SessionStore {
    private(set) var saved: [ExportedSession] = []
    private var onSave: @Sendable () async throws -> Void = {}

    func load() async throws -> ExportedSession? { saved.last }

    func save(_ session: ExportedSession) async throws {
        try await onSave()
        saved.append(session)
    }

    func set(_ onSave: @escaping @Sendable () async throws -> Void) { self.onSave = onSave }
}

final class PersistenceTests: XCTestCase, @unchecked Sendable {
    private struct Full: Error {}

    private func folder() throws -> URL {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("isochron-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    @SessionActor
    func testAnAppThatWasKilledReadsItsOwnWritesOnItsNextLaunch() async throws {
        let (world, store) = (World(), FakeStore())
        let file = FileSessionStore(url: try folder().appendingPathComponent("session.json"))
        let first = try await world.client([world.server(store)], store: file)
        try await first.set("a", 1)
        // The process ends here: the first client is not used any more.
        let west = world.server(store) { $0.region = "oregon" }
        let second = try await world.client([west], store: file)
        let value = try await second.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        XCTAssertEqual(west.received("hello").first?.text("token"), "virginia-w1001")
        await first.close()
    }

    @SessionActor
    func testATokenIsRefusedTogetherWithAStoreOrASession() async throws {
        let (world, store) = (World(), MemoryStore())
        let node = world.server()
        let session = try await world.client([node]).session.export()
        let stored = await code { try await world.client([node], token: "virginia-w1001", store: store) }
        XCTAssertEqual(stored, .invalidRequest)
        let given = await code { try await world.client([node], session: session, token: "virginia-w1001") }
        XCTAssertEqual(given, .invalidRequest)
        let saved = await store.saved
        XCTAssertEqual(saved, [])
    }

    @SessionActor
    func testAWriteIsSavedBeforeItReturnsAndTheNextOneDoesNotWaitForTheSave() async throws {
        let (world, store, gate) = (World(), MemoryStore(), Gate())
        let node = world.server()
        let app = try await world.client([node], store: store)
        await store.set { await gate.wait() }
        let returned = Locked(0)
        let writes = ["a", "b", "c"].map { key in
            start {
                try await app.set(key, 1)
                returned.change { $0 += 1 }
            }
        }
        try await until("all are committed") { node.store.outcomes.count == 3 }
        await settle()
        XCTAssertEqual(returned.get(), 0)
        gate.open()
        for write in writes { try await write.value }
        let saved = await store.saved
        XCTAssertEqual(saved.last?.hwt, 1003)
        XCTAssertEqual(saved.last?.writes.count, 3)
        // Changes during one save share the next.
        XCTAssertLessThanOrEqual(saved.count, 3)
    }

    @SessionActor
    func testAWriteThatCannotBeSavedHasAnErrorOfItsOwn() async throws {
        let (world, store) = (World(), MemoryStore())
        let node = world.server()
        let app = try await world.client([node], store: store)
        await store.set { throw Full() }
        let failure = await thrown { try await app.set("a", 1) }
        let error = try XCTUnwrap(failure as? IsochronError)
        XCTAssertEqual(error.code, .storageFailed)
        XCTAssertFalse(error.retryable)
        XCTAssertEqual(error.txId, node.received("commit").first?.text("tx"))
        XCTAssertTrue(error.cause is Full)
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        let unsaved = await thrown { try await app.save() }
        XCTAssertTrue(unsaved is Full)
        await store.set {}
        try await app.save()
        let saved = await store.saved
        XCTAssertEqual(saved.last?.writes.count, 1)
    }

    @SessionActor
    func testAStoreThatNeverAnswersDelaysCallsForALimitedTime() async throws {
        let (world, store, gate) = (World(), MemoryStore(), Gate())
        let app = try await world.client([world.server()], store: store) { $0.requestTimeout = .milliseconds(50) }
        await store.set { await gate.wait() }
        let slow = await code { try await app.set("a", 1) }
        XCTAssertEqual(slow, .storageFailed)
        await app.close()
        gate.open()
    }

    @SessionActor
    func testChangesByReadsAreSavedALittleLaterAndByClose() async throws {
        let (world, store, timing) = (World(), MemoryStore(), ManualTiming())
        let app = try await world.client([world.server()], store: store) { $0.timing = timing }
        await timing.advance(999)
        let early = await store.saved
        XCTAssertEqual(early, [])
        await timing.advance(2)
        try await Task.sleep(for: .milliseconds(20))
        let later = await store.saved
        XCTAssertEqual(later.map(\.ust), [1000])
        _ = app
    }

    func testTheFileOfASessionIsPrivateAndReplacedAsAWhole() async throws {
        let folder = try folder()
        let url = folder.appendingPathComponent("session.json")
        let store = FileSessionStore(url: url)
        let none = try await store.load()
        XCTAssertNil(none)
        for ust in [1, 2, 3] as [Int64] {
            let session = ExportedSession(token: "é\u{0}\"", ust: ust, hwt: 0)
            try await store.save(session)
            let loaded = try await store.load()
            XCTAssertEqual(loaded, session)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        XCTAssertEqual((attributes[.posixPermissions] as? NSNumber)?.intValue, 0o600)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path), ["session.json"])
        try await store.remove()
        try await store.remove()
        let gone = try await store.load()
        XCTAssertNil(gone)
    }

    @SessionActor
    func testADamagedOrUnusableFileIsATypedError() async throws {
        let folder = try folder()
        let url = folder.appendingPathComponent("session.json")
        let (world, store) = (World(), FileSessionStore(url: url))
        let node = world.server()
        for damaged in [Data(), Data("{".utf8), Data([0xFF, 0xFE]), Data(#"{"version":9}"#.utf8)] {
            try damaged.write(to: url)
            let refused = await code { try await world.client([node], store: store) }
            XCTAssertEqual(refused, .tokenInvalid)
        }
        XCTAssertEqual(node.frames.count, 0)
        try await store.remove()
        _ = try await world.client([node], store: store)
        let unreadable = await code { try await FileSessionStore(url: folder).load() }
        XCTAssertEqual(unreadable, .storageFailed)
        let nowhere = FileSessionStore(url: folder.appendingPathComponent("no/session.json"))
        let unwritable = await code { try await nowhere.save(ExportedSession(token: "t", ust: 0, hwt: 0)) }
        XCTAssertEqual(unwritable, .storageFailed)
    }
}
