import IsochronSession
import XCTest

@testable import Isochron

/// Writes of the machine.
final class MachineWriteTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testAWriteIsSentAgainUnchangedOnTheNextConnection() async throws {
        let scene = try Connected()
        scene.home.script = once("commit", .applyAndClose)
        let write = scene.world.write("a")
        scene.world.run(50)
        let commits = scene.home.received("commit")
        XCTAssertEqual(commits.count, 2)
        XCTAssertEqual(Set(commits.map(\.withoutId)).count, 1)
        XCTAssertEqual(scene.store.outcomes.count, 1)
        XCTAssertEqual(write.settled, 1)
        XCTAssertEqual(write.committed?.timestamp, 1001)
        XCTAssertEqual(write.committed?.txId, commits.first?.text("tx"))
    }

    @SessionActor
    func testAWriteIsSentOnlyOnceTheOutcomeOfTheOneBeforeIsKnown() async throws {
        let scene = try Connected()
        scene.home.script = once("commit", .drop)
        let (first, second) = (scene.world.write("a"), scene.world.write("b"))
        scene.world.run(900)
        XCTAssertEqual(scene.home.received("commit").count, 1)
        scene.world.run(2000)
        let sent = scene.home.received("commit").map { $0.text("tx") }
        XCTAssertEqual(sent, [first, first, second].map { $0.committed?.txId })
        XCTAssertNotEqual(sent.first, sent.last)
    }

    @SessionActor
    func testAnOverdueWriteIsOutcomeUnknownAndThoseBehindItAreSessionBlocked() async throws {
        let scene = try Connected()
        scene.home.script = always("commit") { _ in .drop }
        let (first, second) = (scene.world.write("a"), scene.world.write("b"))
        scene.world.run(5000)
        XCTAssertEqual([first.code, second.code], [.outcomeUnknown, .sessionBlocked])
        XCTAssertEqual(Set(scene.home.received("commit").map { $0.text("tx") }).count, 1)
    }

    @SessionActor
    func testAWriteThatIsCancelledBeforeItsTurnHasNoEffect() async throws {
        let scene = try Connected()
        scene.home.script = once("commit", .drop)
        scene.world.write("a")
        let second = scene.world.write("b")
        scene.world.run(10)
        second.cancel()
        XCTAssertEqual(second.settled, 1)
        XCTAssertEqual(second.error as? Enough, Enough())
        scene.world.run(5000)
        let keys = scene.home.received("commit").map { $0.writes.first?.key }
        XCTAssertFalse(keys.contains("default/b"))
    }

    @SessionActor
    func testAWriteThatIsCancelledInTheTurnOfItsCallIsNotSent() async throws {
        let scene = try Connected()
        let write = scene.world.write("a")
        write.cancel()
        scene.world.run(100)
        XCTAssertEqual(write.error as? Enough, Enough())
        XCTAssertEqual(scene.home.received("commit").count, 0)
    }

    @SessionActor
    func testAWriteThatIsCancelledAfterItsSendIsResolvedBeforeTheNextWrite() async throws {
        let scene = try Connected()
        scene.home.script = once("commit", .drop)
        let write = scene.world.write("a")
        scene.world.run(10)
        write.cancel()
        XCTAssertEqual(write.settled, 1)
        XCTAssertEqual(write.code, .outcomeUnknown)
        XCTAssertEqual((write.error as? IsochronError)?.cause as? Enough, Enough())
        let next = scene.world.write("b")
        scene.world.run(2000)
        XCTAssertNotNil(next.committed)
        XCTAssertEqual(scene.store.outcomes.count, 2)
    }

    @SessionActor
    func testASuccessfulWriteIsNotSettledAgainByALaterCancellation() async throws {
        let scene = try Connected()
        let write = scene.world.write("a")
        scene.world.run(50)
        write.cancel()
        XCTAssertEqual(write.settled, 1)
        XCTAssertEqual(write.committed?.timestamp, 1001)
    }

    @SessionActor
    func testAWithdrawnWriteIsNotSettledAgainByALaterCancellation() async throws {
        let scene = try Connected()
        scene.home.script = always("commit") { _ in .drop }
        scene.world.write("a")
        let second = scene.world.write("b")
        second.cancel(Enough(of: "first"))
        second.cancel(Enough(of: "second"))
        XCTAssertEqual(second.settled, 1)
        XCTAssertEqual(second.error as? Enough, Enough(of: "first"))
    }
}
