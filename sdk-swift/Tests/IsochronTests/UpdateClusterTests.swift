import Foundation
import IsochronSession
import XCTest

@testable import Isochron

/// Updates and claims of sessions in two regions of a running cluster, see `ClusterTests`.
final class UpdateClusterTests: XCTestCase, @unchecked Sendable {
    /// Keys that no other run uses.
    private let run = "swift-\(UUID().uuidString)"

    /// A client in each of two regions, and one in the last region that reads.
    private func clients() async throws -> (one: IsochronClient, two: IsochronClient, reader: IsochronClient) {
        let endpoints = try clusterEndpoints()
        guard endpoints.count > 1 else { throw XCTSkip("the cluster has one region") }
        return (
            try await IsochronClient.connect(endpoints: [endpoints[0]]),
            try await IsochronClient.connect(endpoints: [endpoints[1]]),
            try await IsochronClient.connect(endpoints: [endpoints[endpoints.count - 1]])
        )
    }

    private func close(_ clients: (one: IsochronClient, two: IsochronClient, reader: IsochronClient)) async {
        for client in [clients.one, clients.two, clients.reader] { await client.close() }
    }

    func testTwoSessionsInTwoRegionsThatUpdateDifferentFieldsKeepBothEdits() async throws {
        let all = try await clients()
        let key = "\(run)-edits"
        try await all.one.set(key, ["title": "draft", "tags": ["a"]] as JSONValue).stable()
        async let first = all.one.update(key, ["title": "final"])
        async let second = all.two.update(key, [.set("/owner", "ann"), .arrayUnion("/tags", ["a", "b"])])
        for write in try await [first, second] { try await write.stable() }
        let whole: JSONValue = ["title": "final", "owner": "ann", "tags": ["a", "b"]]
        for client in [all.one, all.two, all.reader] {
            let read = try await client.get(key, as: JSONValue.self)
            XCTAssertEqual(read, whole)
        }
        await close(all)
    }

    func testTwentyIncrementsInEachOfTwoRegionsGiveForty() async throws {
        let all = try await clients()
        let key = "\(run)-count"
        let writes = try await withThrowingTaskGroup(of: Write.self) { group in
            for client in [all.one, all.two] {
                for _ in 0..<20 { group.addTask { try await client.update(key, [.increment("/n", by: 1)]) } }
            }
            return try await group.reduce(into: [Write]()) { $0.append($1) }
        }
        for write in writes { try await write.stable() }
        for client in [all.one, all.two, all.reader] {
            let read = try await client.get(key, as: [String: Int].self)
            XCTAssertEqual(read, ["n": 40])
        }
        await close(all)
    }

    func testASessionSeesItsOwnUpdatesInTheTransactionAndAfterItEachOnce() async throws {
        let all = try await clients()
        let key = "\(run)-own"
        try await all.two.set(key, ["n": 1]).stable()
        let (inside, write) = try await all.one.transaction { tx in
            try tx.update(key, [.increment("/n", by: 4), .serverTimestamp("/at")])
            try await tx.update(key, ["title": "x"])
            return try await tx.get(key, as: JSONValue.self)
        }
        XCTAssertEqual(inside, ["n": 5, "at": nil, "title": "x"])
        try await all.one.update(key, [.increment("/n", by: 10)])
        let after = try await all.one.get(key, as: JSONValue.self)
        XCTAssertEqual(after?["n"], 15)
        XCTAssertNotEqual(after?["at"], .some(.null))
        try await write?.stable()
        let exported = await all.one.session.export()
        let moved = try await IsochronClient.connect(
            endpoints: [clusterEndpoints()[1]], session: try ExportedSession(json: exported.json))
        let there = try await moved.get(key, as: JSONValue.self)
        XCTAssertEqual(there, after)
        await moved.close()
        await close(all)
    }

    func testOfTwoClaimsInTwoRegionsExactlyOneWinsAndBothNameTheWinner() async throws {
        let all = try await clients()
        for round in 0..<3 {
            let key = "\(run)-name-\(round)"
            async let first = all.one.claim(key, ["user": 1])
            async let second = all.two.claim(key, ["user": 2])
            let claims = try await [first, second]
            XCTAssertEqual(claims.filter(\.won).count, 1)
            let winner = ["user": claims[0].won ? 1 : 2]
            XCTAssertEqual(claims.map(\.value), [winner, winner])
            let late = try await all.reader.claim(key, ["user": 3])
            XCTAssertFalse(late.won)
            XCTAssertEqual(late.value, winner)
        }
        await close(all)
    }
}
