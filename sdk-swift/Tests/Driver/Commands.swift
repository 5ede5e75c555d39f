// What the driver is told and what it says, a line of JSON each. The other side is `test/e2e/swift-client.ts`.

/// Something to do.
struct Command: Decodable, Sendable {
    let id: Int
    /// What: the cases of `Driver.run`, `OpenTransaction.run`.
    let does: String
    /// Name of the client, transaction or snapshot that it is about.
    let of: String
    /// The client of a new transaction or snapshot.
    var client: String?
    var endpoints: [String]?
    /// An exported session.
    var session: String?
    /// Path of a file that keeps the session.
    var store: String?
    var key: String?
    var keys: [String]?
    var value: String?
    var inFlight: Int?
    var durationMs: Double?
    var count: Int?
}

/// How it ended.
struct Reply: Encodable, Sendable {
    let id: Int
    var values: [String?]?
    var session: String?
    var operations: Int?
    var elapsedMs: Double?
    var p50Ms: Double?
    var p99Ms: Double?
    var residentBytes: Int?
    var failure: Failure?

    init(_ id: Int) {
        self.id = id
    }
}

struct Failure: Encodable, Sendable {
    let code: String
    let message: String
}
