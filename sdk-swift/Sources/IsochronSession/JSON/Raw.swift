/// Decoded JSON before validation. Members keep their order.
package enum Raw: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits.
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([Raw])
    case object(Members)

    /// The members of an object. Of two with one name the later counts.
    package struct Members: Hashable, Sendable {
        package private(set) var all: [Member]

        package init(_ all: [Member] = []) {
            self.all = all
        }

        package struct Member: Hashable, Sendable {
            package let name: String
            package var value: Raw

            package init(name: String, value: Raw) {
                self.name = name
                self.value = value
            }
        }

        /// Objects of frames are small: a linear search is faster than hashing.
        package subscript(_ name: String) -> Raw? {
            all.last { isSameText($0.name, name) }?.value
        }

        package mutating func set(_ name: String, _ value: Raw) {
            if let at = all.lastIndex(where: { isSameText($0.name, name) }) {
                all[at].value = value
            } else {
                all.append(Member(name: name, value: value))
            }
        }

        /// Changes a member; nil stands for an absent one.
        package mutating func change<Result>(_ name: String, _ body: (inout Raw?) -> Result) -> Result {
            guard let at = all.lastIndex(where: { isSameText($0.name, name) }) else {
                var added: Raw?
                let result = body(&added)
                if let added { all.append(Member(name: name, value: added)) }
                return result
            }
            // Moved out, so that it is changed in place and not copied.
            var value: Raw? = all[at].value
            all[at].value = .null
            let result = body(&value)
            if let value { all[at].value = value } else { all.remove(at: at) }
            return result
        }

        package mutating func remove(_ name: String) {
            all.removeAll { isSameText($0.name, name) }
        }
    }

    /// The largest integer that a double, and so a JavaScript client, holds exactly with all below it.
    package static let maxSafeInteger: Int64 = 9_007_199_254_740_991

    /// The value as an exact integer, if it is one: `3`, `3.0` and `3e0` are the same.
    package var exactInteger: Int64? {
        switch self {
        case .integer(let value): return value.magnitude <= UInt64(Self.maxSafeInteger) ? value : nil
        case .number(let value): return value.magnitude <= Double(Self.maxSafeInteger) ? Int64(exactly: value) : nil
        default: return nil
        }
    }
}
