import IsochronSession
import XCTest

@testable import Isochron

/// The `auth` of a test: it counts its calls, and how many of them are under way.
private final class Issuer: Sendable {
    struct Counts: Sendable {
        var calls = 0
        var underWay = 0
        var most = 0
    }

    let counts = Locked(Counts())
    private let give: @Sendable (Int) async throws -> String

    init(_ give: @escaping @Sendable (Int) async throws -> String = { "token-\($0)" }) {
        self.give = give
    }

    @Sendable
    func next() async throws -> String {
        let call = counts.change { counts in
            counts.calls += 1
            counts.underWay += 1
            counts.most = max(counts.most, counts.underWay)
            return counts.calls
        }
        defer { counts.change { $0.underWay -= 1 } }
        return try await give(call)
    }
}

private func isImpatient(_ options: inout ClientOptions) {
    options.requestTimeout = .milliseconds(50)
}

private struct SignedOut: Error, Equatable {}

/// Credentials that an app gives on request. The step traces of the renewals test the machine; this is its driver.
final class AuthTests: XCTestCase, @unchecked Sendable {
    @SessionActor
    func testAuthIsCalledBeforeTheClientConnectsAndItsResultIsPartOfTheGreetingAlone() async throws {
        let world = World()
        let node = world.server()
        let app = try await world.client([node], renewing: { "token" })
        try await app.set("a", 1)
        XCTAssertEqual(node.received("hello").map { $0.text("credentials") }, ["token"])
        XCTAssertEqual(node.received("authenticate").count, 0)
    }

    @SessionActor
    func testAuthIsCalledAgainBeforeTheCredentialsExpireAndTheSessionGoesOnWithTheNewOnes() async throws {
        let (world, timing, issuer) = (World(), ManualTiming(), Issuer())
        let node = world.server()
        node.lifeMs = 60_000
        let app = try await world.client([node], renewing: issuer.next, changing: { $0.timing = timing })
        await timing.advance(44_000)
        XCTAssertEqual(issuer.counts.get().calls, 1)
        await timing.advance(16_000)
        try await until("they are renewed") { node.received("authenticate").count == 1 }
        try await app.set("a", 1)
        await timing.advance(60_000)
        try await until("they are renewed again") { node.received("authenticate").count == 2 }
        XCTAssertEqual(node.received("authenticate").map { $0.text("credentials") }, ["token-2", "token-3"])
        XCTAssertEqual(node.received("hello").count, 1)
        XCTAssertEqual(issuer.counts.get().most, 1)
    }

    @SessionActor
    func testAuthIsCalledAfterARefusalAndTheRefusedRequestIsRepeated() async throws {
        let world = World()
        let node = world.server()
        let isExpired = Locked(true)
        let app = try await world.client([node], renewing: { "token" })
        node.script = { frame in
            if frame.type == "authenticate" { isExpired.set(false) }
            if frame.type != "commit" || !isExpired.get() { return .answer }
            return refusal(frame.id, "UNAUTHENTICATED", retryable: false)
        }
        try await app.set("a", 1)
        XCTAssertEqual(node.received("commit").count, 2)
        XCTAssertEqual(Set(node.received("commit").map { $0.text("tx") }).count, 1)
    }

    @SessionActor
    func testAnAuthThatThrowsOrGivesNothingMakesConnectThrowCredentialsUnavailable() async throws {
        let world = World()
        let node = world.server()
        let failing = await thrown {
            try await world.client([node], renewing: { throw SignedOut() }, changing: isImpatient)
        }
        let error = try XCTUnwrap(failing as? IsochronError)
        XCTAssertEqual(error.code, .credentialsUnavailable)
        XCTAssertEqual(error.cause as? SignedOut, SignedOut())
        let empty = await code {
            try await world.client([node], renewing: { "" }, changing: isImpatient)
        }
        XCTAssertEqual(empty, .credentialsUnavailable)
        XCTAssertEqual(node.received("hello").count, 0)
    }

    @SessionActor
    func testARefusedCallHasTheLastFailureOfAuthAsItsCause() async throws {
        let world = World()
        let node = world.server()
        let issuer = Issuer { call in if call == 1 { "token" } else { throw SignedOut() } }
        let app = try await world.client([node], renewing: issuer.next, changing: isImpatient)
        node.script = { frame in
            frame.type == "commit" ? refusal(frame.id, "UNAUTHENTICATED", retryable: false) : .answer
        }
        let error = await thrown { try await app.set("a", 1) } as? IsochronError
        XCTAssertEqual(error?.code, .credentialsUnavailable)
        XCTAssertEqual(error?.cause as? SignedOut, SignedOut())
    }

    @SessionActor
    func testAuthIsCancelledWhenTheClientCloses() async throws {
        let world = World()
        let node = world.server()
        let wasCancelled = Locked(false)
        let issuer = Issuer { call in
            if call == 1 { return "token" }
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                wasCancelled.set(true)
            }
            return "too late"
        }
        node.lifeMs = 1
        let app = try await world.client([node], renewing: issuer.next)
        try await until("it is asked again") { issuer.counts.get().calls == 2 }
        await app.close()
        try await until("it is cancelled") { wasCancelled.get() }
        XCTAssertEqual(node.received("authenticate").count, 0)
    }

    @SessionActor
    func testAuthAndCredentialsExcludeEachOther() async throws {
        let world = World()
        let node = world.server()
        let both = await code {
            try await IsochronClient.connect(endpoints: [node.url], credentials: "key", auth: { "token" })
        }
        XCTAssertEqual(both, .invalidRequest)
    }

    func testClientsWithAuthShareNoSocket() throws {
        let given = try ClientOptions().settings(credentials: "key", auth: nil)
        let asked = try ClientOptions().settings(credentials: nil, auth: { "token" })
        XCTAssert(given.sockets is SharedSockets)
        XCTAssert(asked.sockets is OwnSockets)
    }
}
