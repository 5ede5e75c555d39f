import Foundation
import IsochronSession
import XCTest

@testable import Isochron

/// The `auth` of an app: it signs in at the issuer of the nodes, for a short time.
private final class SignIn: Sendable {
    static let life = Duration.seconds(2)

    let nodes: TestNodes
    let user: String
    /// Whether each token comes some time after the one before has expired.
    let isLate: Bool
    let calls = Locked(0)
    private let expires = Locked(ContinuousClock.now)

    init(_ nodes: TestNodes, _ user: String, isLate: Bool = false) {
        (self.nodes, self.user, self.isLate) = (nodes, user, isLate)
    }

    @Sendable
    func token() async throws -> String {
        let call = calls.change { calls in
            calls += 1
            return calls
        }
        if isLate, call > 1 { try await Task.sleep(until: expires.get() + .milliseconds(700), clock: .continuous) }
        let token = try await nodes.token(user, life: Self.life)
        expires.set(.now + Self.life)
        return token
    }
}

/// An album of `ann`.
private func album(readers: JSONValue...) -> JSONValue { ["owner": "ann", "readers": .array(readers)] }

/// Real nodes that demand tokens and follow access rules, see `TestNodes`.
final class AccessTests: XCTestCase, @unchecked Sendable {
    private static let readersRule = "The access rule readers-see-photos does not allow this principal to "

    /// A part of keys that no other run has.
    private let run = UUID().uuidString

    /// Writes through a client whose credentials expire, for some lives of them: each write counts, and has a document
    /// of its own, and a watch shows the last one. Returns the longest time of a write, after a look at everything in
    /// both regions.
    private func write(_ signIn: SignIn, lives: Int) async throws -> Duration {
        let (nodes, run) = (signIn.nodes, self.run)
        let app = try await IsochronClient.connect(endpoints: [nodes.endpoints[0]], auth: signIn.token)
        let (counter, watched) = ("own/ann/\(run)", app.watch("own/ann/\(run)", as: [String: Int].self))
        let (last, shown) = (Locked(Int.max), Locked(0))
        let watching = start {
            for try await result in watched { shown.set(try result.value?["n"] ?? 0) }
        }
        let end = ContinuousClock.now + SignIn.life * lives
        var (written, longest) = (0, Duration.zero)
        while last.get() > written {
            written += 1
            let (began, number) = (ContinuousClock.now, written)
            if began > end { last.set(number) }
            let (_, write) = try await app.transaction { tx in
                try tx.update(counter, [.increment("/n", by: 1)])
                try tx.set("own/ann/\(run)-\(number)", number)
            }
            longest = max(longest, .now - began)
            if began > end { try await write?.stable() }
        }
        try await until("the last write is shown") { shown.get() == last.get() }
        watching.cancel()
        for region in nodes.endpoints.indices {
            let other = try await nodes.client("ann", region: region)
            let counted = try await other.get(counter, as: [String: Int].self)
            XCTAssertEqual(counted, ["n": written])
            let listed = try await all(other.list(prefix: "own/ann/\(run)-", as: Int.self))
            XCTAssertEqual(try listed.map { try $0.value }.sorted(), Array(1...written))
            await other.close()
        }
        await app.close()
        XCTAssertGreaterThan(written, 20)
        return longest
    }

    func testASessionWithAuthGoesOnOverTheExpiryOfItsCredentialsWithoutALostOrDoubledWrite() async throws {
        let signIn = SignIn(try TestNodes.started(), "ann")
        let longest = try await write(signIn, lives: 3)
        XCTAssertGreaterThan(signIn.calls.get(), 2)
        XCTAssertLessThan(longest, .seconds(5))
    }

    func testWritesThatAreRefusedForExpiredCredentialsTakeEffectOnceWhenAuthGivesNewOnes() async throws {
        let signIn = SignIn(try TestNodes.started(), "ann", isLate: true)
        let longest = try await write(signIn, lives: 3)
        XCTAssertGreaterThan(signIn.calls.get(), 2)
        XCTAssertGreaterThan(longest, .milliseconds(500))
    }

    @SessionActor
    func testAClientWithoutValidCredentialsIsRefusedWithUnauthenticated() async throws {
        let nodes = try TestNodes.started()
        let endpoints = [nodes.endpoints[0]]
        let without = await code { try await IsochronClient.connect(endpoints: endpoints) }
        XCTAssertEqual(without, .unauthenticated)
        let (expired, forged) = (try await nodes.token("ann", life: .seconds(-1)), try await nodes.forgedToken("ann"))
        for token in [expired, forged, "no token"] {
            let refused = await code { try await IsochronClient.connect(endpoints: endpoints, credentials: token) }
            XCTAssertEqual(refused, .unauthenticated)
        }
    }

    @SessionActor
    func testACallOfAClientWhoseCredentialsHaveExpiredIsRefusedWithUnauthenticated() async throws {
        let nodes = try TestNodes.started()
        let token = try await nodes.token("ann", life: .seconds(1))
        let app = try await IsochronClient.connect(endpoints: [nodes.endpoints[0]], credentials: token)
        try await Task.sleep(for: .seconds(1))
        let refused = await code { try await app.get("own/ann/\(run)", as: Int.self) }
        XCTAssertEqual(refused, .unauthenticated)
        await app.close()
    }

    @SessionActor
    func testConnectIsRefusedWithUnauthenticatedWhenTheNextTokenOfAuthIsRefusedToo() async throws {
        let nodes = try TestNodes.started()
        let calls = Locked(0)
        let refused = await code {
            try await IsochronClient.connect(endpoints: [nodes.endpoints[0]]) {
                calls.change { $0 += 1 }
                return try await nodes.forgedToken("ann")
            }
        }
        XCTAssertEqual(refused, .unauthenticated)
        XCTAssertEqual(calls.get(), 2)
    }

    @SessionActor
    func testAClientThatARuleRefusesGetsPermissionDeniedThatNamesTheRule() async throws {
        let nodes = try TestNodes.started()
        let (ann, cid) = (try await nodes.client("ann"), try await nodes.client("cid", region: 1))
        let (albumKey, photos) = ("albums/\(run)", "photos/\(run)")
        try await ann.set(albumKey, album(readers: "ann"))
        try await ann.set("\(photos)/first", 1).stable()
        let own = try await ann.get("\(photos)/first", as: Int.self)
        XCTAssertEqual(own, 1)
        let refused: [(String, @Sendable () async throws -> Void)] = [
            (Self.readersRule, { _ = try await cid.get("\(photos)/first", as: Int.self) }),
            (Self.readersRule, { _ = try await all(cid.list(prefix: "\(photos)/", as: Int.self)) }),
            (Self.readersRule, { _ = try await all(cid.watch(prefix: "\(photos)/", as: Int.self)) }),
            (
                "The access rule owners-add-photos does not allow this principal to ",
                { try await cid.set("\(photos)/second", 2) }
            ),
            (
                "The access rule own-documents does not allow this principal to ",
                {
                    try await cid.transaction { tx in
                        for user in ["cid", "ann"] { try tx.set("own/\(user)/\(self.run)", 1) }
                    }
                }
            ),
        ]
        for (message, call) in refused {
            let error = await thrown { try await call() } as? IsochronError
            XCTAssertEqual(error?.code, .permissionDenied)
            XCTAssertEqual(error?.message.hasPrefix(message), true, error?.message ?? "")
        }
        let nothing = try await cid.get("own/cid/\(run)", as: Int.self)
        XCTAssertNil(nothing)
        await ann.close()
        await cid.close()
    }

    @SessionActor
    func testALiveQueryEndsWithPermissionDeniedWhenItsPermissionGoesAndTheOthersGoOn() async throws {
        let nodes = try TestNodes.started()
        let (ann, ben) = (try await nodes.client("ann"), try await nodes.client("ben", region: 1))
        let (albumKey, photos) = ("albums/\(run)", "photos/\(run)")
        try await ann.set(albumKey, album(readers: "ann", "ben"))
        // At once: a snapshot without the album would refuse both (AR3).
        try await ann.set("\(photos)/first", 1)
        let own = ann.watch(prefix: "\(photos)/", as: Int.self).makeAsyncIterator()
        let first = try await own.next()
        XCTAssertEqual(first?.documents.map(\.key), ["\(photos)/first"])
        try await ann.set("\(photos)/second", 2).stable()
        let shown = Locked<[String]>([])
        let mine = ben.collection("own/ben", of: String.self)
        let (seen, kept) = (ben.watch(prefix: "\(photos)/", as: Int.self), mine.watch(run).makeAsyncIterator())
        let watching = start {
            for try await result in seen { shown.set(result.documents.map(\.key)) }
        }
        _ = try await kept.next()
        try await until("both photos are shown") { shown.get().count == 2 }
        try await ann.set(albumKey, album(readers: "ann"))
        try await ann.set("\(photos)/secret", 3)
        let error = try await ending(of: watching)
        XCTAssertEqual(error.code, .permissionDenied)
        XCTAssertTrue(error.message.hasPrefix(Self.readersRule), error.message)
        XCTAssertEqual(shown.get(), ["\(photos)/first", "\(photos)/second"])
        try await mine.set(run, "goes on")
        let next = try await kept.next()
        XCTAssertEqual(try next?.value, "goes on")
        await ann.close()
        await ben.close()
    }
}
