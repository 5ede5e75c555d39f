import IsochronSession

/// Decoded JSON before validation. Members keep their order.
enum Raw: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits.
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([Raw])
    case object(Members)

    /// The members of an object. Of two with one name the later counts.
    struct Members: Hashable, Sendable {
        private(set) var all: [Member]

        init(_ all: [Member] = []) {
            self.all = all
        }

        struct Member: Hashable, Sendable {
            let name: String
            var value: Raw
        }

        /// Objects of frames are small: a linear search is faster than hashing.
        subscript(_ name: String) -> Raw? {
            all.last { isSameText($0.name, name) }?.value
        }

        mutating func set(_ name: String, _ value: Raw) {
            if let at = all.lastIndex(where: { isSameText($0.name, name) }) {
                all[at].value = value
            } else {
                all.append(Member(name: name, value: value))
            }
        }

        mutating func remove(_ name: String) {
            all.removeAll { isSameText($0.name, name) }
        }
    }

    /// The largest integer that a double, and so a JavaScript client, holds exactly with all below it.
    static let maxSafeInteger: Int64 = 9_007_199_254_740_991

    /// The value as an exact integer, if it is one: `3`, `3.0` and `3e0` are the same.
    var exactInteger: Int64? {
        switch self {
        case .integer(let value): return value.magnitude <= UInt64(Self.maxSafeInteger) ? value : nil
        case .number(let value): return value.magnitude <= Double(Self.maxSafeInteger) ? Int64(exactly: value) : nil
        default: return nil
        }
    }
}
