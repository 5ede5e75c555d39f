/// A stored value: a JSON document as its text, or raw bytes. Sessions do not parse it.
public enum Value: Hashable, Sendable {
    /// A document, as the JSON text that was written.
    case json(String)
    /// Raw bytes.
    case bytes([UInt8])

    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.json(let one), .json(let other)): isSameText(one, other)
        case (.bytes(let one), .bytes(let other)): one == other
        case (.json, .bytes), (.bytes, .json): false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .json(let text): hasher.combine(ExactString(text))
        case .bytes(let bytes): hasher.combine(bytes)
        }
    }
}

extension Value {
    /// Bytes of the text in UTF-8, or of the value.
    var byteCount: Int {
        switch self {
        case .json(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }
}

/// One write of a transaction.
public struct KeyWrite: Hashable, Sendable {
    /// The key that is written.
    public let key: QualifiedKey
    /// What is written.
    public let content: Content

    /// A write.
    public init(key: QualifiedKey, content: Content) {
        self.key = key
        self.content = content
    }

    /// A write of a value, or with nil a deletion.
    public init(key: QualifiedKey, value: Value?) {
        self.init(key: key, content: Content(value))
    }

    public static func == (left: KeyWrite, right: KeyWrite) -> Bool {
        isSameText(left.key, right.key) && left.content == right.content
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactString(key))
        hasher.combine(content)
    }
}

/// A version of a key as a node serves it.
public struct ServedVersion: Hashable, Sendable {
    /// Commit timestamp.
    public let ts: Timestamp
    /// The value; nil for a tombstone.
    public let value: Value?

    /// A version that committed at `ts`.
    public init(ts: Timestamp, value: Value?) {
        self.ts = ts
        self.value = value
    }
}

/// The result of a read: `value` is nil for an absent version and for a tombstone.
public struct ReadResult: Hashable, Sendable {
    /// The value, if there is one.
    public let value: Value?
    /// Commit timestamp of the version; nil for an absent key and for a write of the same transaction.
    public let ts: Timestamp?

    /// The result of a read.
    public init(value: Value?, ts: Timestamp?) {
        self.value = value
        self.ts = ts
    }
}
