// Generated from packages/core/src/limits.ts: change the declarations there, then run
// `REWRITE=1 npm test -- test/swift-declarations`.

/// Limits of one request. A node refuses more with a coded error before it allocates.
public struct Limits: Hashable, Sendable {
    /// UTF-8 bytes of a key.
    public let maxKeyBytes: Int
    /// UTF-8 bytes of a JSON document, or bytes of a binary value.
    public let maxValueBytes: Int
    /// Keys in one request.
    public let maxKeysPerRequest: Int
    /// Bytes of one request's body or frame.
    public let maxRequestBytes: Int

    /// The limits of a cluster that sets none.
    public static let standard = Limits(
        maxKeyBytes: 1_024,
        maxValueBytes: 1_048_576,
        maxKeysPerRequest: 1_000,
        maxRequestBytes: 8_388_608
    )

    /// Limits from a node.
    public init(maxKeyBytes: Int, maxValueBytes: Int, maxKeysPerRequest: Int, maxRequestBytes: Int) {
        self.maxKeyBytes = maxKeyBytes
        self.maxValueBytes = maxValueBytes
        self.maxKeysPerRequest = maxKeysPerRequest
        self.maxRequestBytes = maxRequestBytes
    }
}
