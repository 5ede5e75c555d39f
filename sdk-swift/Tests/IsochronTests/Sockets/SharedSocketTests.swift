import IsochronSession
import XCTest

@testable import Isochron

/// The sessions of a process on shared sockets.
final class SharedSocketTests: XCTestCase, @unchecked Sendable {
    private let world = World()
    private lazy var network = SharedNetwork(world.network)
    private lazy var pool = SocketPool(network)

    @SessionActor
    func testSessionsThatConnectAtTheSameTimeOpenAndShareOneSocket() async throws {
        let node = world.server()
        var apps = try await clients(10, [node])
        apps.append(try await client([node]))
        XCTAssertEqual(network.sockets.get().count, 1)
        XCTAssertEqual(node.connections, 11)
        for (i, app) in apps.enumerated() { try await app.set("k\(i)", i) }
        for (i, app) in apps.enumerated() {
            let value = try await app.get("k\(i)", as: Int.self)
            XCTAssertEqual(value, i)
        }
        XCTAssertEqual(network.sockets.get().first?.opened, Array(1...11))
    }

    @SessionActor
    func testSessionsWithDifferentCredentialsShareNoSocket() async throws {
        let node = world.server()
        var apps: [IsochronClient] = []
        for credentials in ["one", "two", "one", nil] {
            apps.append(try await client([node], credentials: credentials))
        }
        XCTAssertEqual(network.sockets.get().map(\.channels), [2, 1, 1])
    }

    @SessionActor
    func testSessionsWithATransportOfTheirOwnHaveSocketsOfTheirOwn() async throws {
        let node = world.server()
        var apps: [IsochronClient] = []
        for _ in 0..<3 { apps.append(try await world.client([node]) { $0.transport = self.network }) }
        XCTAssertEqual(network.sockets.get().count, 0)
        XCTAssertEqual(node.connections, apps.count)
    }

    @SessionActor
    func testEachSessionHasItsOwnSocketAtAServerWithoutSharedSockets() async throws {
        let node = world.server()
        network.isShared.set(false)
        var apps = try await clients(4, [node])
        apps.append(try await client([node]))
        XCTAssertEqual(node.connections, 5)
        XCTAssertEqual(world.network.opened.get(), 5)
        for app in apps { try await app.set("a", 1) }
        // It may be another server when it is back.
        node.cut()
        for app in apps {
            let value = try await app.get("a", as: Int.self)
            XCTAssertEqual(value, 1)
        }
    }

    @SessionActor
    func testEachConnectionFailsOnceWhenItsSharedSocketCannotBeOpened() async throws {
        let gone = world.server()
        gone.stop()
        let connecting = (0..<3).map { _ in start { try await self.client([gone]) } }
        for app in connecting {
            let code = await code(of: app)
            XCTAssertEqual(code, .connectionLost)
        }
        XCTAssertEqual(network.open.count, 0)
    }

    @SessionActor
    func testAfterTheLossOfASharedSocketEachSessionContinuesElsewhereWithItsTransactions() async throws {
        let store = FakeStore()
        let (first, second) = (world.server(store), world.server(store) { $0.region = "oregon" })
        // It is the nearer of the two only after the first has gone.
        second.script = { [first] frame in
            frame.type == "hello" && first.isListening ? refusal(nil, "NOT_READY", retryable: true) : .answer
        }
        let apps = try await clients(5, [first, second])
        for app in apps { try await app.set("a", 1) }
        let (begun, goOn) = (Locked(0), Gate())
        let results = apps.enumerated().map { i, app in
            start {
                try await app.transaction { tx in
                    let before = try await tx.get("a", as: Int.self)
                    begun.change { $0 += 1 }
                    await goOn.wait()
                    try tx.set("k\(i)", before ?? 0)
                }
            }
        }
        try await until("all have begun") { begun.get() == apps.count }
        for socket in network.open { socket.end(nil, "gone") }
        first.stop()
        for app in apps { try await status(of: app, "it is in Oregon") { $0.region == "oregon" } }
        goOn.open()
        for result in results { _ = try await result.value }
        XCTAssertEqual(second.received("commit").count, 5)
        XCTAssertEqual(network.open.count, 1)
        XCTAssertEqual(network.open.first?.channels, 5)
    }

    @SessionActor
    func testASessionThatItsServerClosesEndsAlone() async throws {
        let node = world.server()
        let (ended, other) = (try await client([node]), try await client([node]))
        var closed = false
        node.script = { frame in
            guard frame.type == "read", frame.texts("keys") == ["default/end"], !closed else { return .answer }
            closed = true
            return .close
        }
        _ = try await ended.get("end", as: Int.self)
        _ = try await other.get("a", as: Int.self)
        XCTAssertEqual(node.received("hello").count, 3)
        XCTAssertEqual(network.sockets.get().map(\.opened), [[1, 2, 3]])
    }

    @SessionActor
    func testRequestsOfAllSessionsInATurnLeaveInOneMessage() async throws {
        let node = world.server()
        let apps = try await clients(8, [node])
        try await until("their round trips are measured") { node.received("ping").count == 8 }
        await settle()
        let socket = try XCTUnwrap(network.open.first)
        let before = socket.messages
        for app in apps { app.lifetime.driver.step(.network) }
        try await until("all have pinged") { node.received("ping").count == 16 }
        XCTAssertEqual(socket.messages - before, 1)
    }

    @SessionActor
    func testAllSessionsLeaveASilentSocketForOneNewSocket() async throws {
        let node = world.server()
        let apps = try await clients(3, [node]) { $0.requestTimeout = .milliseconds(400) }
        let dead = try XCTUnwrap(network.open.first)
        dead.isDead.set(true)
        let reads = apps.map { app in start { try? await app.get("a", as: Int.self) } }
        for read in reads { _ = await read.result }
        let network = network
        try await until("all are on a new socket") { !dead.isOpen && network.open.map(\.channels) == [3] }
        for app in apps { _ = try await app.get("a", as: Int.self) }
    }

    @SessionActor
    func testSessionsConnectAgainAfterAServerHasBrokenTheRulesOfSharedSockets() async throws {
        let node = world.server()
        let apps = try await clients(3, [node])
        let bad: [WebSocketMessage] = [.text("[]"), .binary([3]), .binary([9, 0, 0, 0, 1, 0, 0, 0, 0])]
        for (i, message) in bad.enumerated() {
            let socket = try XCTUnwrap(network.open.first)
            socket.deliver(.messages([message]))
            try await until("the socket is cut") { !socket.isOpen }
            for app in apps { _ = try await app.get("a", as: Int.self) }
            XCTAssertEqual(network.sockets.get().count, i + 2)
            XCTAssertEqual(network.open.map(\.channels), [3])
        }
    }

    @SessionActor
    func testASharedSocketIsClosedWithItsLastSession() async throws {
        let node = world.server()
        let apps = try await clients(3, [node])
        let socket = try XCTUnwrap(network.open.first)
        for (i, app) in apps.enumerated() {
            XCTAssertTrue(socket.isOpen)
            await app.close()
            XCTAssertEqual(socket.channels, 2 - i)
        }
        XCTAssertEqual(socket.closeCode, 1000)
        _ = try await client([node])
        XCTAssertEqual(network.sockets.get().count, 2)
    }

    @SessionActor
    func testASessionEndsWithoutTheAnswerOfASilentServer() async throws {
        let node = world.server()
        let apps = try await clients(2, [node])
        let socket = try XCTUnwrap(network.open.first)
        socket.isDead.set(true)
        for app in apps { await app.close() }
        XCTAssertFalse(socket.isOpen)
    }

    @SessionActor
    private func client(
        _ servers: [FakeServer], credentials: String? = nil, _ change: (inout ClientOptions) -> Void = { _ in }
    ) async throws -> IsochronClient {
        let pool = self.pool
        return try await world.client(servers, credentials: credentials) { options in
            options.transport = nil
            options.socketPool = pool
            change(&options)
        }
    }

    /// Runs `count` of them at the same time.
    @SessionActor
    private func clients(
        _ count: Int, _ servers: [FakeServer], _ change: @escaping @Sendable (inout ClientOptions) -> Void = { _ in }
    ) async throws -> [IsochronClient] {
        let connecting = (0..<count).map { _ in start { try await self.client(servers, change) } }
        var clients: [IsochronClient] = []
        for one in connecting { clients.append(try await one.value) }
        return clients
    }
}
