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
