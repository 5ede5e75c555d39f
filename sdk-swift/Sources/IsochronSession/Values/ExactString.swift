/// Text that is compared by its UTF-8 bytes.
///
/// Swift holds `é` and `e` with a combining accent for one string. To the store they are two keys, and two documents.
/// Whatever is looked up by a key, or compared as a stored value, goes through this type.
public struct ExactString: Hashable, Sendable {
    /// The text as it came.
    public let text: String

    /// Wraps a text.
    public init(_ text: String) {
        self.text = text
    }

    public static func == (left: ExactString, right: ExactString) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// Whether two texts are the same, byte by byte.
public func isSameText(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8)
}

/// Whether a text begins with the bytes of another one.
public func hasExactPrefix(_ text: String, _ prefix: String) -> Bool {
    text.utf8.starts(with: prefix.utf8)
}

/// Whether a key comes before another one in listings: the order of their UTF-8 bytes.
public func keyPrecedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
}
