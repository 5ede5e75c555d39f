import Foundation

/// The server of `test/swift-server/echo-server.mjs`, started outside of the tests: the environment describes it.
enum TestServer {
    /// What the server has printed at its start.
    struct Description: Decodable, Sendable {
        let url: String
        let tls: Listeners
    }

    /// The listeners with TLS.
    struct Listeners: Decodable, Sendable {
        /// The authority of their certificates, in PEM; the system accepts it, too.
        let ca: String
        /// An authority that only one of them has a certificate of.
        let otherCa: String
        let ports: [String: Int]
    }

    struct Missing: Error {}

    static var isStarted: Bool { text != nil }

    private static var text: String? { ProcessInfo.processInfo.environment["ISOCHRON_TEST_SERVER"] }

    /// Throws `Missing` without a server.
    static func description() throws -> Description {
        guard let text else { throw Missing() }
        return try JSONDecoder().decode(Description.self, from: Data(text.utf8))
    }

    /// The port of a listener with TLS.
    static func port(_ listener: String) throws -> Int {
        guard let port = try description().tls.ports[listener] else { throw Missing() }
        return port
    }
}
