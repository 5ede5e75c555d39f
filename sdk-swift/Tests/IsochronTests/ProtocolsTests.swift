import IsochronSession
import XCTest

@testable import Isochron

final class ProtocolsTests: XCTestCase, @unchecked Sendable {
    private static let snapshots = ["transactions", "list", "stable", "snapshots", "read-past"]

    private static func cure(_ options: inout FakeOptions) {
        options.protocol = "cure"
        options.capabilities = snapshots
    }

    @SessionActor
    func testEveryProtocolHasASessionOfItsOwn() async throws {
        for name in sessionProtocols {
            let world = World()
            let operations = if case .operations? = sessionKind(protocol: name) { true } else { false }
            let app = try await world.client([
                world.server {
                    $0.protocol = name
                    $0.capabilities = operations ? ["operations", "rot", "stable"] : Self.snapshots
                }
            ])
            try await app.set("a", 1)
            let exported = await app.session.export()
            XCTAssertEqual(exported.protocolName, name)
        }
    }

    @SessionActor
    func testAnUnknownProtocolIsRefused() async throws {
        for name in ["raft", "toString", ""] {
            let world = World()
            let refused = await code { try await world.client([world.server { $0.protocol = name }]) }
            XCTAssertEqual(refused, .notSupportedByProtocol)
        }
    }

    @SessionActor
    func testAnEndpointThatRunsAnotherProtocolIsNotUsed() async throws {
        let (world, store) = (World(), FakeStore())
        let west = world.server(store) {
            $0.region = "oregon"
            $0.protocol = "bpr"
        }
        let east = world.server(store) { $0.regions = [("oregon", [west.url])] }
        let app = try await world.client([east]) { $0.requestTimeout = .milliseconds(200) }
        _ = try await app.get("a", as: Int.self)
        east.stop()
        let lost = await code { try await app.get("a", as: Int.self) }
        XCTAssertEqual(lost, .offline)
        XCTAssertGreaterThan(west.received("hello").count, 0)
        XCTAssertEqual(west.received("read").count, 0)
    }

    @SessionActor
    func testATransactionContinuesElsewhereWithAllEntriesOfItsSnapshot() async throws {
        let world = World()
        let store = FakeStore(deps: [1000, 900])
        let node = world.server(store, Self.cure)
        let app = try await world.client([node])
        try await app.transaction { tx in
            _ = try await tx.get("a", as: Int.self)
            Self.move(store, node)
            _ = try await tx.get("b", as: Int.self)
            try tx.set("c", 1)
        }
        XCTAssertEqual(node.received("start").map { $0.number("at") }, [nil, 1000])
        XCTAssertEqual(node.received("start").map { $0.numbers("deps") }, [nil, [1000, 900]])
        // It is no longer open under its own id: the commit carries what it depends on, the new welcome's entries too.
        XCTAssertEqual(node.received("commit").first?.number("snapshot"), 1000)
        XCTAssertEqual(node.received("commit").first?.numbers("deps"), [1500, 1500])
    }

    @SessionActor
    private static func move(_ store: FakeStore, _ node: FakeServer) {
        store.deps = [1500, 1500]
        node.cut()
    }

    @SessionActor
    func testSnapshotsAreEqualOnlyIfAllTheirEntriesAre() async throws {
        let world = World()
        let node = world.server(FakeStore(deps: [1000, 900]), Self.cure)
        let app = try await world.client([node]) { $0.requestTimeout = .milliseconds(200) }
        let snapshot = try await app.snapshot()
        node.script = { frame in
            guard frame.type == "read" else { return .answer }
            return .frame([
                "type": "values", "id": .integer(frame.id), "snapshot": 1000, "deps": [1000, 901], "values": [nil],
            ])
        }
        let refused = await code { try await snapshot.get("a", as: Int.self) }
        XCTAssertEqual(refused, .snapshotUnavailable)
    }

    @SessionActor
    func testOneShotWritesCarryTheSnapshotThatTheSessionHasSeen() async throws {
        let world = World()
        let node = world.server(FakeStore(deps: [1000, 900]), Self.cure)
        let app = try await world.client([node])
        let write = try await app.set("a", 1)
        try await app.set("a", 2)
        XCTAssertEqual(node.received("commit").map { $0.number("snapshot") }, [1000, write.timestamp])
        XCTAssertEqual(node.received("commit").map { $0.numbers("deps") }, [[1000, 900], [1000, 900]])
    }

    @SessionActor
    func testFramesOfASessionOfParisHaveNoEntriesBesideTheTimestamp() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        try await app.transaction { tx in
            _ = try await tx.get("a", as: Int.self)
            try tx.set("a", 1)
        }
        _ = try await all(app.list(as: Int.self))
        XCTAssertTrue(node.frames.allSatisfy { $0["deps"] == nil })
        let json = await app.session.export().json
        XCTAssertFalse(json.contains("deps") || json.contains("protocol") || json.contains("seen"))
    }

    @SessionActor
    func testASessionOfAnotherProtocolIsRefusedBeforeARequestIsSent() async throws {
        let world = World()
        let cure = world.server(FakeStore(deps: [1000, 900]), Self.cure)
        let paris = world.server()
        let exported = try await world.client([cure]).session.export()
        XCTAssertEqual(exported.deps, [1000, 900])
        let refused = await thrown { try await world.client([paris], session: exported) } as? IsochronError
        XCTAssertEqual(refused?.code, .tokenInvalid)
        XCTAssertTrue(refused?.message.contains("protocol cure") == true)
        XCTAssertEqual(paris.received("read").count, 0)
        let again = try await world.client([cure], session: exported)
        try await again.set("a", 1)
        XCTAssertEqual(cure.received("commit").last?.numbers("deps"), [1000, 900])
    }

    @SessionActor
    func testStableWaitsForTheStableTimeAndNotForTheSeenSnapshot() async throws {
        let world = World()
        let node = world.server {
            $0.protocol = "bpr"
            $0.capabilities = Self.snapshots
        }
        let app = try await world.client([node])
        let write = try await app.set("a", 1)
        let ust = await app.currentStatus.ust
        XCTAssertEqual(ust, write.timestamp)
        let early = await code { try await write.stable(timeout: .milliseconds(5)) }
        XCTAssertEqual(early, .stableTimeout)
        node.store.stabilise()
        try await write.stable()
        // It is known by now.
        let asked = node.received("stable").count
        try await write.stable()
        XCTAssertEqual(node.received("stable").count, asked)
    }

    @SessionActor
    func testCommitsOfANewSessionAreNotOlderThanTheStableTimeOfTheirNode() async throws {
        let world = World()
        let node = world.server {
            $0.protocol = "wren"
            $0.capabilities = Self.snapshots
        }
        node.welcome = ["ust": 0, "stable": 1000]
        let app = try await world.client([node])
        try await app.set("a", 1)
        XCTAssertEqual(node.received("commit").first?.number("snapshot"), 0)
        XCTAssertEqual(node.received("commit").first?.number("sentAfter"), 1000)
    }

    @SessionActor
    func testAProtocolWithoutSnapshotsRefusesThemAndItsTransactionsContinueElsewhere() async throws {
        let world = World()
        let node = world.server {
            $0.protocol = "nocc"
            $0.capabilities = ["transactions", "list", "stable"]
        }
        let app = try await world.client([node])
        let refused = await code { try await app.snapshot() }
        XCTAssertEqual(refused, .notSupportedByProtocol)
        let (value, _) = try await app.transaction { tx in
            _ = try await tx.get("a", as: Int.self)
            node.store.seed("default/b", "7")
            node.cut()
            return try await tx.get("b", as: Int.self)
        }
        XCTAssertEqual(value, 7)
        XCTAssertEqual(node.received("start").map { $0["at"] == nil }, [true, true])
    }
}
