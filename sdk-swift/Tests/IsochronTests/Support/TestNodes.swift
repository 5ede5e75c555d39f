import Foundation
import XCTest

@testable import Isochron

/// The nodes of `test/swift-server/nodes.mjs`, started outside of the tests: they accept the tokens of one issuer alone,
/// and follow the rules of `test/swift-server/rules.yaml`. The environment describes them.
struct TestNodes: Decodable, Sendable {
    /// One of each region.
    let endpoints: [String]
    /// URL of the issuer.
    private let issuer: String

    /// Skips the test without them.
    static func started() throws -> TestNodes {
        guard let text = ProcessInfo.processInfo.environment["ISOCHRON_TEST_NODES"] else {
            throw XCTSkip("no ISOCHRON_TEST_NODES: node infra/swift/with-servers.mjs COMMAND starts them")
        }
        return try JSONDecoder().decode(TestNodes.self, from: Data(text.utf8))
    }

    /// A token of a user that expires after this time.
    func token(_ user: String, life: Duration = .seconds(3600)) async throws -> String {
        try await get("/token?user=\(user)&seconds=\(life.inMs / 1000)")
    }

    /// A token of a key that is not the issuer's.
    func forgedToken(_ user: String) async throws -> String { try await get("/forged?user=\(user)") }

    /// A client of the node in one of the regions.
    func client(_ user: String, region: Int = 0) async throws -> IsochronClient {
        try await IsochronClient.connect(endpoints: [endpoints[region]], credentials: try await token(user))
    }

    private func get(_ path: String) async throws -> String {
        let answer = try await Transports.http.send(HTTPRequest(url: issuer + path))
        guard answer.status == 200 else { throw Impatient(description: "the issuer answered \(answer.status)") }
        return String(decoding: answer.body, as: UTF8.self)
    }
}
