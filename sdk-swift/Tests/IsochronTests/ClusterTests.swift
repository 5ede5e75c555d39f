import Foundation
import IsochronSession
import XCTest

@testable import Isochron

/// Against a running cluster: `ISOCHRON_CLUSTER=http://127.0.0.1:7101,http://127.0.0.1:7111 swift test`.
final class ClusterTests: XCTestCase, @unchecked Sendable {
    /// Keys that no other run uses.
    private let run = "swift-\(UUID().uuidString)"

    func testADocumentIsWrittenReadListedPatchedAndDeleted() async throws {
        let client = try await IsochronClient.connect(endpoints: try clusterEndpoints())
        let documents = client.collection(run, of: JSONValue.self)
        for id in ["a", "b", "c"] { try await documents.set(id, ["id": .string(id), "n": 1]) }
        try await documents.update("b", ["n": 2, "note": "patched"])
        try await documents.delete("c")
        try await client.set("\(run)-bytes", (0...255).map { UInt8($0) })
        let b = try await documents.get("b")
        XCTAssertEqual(b, ["id": "b", "n": 2, "note": "patched"])
        let many = try await documents.getMany(["a", "c"])
        XCTAssertEqual(many, [["id": "a", "n": 1], nil])
        let bytes = try await client.get("\(run)-bytes", as: Data.self)
        XCTAssertEqual(bytes, Data((0...255).map { UInt8($0) }))
        var listed: [String] = []
        for try await entry in documents.list(pageSize: 1) { listed.append(entry.key) }
        XCTAssertEqual(listed, ["a", "b"])
        await client.close()
    }

    func testATransactionIsVisibleInEveryRegionOnceItIsStable() async throws {
        let endpoints = try clusterEndpoints()
        let client = try await IsochronClient.connect(endpoints: endpoints)
        let prefix = run
        let (_, write) = try await client.transaction { tx in
            let before = try await tx.getMany(["\(prefix)-x", "\(prefix)-y"], as: Int.self)
            XCTAssertEqual(before, [nil, nil])
            try tx.set("\(prefix)-x", 1)
            try tx.set("\(prefix)-y", 2)
        }
        let committed = try XCTUnwrap(write)
        let outcome = try await client.transactionStatus(txId: committed.txId)
        XCTAssertEqual(outcome, TransactionStatus(state: .committed, timestamp: committed.timestamp))
        try await committed.stable()
        for endpoint in endpoints {
            let other = try await IsochronClient.connect(endpoints: [endpoint])
            let snapshot = try await other.snapshot(at: committed.timestamp)
            let seen = try await snapshot.getMany(["\(prefix)-x", "\(prefix)-y"], as: Int.self)
            XCTAssertEqual(seen, [1, 2], endpoint)
            await snapshot.close()
            await other.close()
        }
        await client.close()
    }

    func testAnExportedSessionReadsItsWritesInEveryRegion() async throws {
        let endpoints = try clusterEndpoints()
        let client = try await IsochronClient.connect(endpoints: [endpoints[0]])
        try await client.set("\(run)-mine", "written")
        let exported = await client.session.export()
        for endpoint in endpoints {
            let other = try await IsochronClient.connect(
                endpoints: [endpoint], session: try ExportedSession(json: exported.json))
            let seen = try await other.get("\(run)-mine", as: String.self)
            XCTAssertEqual(seen, "written", endpoint)
            await other.close()
        }
        await client.close()
    }

    func testManyReadsAtOnceAreAnswered() async throws {
        let client = try await IsochronClient.connect(endpoints: try clusterEndpoints())
        let key = "\(run)-many"
        try await client.set(key, 7)
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<1000 { group.addTask { try await client.get(key, as: Int.self) ?? 0 } }
            return try await group.reduce(0, +)
        }
        XCTAssertEqual(sum, 7000)
        await client.close()
    }

    func testErrorsOfTheClusterAreTyped() async throws {
        let client = try await IsochronClient.connect(endpoints: try clusterEndpoints())
        do {
            _ = try await client.keyspace("no-such-keyspace").get("a", as: Int.self)
            XCTFail("it did not throw")
        } catch let error as IsochronError {
            XCTAssertEqual(error.code, .keyspaceUnknown)
        }
        do {
            _ = try await IsochronClient.connect(endpoints: try clusterEndpoints(), token: "forged")
            XCTFail("it did not throw")
        } catch let error as IsochronError {
            XCTAssertEqual(error.code, .tokenInvalid)
        }
        await client.close()
    }
}
