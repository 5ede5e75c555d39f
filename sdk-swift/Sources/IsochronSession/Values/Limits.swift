/// Limits of one request. A node refuses more; a client refuses before it sends.
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
        maxKeyBytes: 1024,
        maxValueBytes: 1024 * 1024,
        maxKeysPerRequest: 1000,
        maxRequestBytes: 8 * 1024 * 1024
    )

    /// Limits from a node.
    public init(maxKeyBytes: Int, maxValueBytes: Int, maxKeysPerRequest: Int, maxRequestBytes: Int) {
        self.maxKeyBytes = maxKeyBytes
        self.maxValueBytes = maxValueBytes
        self.maxKeysPerRequest = maxKeysPerRequest
        self.maxRequestBytes = maxRequestBytes
    }
}

/// The error of an invalid key.
public enum KeyProblem: Error, Hashable, Sendable {
    /// It is empty.
    case empty
    /// It has more bytes of UTF-8 than the limit allows.
    case tooLong(bytes: Int, limit: Int)
}

extension Limits {
    /// The error of a key; nil for a valid one.
    public func problem(withKey key: String) -> KeyProblem? {
        let bytes = key.utf8.count
        if bytes == 0 { return .empty }
        return bytes > maxKeyBytes ? .tooLong(bytes: bytes, limit: maxKeyBytes) : nil
    }

    /// Whether a value is within the limit.
    public func allows(_ value: Value) -> Bool {
        value.byteCount <= maxValueBytes
    }
}
