import IsochronSession

/// The keys of a query, qualified: named ones, or a range of one keyspace. Equal ranges share their documents.
enum LiveRange: Hashable, Sendable {
    case keys(Set<ExactString>)
    /// `end` is the first key behind it. With a `level` only the keys with this many segments, without the keyspace.
    case range(start: ExactString, end: ExactString, level: Int? = nil)

    /// Limits of a watch. Bytes are those of keys and values.
    static let maxDocuments = 10_000
    static let maxBytes = 16 << 20

    static var tooLarge: IsochronError {
        IsochronError(
            .watchTooLarge,
            "a watch holds at most \(maxDocuments) documents and 16 MiB: watch fewer keys, or a shorter range")
    }

    /// Why it cannot be watched; nil for a valid one.
    var problem: IsochronError? {
        switch self {
        case .keys(let keys):
            if keys.count > Self.maxDocuments { return Self.tooLarge }
            return keys.isEmpty ? IsochronError(.invalidRequest, "a watch of no keys") : nil
        case .range(let start, let end, _):
            let keyspace = unqualify(start.text).keyspace + "/"
            let above = prefixEnd(keyspace) ?? ""
            let isOne = keyspace.utf8.count > 1 && keyPrecedes(start.text, end.text) && !keyPrecedes(above, end.text)
            let message = "the range of a watch is empty, or not one of a single keyspace"
            return isOne ? nil : IsochronError(.invalidRequest, message)
        }
    }

    func contains(_ key: ExactString) -> Bool {
        switch self {
        case .keys(let keys): keys.contains(key)
        case .range(let start, let end, let level):
            !keyPrecedes(key.text, start.text) && keyPrecedes(key.text, end.text) && isOfLevel(level, key.text)
        }
    }

    /// About its size in a request.
    var bytes: Int {
        switch self {
        case .keys(let keys): keys.reduce(0) { $0 + $1.text.utf8.count + 3 }
        case .range(let start, let end, _): start.text.utf8.count + end.text.utf8.count
        }
    }
}

/// Whether a key has this many segments, without its keyspace; where there is no level, every key is of it.
func isOfLevel(_ level: Int?, _ key: QualifiedKey) -> Bool {
    level.map { level in key.utf8.count { $0 == UInt8(ascii: "/") } == level } ?? true
}

/// The first text above every text that begins with `prefix`; nil when there is none.
func prefixEnd(_ prefix: String) -> String? {
    var scalars = Array(prefix.unicodeScalars)
    while let last = scalars.popLast() {
        // No scalar has the value of a surrogate.
        guard let next = Unicode.Scalar(last.value == 0xD7FF ? 0xE000 : last.value + 1) else { continue }
        var text = String.UnicodeScalarView(scalars)
        text.append(next)
        return String(text)
    }
    return nil
}

/// The longest prefix that both texts have, without a divided character.
func commonPrefix(_ a: String, _ b: String) -> String {
    var common = String.UnicodeScalarView()
    for (one, other) in zip(a.unicodeScalars, b.unicodeScalars) {
        if one != other { break }
        common.append(one)
    }
    return String(common)
}
