import IsochronSession
import XCTest

@testable import Isochron

final class ResumeTests: XCTestCase, @unchecked Sendable {
    /// A fault of the node that gets the operation: it dies before or after the operation, or sends nothing from then
    /// on.
    private enum Fault: CaseIterable {
        case close
        case applyAndClose
        case drop
        case applyAndDrop

        var scripted: Scripted {
            switch self {
            case .close: .close
            case .applyAndClose: .applyAndClose
            case .drop: .drop
            case .applyAndDrop: .applyAndDrop
            }
        }

        var isSilent: Bool { self == .drop || self == .applyAndDrop }
    }

    @SessionActor
    private func inject(_ node: FakeServer, _ type: String, _ nth: Int, _ fault: Fault) {
        let left = Locked(nth)
        node.script = { frame in
            if left.get() == 0 { return fault.isSilent ? .drop : .answer }
            guard frame.type == type else { return .answer }
            left.change { $0 -= 1 }
            return left.get() == 0 ? fault.scripted : .answer
        }
    }

    @SessionActor
    func testATransactionWithADeadCoordinatorContinuesInItsSnapshotAndCommitsOnce() async throws {
        for (type, nth) in [("start", 1), ("read", 1), ("read", 2), ("commit", 1)] {
            for fault in Fault.allCases {
                try await goesOn(type, nth, fault)
            }
        }
    }

    @SessionActor
    private func goesOn(_ type: String, _ nth: Int, _ fault: Fault) async throws {
        let cluster = try await TwoRegions(seeded: true) { $0.requestTimeout = .milliseconds(900) }
        let (app, store) = (cluster.app, cluster.store)
        inject(cluster.home, type, nth, fault)
        let (result, write) = try await app.transaction { tx in
            let a = try await tx.get("a", as: Int.self)
            let at = await tx.timestamp
            cluster.overtake()
            let b = try await tx.get("b", as: Int.self)
            try tx.set("c", [a, b])
            let still = await tx.timestamp
            return (a: a, b: b, same: at == still)
        }
        let what = "\(type) \(nth), \(fault)"
        XCTAssertEqual(result.a, 1, what)
        XCTAssertEqual(result.b, 1, what)
        XCTAssertTrue(result.same, what)
        XCTAssertNotNil(store.outcomes[write?.txId ?? ""], what)
        XCTAssertEqual(store.versions["default/c"]?.count, 1, what)
        let commits = [cluster.home, cluster.other].flatMap { $0.received("commit") }
        let same = Set(commits.map { "\($0.text("tx") ?? "") \($0.number("hwt") ?? 0) \($0.number("sentAfter") ?? 0)" })
        XCTAssertEqual(same.count, 1, what)
    }

    @SessionActor
    func testATransactionContinuesInAnotherRegionBetweenTwoOperations() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        let (read, _) = try await app.transaction { tx in
            _ = try await tx.get("a", as: Int.self)
            home.stop()
            cluster.overtake()
            return try await tx.getMany(["a", "b"], as: Int.self)
        }
        XCTAssertEqual(read, [1, 1])
        XCTAssertEqual(other.received("start").first?.number("at"), 1002)
        // An opening of its own: an unreachable coordinator may still hold the other one.
        XCTAssertNotEqual(other.received("start").first?.text("tx"), home.received("start").first?.text("tx"))
    }

    @SessionActor
    func testATransactionEndsWithSnapshotTooOldWhenItsVersionsHaveBeenCollected() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        other.script = { frame in
            frame.type == "start" && frame["at"] != nil
                ? refusal(frame.id, "SNAPSHOT_TOO_OLD", retryable: false) : .answer
        }
        let tooOld = await code {
            try await app.transaction { tx in
                _ = try await tx.get("a", as: Int.self)
                home.stop()
                _ = try await tx.get("b", as: Int.self)
            }
        }
        XCTAssertEqual(tooOld, .snapshotTooOld)
        let value = try await app.get("b", as: Int.self)
        XCTAssertEqual(value, 1)
    }

    @SessionActor
    func testATransactionWaitsForANodeThatHasNotInstalledItsSnapshotYet() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        let installed = Gate()
        other.script = { frame in
            if frame.type == "start" { return other.received("start").count == 1 ? .hold(installed) : .answer }
            // As a node with a waiting start does.
            return frame.type == "read" && other.openTransactions == 0
                ? refusal(frame.id, "TRANSACTION_UNKNOWN", retryable: false) : .answer
        }
        let (value, _) = try await app.transaction { tx in
            _ = try await tx.get("a", as: Int.self)
            home.stop()
            cluster.overtake()
            async let reading = tx.get("b", as: Int.self)
            try await until("asked again and again") { other.received("read").count > 5 }
            installed.open()
            return try await reading
        }
        XCTAssertEqual(value, 1)
        XCTAssertEqual(other.received("hello").count, 2)
    }

    @SessionActor
    func testASilentNodeIsLeftForAnotherOneLongBeforeTheRequestTimesOut() async throws {
        let cluster = try await TwoRegions(seeded: true) { $0.requestTimeout = .seconds(3) }
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        home.script = { _ in .drop }
        let read = try await app.getMany(["a", "b"], as: Int.self)
        XCTAssertEqual(read, [1, 1])
        XCTAssertEqual(other.received("read").count, 1)
        XCTAssertGreaterThan(home.received("ping").count, 0)
    }

    @SessionActor
    func testANodeIsNotLeftWhileItAnswersPings() async throws {
        let cluster = try await TwoRegions(seeded: true) { $0.requestTimeout = .milliseconds(900) }
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        let held = Gate()
        home.script = { $0.type == "read" ? .hold(held) : .answer }
        let reading = start { try await app.get("a", as: Int.self) }
        let pings = home.received("ping").count
        try await until("pings") { home.received("ping").count >= pings + 2 }
        held.open()
        let value = try await reading.value
        XCTAssertEqual(value, 1)
        XCTAssertEqual(other.received("read").count, 0)
    }

    @SessionActor
    func testANodeThatGoesAwayIsUsedUntilAnotherOneIsConnected() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        let (hello, there) = (Gate(), other.region)
        other.script = { $0.type == "hello" ? .hold(hello) : .answer }
        home.push(["type": "goaway", "reason": "restart", "delayMs": 60000])
        try await until("hello") { other.received("hello").count == 2 }
        _ = try await app.get("a", as: Int.self)
        let region = await app.currentStatus.region
        XCTAssertEqual(region, home.region)
        XCTAssertEqual(home.received("read").count, 1)
        hello.open()
        try await status(of: app, "moved") { $0.region == there }
        _ = try await app.get("a", as: Int.self)
        XCTAssertEqual(other.received("read").count, 1)
        try await until("home is closed") { home.connections == 0 }
    }

    @SessionActor
    func testANodeThatGoesAwayTakesNoOpenTransactionWithIt() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        let there = other.region
        let (value, write) = try await app.transaction { tx in
            _ = try await tx.get("a", as: Int.self)
            home.push(["type": "goaway", "reason": "restart", "delayMs": 60000])
            try await status(of: app, "moved") { $0.region == there }
            cluster.overtake()
            try tx.set("c", 1)
            return try await tx.get("b", as: Int.self)
        }
        XCTAssertEqual(value, 1)
        XCTAssertEqual(cluster.store.outcomes[write?.txId ?? ""], write?.timestamp)
        XCTAssertEqual(home.received("commit").count, 0)
    }

    @SessionActor
    func testTheClientWaitsForANodeThatGoesAwayWithoutAnother() async throws {
        let world = World()
        let node = world.server()
        node.store.seed("default/a", "1")
        let app = try await world.client([node])
        node.push(["type": "goaway", "reason": "restart", "delayMs": 30])
        try await until("closed") { node.connections == 0 }
        let value = try await app.get("a", as: Int.self)
        XCTAssertEqual(value, 1)
        XCTAssertEqual(node.received("hello").count, 2)
    }

    @SessionActor
    func testTheSessionsTokenCoversEveryWriteAfterAChangeOfTheConnection() async throws {
        let cluster = try await TwoRegions(seeded: true)
        let (app, home, other) = (cluster.app, cluster.home, cluster.other)
        let (held, there) = (Gate(), other.region)
        home.script = { $0.type == "commit" ? .hold(held) : .answer }
        let writing = start { try await app.set("c", 1) }
        try await until("sent") { home.received("commit").count == 1 }
        home.push(["type": "goaway", "reason": "restart", "delayMs": 60000])
        try await status(of: app, "moved") { $0.region == there }
        held.open()
        let write = try await writing.value
        try await until("the token was sent") {
            other.received("ping").contains { $0.text("token") == "\(home.region)-w\(write.timestamp)" }
        }
    }
}
