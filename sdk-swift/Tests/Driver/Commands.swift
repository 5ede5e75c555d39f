// Input and output of the driver, one line of JSON each. The other side is `test/e2e/swift-client.ts`.

/// A command.
struct Command: Decodable, Sendable {
    let id: Int
    /// The action: a case of `Driver.run` or `OpenTransaction.run`.
    let does: String
    /// Name of its client, transaction, snapshot or loop.
    let of: String
    /// The client of a new transaction, snapshot or loop.
    var client: String?
    var endpoints: [String]?
    /// An exported session.
    var session: String?
    /// Path of a file that keeps the session.
    var store: String?
    /// Authorities in PEM.
    var ca: String?
    /// Path of a file with the newest credentials.
    var auth: String?
    var key: String?
    var keys: [String]?
    var value: String?
    var inFlight: Int?
    var durationMs: Double?
    var count: Int?
}

/// The result of a command.
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
