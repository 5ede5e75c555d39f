import IsochronSession
import XCTest

@testable import Isochron

final class ConnectTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testTheEndpointWithTheShortestRoundTripIsKeptAndTheOthersAreClosed() async throws {
        let (world, store) = (World(), FakeStore())
        let far = world.server(store) { $0.region = "far" }
        let near = world.server(store) { $0.region = "near" }
        // The far one opens first, and takes long to answer; the near one opens only then, and answers at once.
        let (ping, hello) = (Gate(), Gate())
        far.script = { frame in
            guard frame.type == "ping" else { return .answer }
            Task { @SessionActor in
                try await Task.sleep(for: .milliseconds(40))
                hello.open()
                ping.open()
            }
            return .hold(ping)
        }
        near.script = { $0.type == "hello" ? .hold(hello) : .answer }
        let app = try await world.client([far, near])
        let status = await app.currentStatus
        XCTAssertEqual(status.state, .online)
        XCTAssertEqual(status.region, "near")
        XCTAssertEqual(status.node, "near-1")
        XCTAssertEqual(status.ust, 1000)
        XCTAssertGreaterThan(status.roundTrip ?? .zero, .zero)
        try await until("the far one is closed") { far.connections == 0 }
    }

    @SessionActor
    func testConnectUsesTheAnsweringEndpointWhenAnotherOneRefuses() async throws {
        let world = World()
        let (gone, node) = (world.server(), world.server())
        gone.stop()
        let app = try await world.client([gone, node])
        let state = await app.currentStatus.state
        XCTAssertEqual(state, .online)
    }

    @SessionActor
    func testConnectThrowsConnectionLostWithoutANodeAndElseTheRefusalOfTheCluster() async throws {
        let world = World()
        let (gone, node) = (world.server(), world.server())
        gone.stop()
        let lost = await code { try await world.client([gone]) }
        XCTAssertEqual(lost, .connectionLost)
        for refused in [IsochronError.Code.unauthenticated, .tokenForeign] {
            node.script = { _ in refusal(nil, refused.rawValue, retryable: false) }
            let thrown = await code { try await world.client([gone, node], token: "x") }
            XCTAssertEqual(thrown, refused)
        }
    }

    @SessionActor
    func testConnectRefusesAuthoritiesThatAreNoCertificatesOrBelongToAnotherTransport() async throws {
        let world = World()
        let node = world.server()
        for ca in ["", "no certificate"] {
            let refused = await code { try await world.client([node]) { ($0.transport, $0.ca) = (nil, ca) } }
            XCTAssertEqual(refused, .invalidRequest)
        }
        let both = await code { try await world.client([node]) { $0.ca = "-----BEGIN CERTIFICATE-----" } }
        XCTAssertEqual(both, .invalidRequest)
    }

    @SessionActor
    func testConnectThrowsTLSFailedOnlyIfNoOtherEndpointIsAccepted() async throws {
        let world = World()
        let (refused, node) = (world.server(), world.server())
        refused.script = { _ in .failTLS }
        let alone = await code { try await world.client([refused]) }
        XCTAssertEqual(alone, .tlsFailed)
        let app = try await world.client([refused, node])
        let state = await app.currentStatus.state
        XCTAssertEqual(state, .online)
    }

    @SessionActor
    func testConnectGivesUpASilentEndpoint() async throws {
        let world = World()
        let node = world.server()
        node.script = { _ in .drop }
        let lost = await code { try await world.client([node]) { $0.connectTimeout = .milliseconds(20) } }
        XCTAssertEqual(lost, .connectionLost)
        try await until("it is closed") { node.connections == 0 }
    }

    @SessionActor
    func testConnectGivesUpAnEndpointWithAnotherProtocol() async throws {
        let world = World()
        let node = world.server()
        node.subprotocol = "chat"
        let lost = await code { try await world.client([node]) }
        XCTAssertEqual(lost, .connectionLost)
    }

    @SessionActor
    func testACancelledConnectEndsWithCancellationError() async throws {
        let world = World()
        let node = world.server()
        node.script = { _ in .drop }
        let connecting = start { try await world.client([node]) }
        try await until("hello") { node.received("hello").count == 1 }
        connecting.cancel()
        let error = await thrown { try await connecting.value }
        XCTAssertTrue(error is CancellationError)
        try await until("it is closed") { node.connections == 0 }
    }

    @SessionActor
    func testTheFirstFrameHasTheTokenAndTheCredentialsAndTheUrlDoesNot() async throws {
        let world = World()
        let node = world.server()
        _ = try await world.client([node], token: "secret-token", credentials: "secret-key")
        XCTAssertEqual(node.frames.first?.type, "hello")
        XCTAssertEqual(node.frames.first?.text("token"), "secret-token")
        XCTAssertEqual(node.frames.first?.text("credentials"), "secret-key")
        XCTAssertTrue(world.network.servers.get().keys.allSatisfy { !$0.contains("secret") })
    }

    @SessionActor
    func testInvalidEndpointsAndInvalidNamesOfKeyspacesAreRefused() async throws {
        for endpoints in [[], ["nonsense"], ["ftp://host"], ["http://"], ["http://a b"], ["http://h:port"]] {
            let refused = await code { try await IsochronClient.connect(endpoints: endpoints) }
            XCTAssertEqual(refused, .invalidRequest, "\(endpoints)")
        }
        let world = World()
        let app = try await world.client([world.server()])
        for name in ["", "a/b"] {
            let unknown = await code { try await app.keyspace(name).get("a", as: Int.self) }
            XCTAssertEqual(unknown, .keyspaceUnknown)
        }
        let nameless = await code { try await app.collection("", of: Int.self).get("a") }
        XCTAssertEqual(nameless, .keyInvalid)
        let unnamed = await code { try await world.client([world.server()]) { $0.keyspace = "a/b" } }
        XCTAssertEqual(unnamed, .keyspaceUnknown)
    }

    func testTheSessionAddressIsMadeFromABaseUrl() {
        XCTAssertEqual(SessionURL.of("https://eu.example/"), "wss://eu.example/v1/session")
        XCTAssertEqual(SessionURL.of("http://h:1/base"), "ws://h:1/base/v1/session")
        XCTAssertEqual(SessionURL.of("wss://h/v1/session"), "wss://h/v1/session")
        XCTAssertEqual(SessionURL.of("HTTP://u:p@Host:80/a//?q#f"), "ws://host:80/a/v1/session")
        XCTAssertEqual(SessionURL.of("ws://[::1]:7101"), "ws://[::1]:7101/v1/session")
        for wrong in ["", ":", "://", "http:/h", "http://:80", "ws://h:99999", "http://h\u{0}"] {
            XCTAssertNil(SessionURL.of(wrong), wrong)
        }
    }

    @SessionActor
    func testAnUnreferencedClientClosesItself() async throws {
        let world = World()
        let node = world.server()
        var todos: DocumentCollection<Int>? = try await world.client([node]).collection("todos", of: Int.self)
        // Objects that were made from it hold it, too.
        _ = try await todos?.get("1")
        XCTAssertEqual(node.connections, 1)
        todos = nil
        try await until("it is closed") { node.connections == 0 }
    }
}
