import IsochronSession
import XCTest

@testable import Isochron

/// A new attempt of a commit avoids the regions that do not answer.
final class AvoidTests: XCTestCase, @unchecked Sendable {
    private static let oregon = (nodes: ["oregon-1"], regions: ["oregon"])

    private static func threeRegions(_ options: inout FakeOptions) {
        options.regions = [("virginia", []), ("oregon", []), ("ireland", [])]
    }

    /// The regions that the received commits avoid.
    @SessionActor
    private func avoids(_ node: FakeServer) -> [[[String]]?] {
        node.received("commit").map(\.avoids)
    }

    @SessionActor
    func testACommitAvoidsUnresponsiveRegionsFromOneReportOfItsNodeToTheNext() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.threeRegions)
        let app = try await world.client([node])
        try await app.set("a", 1)
        node.unresponsive = Self.oregon
        node.report()
        try await status(of: app, "a node does not answer") { $0.unresponsive == ["oregon-1"] }
        try await app.set("a", 2)
        node.unresponsive = nil
        node.report()
        try await status(of: app, "every node answers") { $0.unresponsive.isEmpty }
        try await app.set("a", 3)
        XCTAssertEqual(avoids(node), [nil, [["oregon"]], nil])
    }

    @SessionActor
    func testACommitAvoidsTheSortedRegionsOfTheWelcomeAndNoneIfThatWouldBeAll() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.threeRegions)
        node.unresponsive = (["oregon-1", "ireland-1"], ["oregon", "ireland"])
        try await world.client([node]).set("a", 1)
        node.unresponsive = (["x"], ["oregon", "ireland", "virginia"])
        try await world.client([node]).set("a", 1)
        XCTAssertEqual(avoids(node), [[["ireland", "oregon"]], nil])
        // Without the names of its regions, a node does not show which ones would be left.
        let nameless = world.server()
        nameless.unresponsive = Self.oregon
        try await world.client([nameless]).set("a", 1)
        XCTAssertEqual(avoids(nameless), [nil])
    }

    @SessionActor
    func testACommitAvoidsTheSameRegionsInEveryRetryOfAnAttempt() async throws {
        let (world, store) = (World(), FakeStore())
        let east = world.server(store, Self.threeRegions)
        let west = world.server(store) {
            Self.threeRegions(&$0)
            $0.region = "oregon"
        }
        for node in [east, west] { node.unresponsive = (["ireland-1"], ["ireland"]) }
        let app = try await world.client([east, west])
        let region = await app.currentStatus.region
        let (home, other) = region == "virginia" ? (east, west) : (west, east)
        home.script = { $0.type == "commit" ? .applyAndClose : .answer }
        other.unresponsive = (["virginia-1"], ["virginia"])
        try await app.set("a", 1)
        let (first, second) = (home.received("commit").first, other.received("commit").first)
        XCTAssertEqual(first?.texts("attemptRegions"), [home.region])
        XCTAssertEqual(first?.avoids, [["ireland"]])
        XCTAssertEqual(second?.withoutId, first?.withoutId)
    }

    @SessionActor
    func testAnAttemptAfterAnAbortedOneHasItsOwnListOfAvoidedRegions() async throws {
        let node = try await retried(after: "TRANSACTION_ABORTED", retryable: false)
        XCTAssertEqual(node.received("commit").map { $0.texts("attemptRegions").count }, [1, 2])
        XCTAssertEqual(avoids(node), [nil, [[], ["oregon"]]])
    }

    @SessionActor
    func testAnAttemptFollowsUndecidedCohortsOnceAnotherRegionHasStoppedAnswering() async throws {
        let node = try await retried(after: "OUTCOME_PENDING", retryable: true)
        XCTAssertEqual(node.received("commit").last?.texts("attemptRegions"), ["virginia", "virginia"])
        XCTAssertEqual(node.received("commit").last?.avoids, [[], ["oregon"]])
    }

    @SessionActor
    func testAMismatchDropsTheLastAttemptWithWhatItAvoids() async throws {
        let world = World()
        let node = world.server(FakeStore(), Self.threeRegions)
        let app = try await world.client([node])
        node.script = { frame in
            guard frame.type == "commit" else { return .answer }
            let sendings = node.received("commit").count
            if sendings == 1 {
                node.unresponsive = Self.oregon
                node.report()
                return refusal(frame.id, "OUTCOME_PENDING", retryable: true)
            }
            return sendings == 2 ? refusal(frame.id, "ATTEMPT_MISMATCH", retryable: false) : .answer
        }
        try await app.set("a", 1)
        XCTAssertEqual(avoids(node), [nil, [[], ["oregon"]], nil])
    }

    /// A node that refuses the first attempt of a commit, and reports at that moment that a region does not answer.
    @SessionActor
    private func retried(after code: String, retryable: Bool) async throws -> FakeServer {
        let world = World()
        let node = world.server(FakeStore(), Self.threeRegions)
        let app = try await world.client([node])
        node.script = { frame in
            // A client that never makes another attempt gets an answer after a while, too.
            let isFirst = frame.texts("attemptRegions").count == 1 && node.received("commit").count < 5
            guard frame.type == "commit", isFirst else { return .answer }
            node.unresponsive = Self.oregon
            node.report()
            return refusal(frame.id, code, retryable: retryable)
        }
        try await app.set("a", 1)
        return node
    }
}
