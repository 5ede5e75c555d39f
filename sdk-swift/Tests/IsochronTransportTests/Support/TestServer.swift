import Foundation
import Testing

@testable import Isochron

extension TestServer {
    /// Tests are skipped without the server, but fail in continuous integration.
    static let isWanted = isStarted || ProcessInfo.processInfo.environment["CI"] != nil
    static let advice: Comment = "needs a server: node infra/swift/with-servers.mjs COMMAND starts it"

    /// The HTTP URL of a path.
    static func http(_ path: String) throws -> String {
        try description().url + path
    }
}

/// A transport of this platform, by name, with TLS or without.
struct WebSocketKind: Sendable, CustomTestStringConvertible {
    let name: String
    let isSecure: Bool
    let make: @Sendable (WebSocketLimits) throws -> any WebSocketTransport

    var testDescription: String { name }

    /// The WebSocket URL of a path.
    func url(_ path: String) throws -> String {
        try "ws" + httpURL(path).dropFirst("http".count)
    }

    /// The same as an HTTP URL.
    func httpURL(_ path: String) throws -> String {
        guard isSecure else { return try TestServer.http(path) }
        return "https://localhost:\(try TestServer.port("good"))\(path)"
    }

    #if canImport(Darwin)
        static let all = [
            WebSocketKind(name: "URLSession", isSecure: false) { FoundationWebSocketTransport(limits: $0) },
            WebSocketKind(name: "URLSession with TLS", isSecure: true) {
                FoundationWebSocketTransport(limits: $0, trust: try TLSTrust(pem: TestServer.description().tls.ca))
            },
        ]
    #else
        static let all = [
            WebSocketKind(name: "sockets", isSecure: false) { SocketWebSocketTransport(limits: $0) },
            WebSocketKind(name: "sockets with TLS", isSecure: true) {
                SocketWebSocketTransport(limits: $0, trust: try TLSTrust(pem: TestServer.description().tls.ca))
            },
        ]
    #endif
}

/// All tests with a network, one after the other: some of them count the descriptors of the process.
@Suite("With a network", .serialized, .timeLimit(.minutes(2)))
struct Networked {}
