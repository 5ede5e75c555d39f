/// Text that is compared by its UTF-8 bytes.
///
/// In Swift, `é` equals `e` with a combining accent. In the store they are two keys, and two documents. Lookups by key
/// and comparisons of stored values use this type.
public struct ExactString: Hashable, Sendable {
    /// The unchanged text.
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

/// Whether two texts are equal byte by byte.
public func isSameText(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8)
}

/// Whether a text begins with the bytes of another.
public func hasExactPrefix(_ text: String, _ prefix: String) -> Bool {
    text.utf8.starts(with: prefix.utf8)
}

/// Whether a key comes before another one in listings: the order of their UTF-8 bytes.
public func keyPrecedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
}
