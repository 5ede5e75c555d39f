import Foundation
import IsochronSession
import XCTest

@testable import Isochron

/// The change feed and live queries of clients in two regions of a running cluster, see `ClusterTests`.
final class LiveClusterTests: XCTestCase, @unchecked Sendable {
    /// Keys that no other run uses.
    private let run = "swift-\(UUID().uuidString)"

    /// A client in each of two regions.
    private func clients() async throws -> (one: IsochronClient, two: IsochronClient) {
        let endpoints = try clusterEndpoints()
        guard endpoints.count > 1 else { throw XCTSkip("the cluster has one region") }
        return (
            try await IsochronClient.connect(endpoints: [endpoints[0]]),
            try await IsochronClient.connect(endpoints: [endpoints[1]])
        )
    }

    /// The first result for which the condition holds, and all before it.
    private func results<Shown: Sendable>(
        _ watch: Watch<Shown>, until wanted: @escaping @Sendable (Shown) throws -> Bool
    ) -> Task<[Shown], any Error> {
        Task {
            var all: [Shown] = []
            for try await result in watch {
                all.append(result)
                if try wanted(result) { return all }
            }
            return all
        }
    }

    func testATransactionOfAClientInAnotherRegionIsOneResultOfAllWatches() async throws {
        let (one, two) = try await clients()
        let (n, m) = (one.collection("\(run)-n", of: Int.self), one.collection("\(run)-m", of: Int.self))
        let cuts = results(one.live(n.watch(), m.watch("a"))) { try $0.1.value == 20 }
        let run = self.run
        for round in 1...20 {
            try await two.transaction { tx in
                try tx.set("\(run)-n/a", round)
                try tx.set("\(run)-n/b", -round)
                try tx.set("\(run)-m/a", round)
            }
        }
        let all = try await cuts.value
        XCTAssertGreaterThan(all.count, 1)
        var last: Timestamp = 0
        for (documents, document) in all {
            let value = try document.value ?? 0
            let sums = try documents.documents.map { try $0.value }
            XCTAssertEqual(sums, value == 0 ? [] : [value, -value])
            XCTAssertEqual(documents.snapshot, document.snapshot)
            XCTAssertGreaterThanOrEqual(document.snapshot, last)
            last = document.snapshot
        }
        await one.close()
        await two.close()
    }

    func testAnOwnWriteShowsAtOnceIsPendingUntilItIsStableAndDoesNotFlicker() async throws {
        let (one, two) = try await clients()
        let counts = one.collection("\(run)-own", of: [String: Int].self)
        try await two.set("\(run)-own/a", ["n": 1]).stable()
        let shown = results(counts.watch("a")) { try $0.value == ["n": 9] && !$0.isPending }
        try await Task.sleep(for: .milliseconds(200))
        for _ in 0..<8 { try await counts.update("a", [.increment("/n", by: 1)]) }
        let all = try await shown.value
        let values = try all.compactMap { try $0.value?["n"] }
        XCTAssertEqual(values, values.sorted())
        XCTAssertEqual(values.first, 1)
        XCTAssertTrue(all.contains(where: \.isPending))
        await one.close()
        await two.close()
    }

    func testConditionsAndOrdersHoldOverDocumentsOfTwoRegions() async throws {
        let (one, two) = try await clients()
        let todos = one.collection("\(run)-todos", of: [String: JSONValue].self)
        let open = todos.watch(
            where: [Condition("/done", .equal, false)], orderBy: [FieldOrder("/at", .descending)], limit: 2)
        let wanted = results(open) { $0.documents.map(\.key) == ["d", "b"] && !$0.meta.hasPendingWrites }
        let other = two.collection("\(run)-todos", of: [String: JSONValue].self)
        try await other.set("a", ["at": 1, "done": false])
        try await other.set("b", ["at": 2, "done": false])
        try await todos.set("c", ["at": 3, "done": false])
        try await todos.set("d", ["at": 4, "done": false])
        try await other.update("c", [.set("/done", true)])
        let last = try await wanted.value.last
        XCTAssertEqual(last?.documents.count, 2)
        await one.close()
        await two.close()
    }

    func testTheFeedHasEveryTransactionOnceAndWholeInOneOrderInBothRegions() async throws {
        let (one, two) = try await clients()
        let run = self.run
        let begin = try await one.snapshot()
        let at = begin.timestamp
        await begin.close()
        var written: Set<TxId> = []
        for round in 0..<10 {
            for client in [one, two] {
                let (_, write) = try await client.transaction { tx in
                    try tx.set("\(run)/a", round)
                    try tx.update("\(run)/b", [.increment("/n", by: 1)])
                }
                if let write { written.insert(write.txId) }
            }
        }
        let wanted = written
        let feeds = [one, two].map { client in
            Task {
                var seen: [ChangedTransaction] = []
                var last = at
                for try await message in client.changes(keyspace: "default", prefix: "\(run)/", at: at) {
                    XCTAssertEqual(message.from, last)
                    last = message.to
                    seen += message.transactions
                    if seen.count >= wanted.count { break }
                }
                return seen
            }
        }
        let (first, second) = (try await feeds[0].value, try await feeds[1].value)
        XCTAssertEqual(first, second)
        XCTAssertEqual(Set(first.map(\.id)), wanted)
        XCTAssertEqual(first.count, wanted.count)
        XCTAssertTrue(first.allSatisfy { $0.writes.map(\.key).sorted() == ["\(run)/a", "\(run)/b"] })
        XCTAssertEqual(first.map(\.timestamp), first.map(\.timestamp).sorted())
        await one.close()
        await two.close()
    }
}
