import Foundation
import Testing

@testable import Isochron

/// The server of `test/swift-server/echo-server.mjs`, started outside of the tests: its URL is in the environment.
enum TestServer {
    /// Tests are skipped without the server, but fail in continuous integration.
    static let isWanted = address != nil || environment["CI"] != nil
    static let advice: Comment = "needs a server: node infra/swift/with-servers.mjs COMMAND starts it"

    private static let environment = ProcessInfo.processInfo.environment
    private static let address = environment["ISOCHRON_TEST_SERVER"]

    struct Missing: Error {}

    /// The HTTP URL of a path.
    static func http(_ path: String) throws -> String {
        guard let address else { throw Missing() }
        return address + path
    }

    /// The WebSocket URL of a path.
    static func webSocket(_ path: String) throws -> String {
        try "ws" + http(path).dropFirst("http".count)
    }
}

/// A transport of this platform, by name.
struct WebSocketKind: Sendable, CustomTestStringConvertible {
    let name: String
    let make: @Sendable (WebSocketLimits) -> any WebSocketTransport

    var testDescription: String { name }

    #if canImport(Darwin)
        static let all = [WebSocketKind(name: "URLSession") { FoundationWebSocketTransport(limits: $0) }]
    #else
        static let all = [WebSocketKind(name: "sockets") { SocketWebSocketTransport(limits: $0) }]
    #endif
}

/// All tests with a network, one after the other: some of them count the descriptors of the process.
@Suite("With a network", .serialized, .timeLimit(.minutes(2)))
struct Networked {}
