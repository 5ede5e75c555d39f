/// The values of fields as queries compare them.
extension Raw {
    /// The document of a stored value as queries see it; nil for bytes, which have no fields. Throws for a text that is
    /// not JSON.
    package static func queried(_ stored: Value) throws -> Raw? {
        guard case .json(let text) = stored else { return nil }
        return try JSONReader.read(text).normalized
    }

    /// The value at the end of a path of names; nil where there is none.
    func field(_ names: ArraySlice<String>) -> Raw? {
        guard let name = names.first else { return self }
        switch self {
        case .array(let items):
            guard let at = arrayIndex(name), items.indices.contains(at) else { return nil }
            return items[at].field(names.dropFirst())
        case .object(let members): return members[name]?.field(names.dropFirst())
        case .null, .bool, .integer, .number, .string: return nil
        }
    }

    /// The place of its type in the order of types. Objects and arrays have none among themselves.
    fileprivate var rank: Int {
        switch self {
        case .null: 0
        case .bool: 1
        case .integer, .number: 2
        case .string: 3
        case .array, .object: 4
        }
    }

    fileprivate var double: Double {
        switch self {
        case .bool(let value): value ? 1 : 0
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .string, .array, .object: 0
        }
    }
}

/// Whether two values are of one type, whose values have an order.
func areComparable(_ a: Raw, _ b: Raw) -> Bool { a.rank == b.rank }

/// Below zero if `a` comes before `b`: null, then false and true, then numbers, then texts by their UTF-8 bytes, then
/// objects and arrays, which are equal to one another in the order; a missing field is last.
func order(_ a: Raw?, _ b: Raw?) -> Int {
    let missing = 5
    let (rank, other) = (a?.rank ?? missing, b?.rank ?? missing)
    if rank != other { return rank - other }
    switch (a, b) {
    case (.string(let one)?, .string(let two)?): return keyPrecedes(one, two) ? -1 : keyPrecedes(two, one) ? 1 : 0
    case (let one?, let two?): return one.double < two.double ? -1 : one.double > two.double ? 1 : 0
    default: return 0
    }
}
