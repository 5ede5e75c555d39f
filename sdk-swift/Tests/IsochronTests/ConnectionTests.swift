import IsochronSession
import XCTest

@testable import Isochron

final class ConnectionTests: XCTestCase, @unchecked Sendable {
    /// Reads `count` keys in one turn of the actor.
    @SessionActor
    private func readMany(_ app: IsochronClient, _ keys: [String]) async throws {
        let driver = app.lifetime.driver
        let readings = keys.map { key in
            Task { @SessionActor in try await driver.read(nil, ["default/\(key)"]) }
        }
        for reading in readings { _ = try await reading.value }
    }

    @SessionActor
    func testRequestsOfOneTurnArePackedIntoOneMessage() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        try await until("the ping") { node.received("ping").count == 1 }
        let before = node.packing.count
        try await readMany(app, (0..<20).map { "k\($0)" })
        XCTAssertEqual(Array(node.packing[before...]), [20])
    }

    @SessionActor
    func testRequestsBeyondTheCreditsAreSentAsAnswersArrive() async throws {
        let world = World()
        let node = world.server { $0.credits = 3 }
        let app = try await world.client([node])
        let counter = Locked((inFlight: 0, most: 0))
        node.script = { frame in
            guard frame.type == "read" else { return .answer }
            counter.change {
                $0.inFlight += 1
                $0.most = max($0.most, $0.inFlight)
            }
            let gate = Gate()
            Task { @SessionActor in
                await Task.yield()
                counter.change { $0.inFlight -= 1 }
                gate.open()
            }
            return .hold(gate)
        }
        try await readMany(app, (0..<20).map { "k\($0)" })
        XCTAssertEqual(node.received("read").count, 20)
        XCTAssertEqual(counter.get().most, 3)
    }

    @SessionActor
    func testATransactionIsOpenedWithASingleCredit() async throws {
        let world = World()
        let node = world.server { $0.credits = 1 }
        let app = try await world.client([node])
        let (_, write) = try await app.transaction { tx in
            try tx.set("a", try await tx.get("b", as: Int.self) ?? 1)
        }
        XCTAssertEqual(write?.timestamp, 1001)
        XCTAssertEqual(node.packing.max(), 1)
    }

    @SessionActor
    func testMessagesAreSplitAtTheSizeLimitOfTheServerAndALargerRequestIsRefused() async throws {
        let world = World()
        let node = world.server { $0.limits = ["maxRequestBytes": 2000] }
        let app = try await world.client([node])
        let padding = String(repeating: "k", count: 100)
        try await until("the ping") { node.received("ping").count == 1 }
        let before = node.packing.count
        try await readMany(app, (0..<30).map { "\(padding)\($0)" })
        XCTAssertGreaterThan(node.packing.count - before, 1)
        let refused = await code { try await app.set("a", String(repeating: "x", count: 3000)) }
        XCTAssertEqual(refused, .requestTooLarge)
        try await app.set("a", String(repeating: "x", count: 1000))
    }

    @SessionActor
    func testTheLimitsOfTheClusterAreCheckedBeforeARequestIsSent() async throws {
        let world = World()
        let node = world.server { $0.limits = ["maxKeyBytes": 8, "maxValueBytes": 10, "maxKeysPerRequest": 2] }
        let app = try await world.client([node])
        let refused: [(IsochronError.Code, @SessionActor () async throws -> Void)] = [
            (.keyInvalid, { _ = try await app.get("", as: Int.self) }),
            (.keyInvalid, { _ = try await app.get("123456789", as: Int.self) }),
            (.keyInvalid, { _ = try await app.get("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", as: Int.self) }),
            (.keyInvalid, { _ = try await app.collection("1234567", of: Int.self).get("1") }),
            (.keyInvalid, { _ = try await app.collection("c", of: Int.self).get("") }),
            (.tooManyKeys, { _ = try await app.getMany(["a", "b", "c"], as: Int.self) }),
            (
                .tooManyKeys,
                { _ = try await app.transaction { tx in for key in ["a", "b", "c"] { try tx.set(key, 1) } } }
            ),
            (.valueTooLarge, { try await app.set("a", String(repeating: "x", count: 9)) }),
            (.valueTooLarge, { try await app.set("a", "\u{20ac}\u{20ac}\u{20ac}") }),
            (.valueTooLarge, { try await app.set("a", [UInt8](repeating: 0, count: 11)) }),
            (.valueInvalid, { try await app.set("a", Double.nan) }),
            (.valueInvalid, { try await app.set("a", JSONValue.number(.infinity)) }),
        ]
        for (expected, body) in refused {
            let thrown = await code(body)
            XCTAssertEqual(thrown, expected)
        }
        XCTAssertEqual(node.received("read").count + node.received("commit").count, 0)
        try await app.set("12345678", "12345678")
        try await app.set("a", [UInt8](repeating: 0, count: 10))
    }

    @SessionActor
    func testAfterGoawayAnotherEndpointIsUsedAndTheOldOneAnswersItsRequests() async throws {
        let cluster = try await TwoRegions()
        let held = Gate()
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        home.script = { $0.type == "commit" ? .hold(held) : .answer }
        let write = start { try await app.set("a", 1) }
        try await until("the commit") { home.received("commit").count == 1 }
        home.push(["type": "goaway", "reason": "restart", "delayMs": 60000])
        let there = other.region
        try await status(of: app, "moved") { $0.region == there }
        _ = try await app.get("b", as: Int.self)
        XCTAssertEqual(other.received("read").count, 1)
        held.open()
        _ = try await write.value
        XCTAssertEqual(other.received("commit").count, 0)
        try await until("home is closed") { home.connections == 0 }
    }

    @SessionActor
    func testEndpointsOfTheWelcomeAreUsedWhenTheGivenOneIsGone() async throws {
        let (world, store) = (World(), FakeStore())
        let other = world.server(store) { $0.region = "oregon" }
        let node = world.server(store) { $0.regions = [("oregon", [other.url, "nonsense"])] }
        let app = try await world.client([node])
        node.stop()
        let value = try await app.get("a", as: Int.self)
        XCTAssertNil(value)
        let region = await app.currentStatus.region
        XCTAssertEqual(region, "oregon")
        XCTAssertEqual(other.received("hello").first?.text("token"), "virginia-1000")
    }

    @SessionActor
    func testAnEndpointOfAnotherClusterIsNotUsed() async throws {
        let world = World()
        let foreign = world.server {
            $0.cluster = "foreign"
            $0.region = "oregon"
        }
        let node = world.server { $0.regions = [("oregon", [foreign.url])] }
        let app = try await world.client([node]) { $0.requestTimeout = .milliseconds(60) }
        node.stop()
        let lost = await code { try await app.get("a", as: Int.self) }
        XCTAssertEqual(lost, .offline)
        XCTAssertEqual(foreign.received("read").count, 0)
    }

    @SessionActor
    func testTheClientReturnsToItsOnlyEndpointWithTheWaitingRequests() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        let states = Locked<[ClientStatus.State]>([])
        let following = Task {
            for await status in app.status {
                states.change { if $0.last != status.state { $0.append(status.state) } }
            }
        }
        try await until("followed") { states.get() == [.online] }
        node.cut()
        try await until("offline") { states.get() == [.online, .offline] || node.received("hello").count == 2 }
        try await until("back") { node.received("hello").count == 2 }
        _ = try await app.get("a", as: Int.self)
        await app.close()
        await following.value
        XCTAssertEqual(states.get().last, .closed)
    }

    @SessionActor
    func testTheStableTimeOfTheServerIsTakenAndShown() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node])
        try await app.set("a", 1)
        node.push(["type": "ust", "ust": 5000, "freshness": node.freshnessNow])
        try await status(of: app, "the stable time arrived") { $0.ust == 5000 }
        let writes = await app.session.export().writes
        XCTAssertEqual(writes, [])
    }
}

/// A cluster of two regions, and a client; `home` is the node of its connection.
@SessionActor
struct TwoRegions {
    let world = World()
    let store = FakeStore()
    let app: IsochronClient
    let home: FakeServer
    let other: FakeServer

    init(seeded: Bool = false, _ change: @SessionActor (inout ClientOptions) -> Void = { _ in }) async throws {
        if seeded {
            store.seed("default/a", "1")
            store.seed("default/b", "1")
        }
        let east = world.server(store)
        let west = world.server(store) { $0.region = "oregon" }
        app = try await world.client([east, west]) { change(&$0) }
        let region = await app.currentStatus.region
        (home, other) = region == "virginia" ? (east, west) : (west, east)
    }

    /// Another client changes both keys; the change is visible in every region.
    func overtake() {
        store.seed("default/a", "2")
        store.seed("default/b", "2")
    }
}
