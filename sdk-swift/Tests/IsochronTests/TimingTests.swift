import IsochronSession
import XCTest

@testable import Isochron

/// Long waits, by a clock that the test advances.
final class TimingTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testPausesBetweenReconnectsGrowToThirtySecondsAndNoFurther() async throws {
        let (world, timing) = (World(), ManualTiming())
        let node = world.server()
        let app = try await world.client([node]) {
            $0.timing = timing
            $0.random = { 1 }
            $0.requestTimeout = .seconds(3600)
        }
        node.stop()
        await timing.advance(0)
        for pause in [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000.0] {
            let opened = world.network.opened.get()
            await timing.advance(pause - 1)
            XCTAssertEqual(world.network.opened.get(), opened)
            await timing.advance(1)
            XCTAssertEqual(world.network.opened.get(), opened + 1)
        }
        node.restart()
        await timing.advance(30_000)
        let state = await app.currentStatus.state
        XCTAssertEqual(state, .online)
    }

    @SessionActor
    func testASilentConnectionIsPingedAfterTenSecondsAndGivenUpAfterFifteen() async throws {
        let (world, timing) = (World(), ManualTiming())
        let node = world.server()
        let app = try await world.client([node]) { $0.timing = timing }
        await timing.advance(1)
        let pings = node.received("ping").count
        node.script = { _ in .drop }
        await timing.advance(9_900)
        XCTAssertEqual(node.received("ping").count, pings)
        await timing.advance(200)
        XCTAssertEqual(node.received("ping").count, pings + 1)
        XCTAssertEqual(node.received("hello").count, 1)
        await timing.advance(5_000)
        XCTAssertEqual(node.received("hello").count, 2)
        _ = app
    }

    @SessionActor
    func testASilentConnectionThatOwesAnAnswerIsGivenUpWithinTwoSeconds() async throws {
        let (world, timing) = (World(), ManualTiming())
        let node = world.server()
        let app = try await world.client([node]) { $0.timing = timing }
        await timing.advance(1)
        let pings = node.received("ping").count
        node.script = { frame in
            frame.type == "hello" || node.received("hello").count > 1 ? .answer : .drop
        }
        let writing = start { try await app.set("a", 1) }
        try await until("sent") { node.received("commit").count == 1 }
        await timing.advance(700)
        XCTAssertEqual(node.received("ping").count, pings)
        await timing.advance(350)
        XCTAssertEqual(node.received("ping").count, pings + 1)
        XCTAssertEqual(node.received("hello").count, 1)
        await timing.advance(1_000)
        XCTAssertEqual(node.received("hello").count, 2)
        try await until("sent again") { node.received("commit").count == 2 }
        _ = try await writing.value
        XCTAssertEqual(Set(node.received("commit").map(\.withoutId)).count, 1)
    }

    @SessionActor
    func testANodeIsNotTriedDuringTheDelayOfItsGoaway() async throws {
        let (world, timing) = (World(), ManualTiming())
        let node = world.server()
        let app = try await world.client([node]) { $0.timing = timing }
        node.push(["type": "goaway", "reason": "restart", "delayMs": 20000])
        await timing.advance(19_000)
        XCTAssertEqual(node.received("hello").count, 1)
        await timing.advance(2_000)
        XCTAssertEqual(node.received("hello").count, 2)
        _ = app
    }

    @SessionActor
    func testARequestEndsAtItsDeadlineAndACommitOnlyWithoutAKnownOutcome() async throws {
        let (world, timing) = (World(), ManualTiming())
        let node = world.server()
        let app = try await world.client([node]) { $0.timing = timing }
        node.script = { $0.type == "ping" || $0.type == "hello" ? .answer : .drop }
        let reading = start { try await app.get("a", as: Int.self) }
        let writing = start { try await app.set("a", 1) }
        try await until("both are sent") { node.received("read").count == 1 && node.received("commit").count == 1 }
        let (read, written) = (Locked(false), Locked(false))
        Task {
            _ = await reading.result
            read.set(true)
        }
        Task {
            _ = await writing.result
            written.set(true)
        }
        await timing.advance(9_000)
        XCTAssertFalse(read.get())
        await timing.advance(2_000)
        try await until("the read has ended") { read.get() }
        XCTAssertFalse(written.get())
        await timing.advance(18_000)
        XCTAssertFalse(written.get())
        await timing.advance(3_000)
        try await until("the write has ended") { written.get() }
        let lost = await code(of: reading)
        XCTAssertEqual(lost, .connectionLost)
        let unknown = await code(of: writing)
        XCTAssertEqual(unknown, .outcomeUnknown)
    }

    @SessionActor
    func testEndpointsAreTriedOneAfterTheOtherUntilOneOpens() async throws {
        let loop = Loop(nowMs: 0) { 0 }
        let endpoints = try Endpoints(["ws://a", "ws://b", "ws://c"]).all
        let tried = Locked<[String]>([])
        let found = Locked<[String]>([])
        FirstOf(
            each(endpoints), loop,
            open: { endpoint, opened in
                tried.change { $0.append(endpoint.url) }
                if endpoint.url.hasPrefix("ws://a") { return opened(.failure(.lost("refused"))) }
                opened(.success(endpoint.url))
            }, close: { _ in }, end: { url, _ in found.change { $0.append(url ?? "none") } }
        ).start()
        XCTAssertEqual(tried.get(), ["ws://a/v1/session", "ws://b/v1/session"])
        XCTAssertEqual(found.get(), ["ws://b/v1/session"])
    }

    @SessionActor
    func testTheClientDoesNotWaitForASilentEndpointAndClosesItWhenItOpensLater() async throws {
        let loop = Loop(nowMs: 0) { 0 }
        let endpoints = try Endpoints(["ws://a", "ws://b"]).all
        let (found, closed) = (Locked<[String]>([]), Locked<[String]>([]))
        let late = Locked<[@SessionActor (Result<String, IsochronError>) -> Void]>([])
        FirstOf(
            each(endpoints), loop,
            open: { endpoint, opened in
                if endpoint.url.hasPrefix("ws://a") { late.change { $0.append(opened) } } else { opened(.success("b")) }
            }, close: { url in closed.change { $0.append(url) } },
            end: { url, _ in found.change { $0.append(url ?? "none") } }
        ).start()
        XCTAssertEqual(found.get(), [])
        _ = loop.begin(301)
        loop.wake()
        XCTAssertEqual(found.get(), ["b"])
        for opened in late.get() { opened(.success("a")) }
        XCTAssertEqual(closed.get(), ["a"])
        XCTAssertEqual(found.get(), ["b"])
    }

    @SessionActor
    func testAClientIsRefusedForGoodOnlyWhenNoEndpointAcceptsIt() async throws {
        let loop = Loop(nowMs: 0) { 0 }
        let endpoints = try Endpoints(["ws://a", "ws://b"]).all
        let refusals = Locked<[IsochronError.Code?]>([])
        for taken in [false, true] {
            FirstOf(
                each(endpoints), loop,
                open: { endpoint, opened in
                    if taken, endpoint.url.hasPrefix("ws://b") { return opened(.success("b")) }
                    opened(.failure(IsochronError(.unauthenticated, endpoint.url)))
                }, close: { _ in }, end: { _, definite in refusals.change { $0.append(definite?.code) } }
            ).start()
        }
        FirstOf(
            { nil }, loop, open: { _, _ in }, close: { (_: String) in },
            end: { _, definite in
                refusals.change { $0.append(definite?.code) }
            }
        ).start()
        XCTAssertEqual(refusals.get(), [.unauthenticated, nil, nil])
    }
}

/// Endpoints, one after the other.
@SessionActor
private func each(_ endpoints: [Endpoint]) -> @SessionActor () -> Endpoint? {
    var left = endpoints[...]
    return { left.popFirst() }
}
