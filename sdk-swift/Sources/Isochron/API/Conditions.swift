import IsochronSession

/// How a condition compares a field with its value.
public enum Comparison: String, Hashable, Sendable, CaseIterable {
    /// The field has this value.
    case equal = "=="
    /// The field is there, and has another value.
    case notEqual = "!="
    /// Before the value.
    case less = "<"
    /// Before the value, or equal.
    case lessOrEqual = "<="
    /// After the value.
    case greater = ">"
    /// After the value, or equal.
    case greaterOrEqual = ">="
    /// The field has one of the values of an array.
    case isOneOf = "in"
    /// The field is an array with this item.
    case contains = "array-contains"
}

/// A condition on a field. A document without the field does not meet it.
///
/// `equal`, `notEqual`, `isOneOf` and `contains` compare whole values, objects and arrays too. `less`, `lessOrEqual`,
/// `greater` and `greaterOrEqual` compare numbers, texts (by their UTF-8 bytes) and booleans with values of the same
/// type; anything else does not meet them.
public struct Condition: Hashable, Sendable {
    /// A JSON Pointer (RFC 6901), such as `/done`; the empty one is the document.
    public let path: String
    /// How the field is compared.
    public let comparison: Comparison
    /// With what it is compared.
    public let value: JSONValue

    /// A condition on the field at a path.
    public init(_ path: String, _ comparison: Comparison, _ value: JSONValue) {
        self.path = path
        self.comparison = comparison
        self.value = value
    }
}

/// An order by a field: null, booleans, numbers, texts, anything else. Documents without the field come last.
public struct FieldOrder: Hashable, Sendable {
    /// The direction of an order.
    public enum Direction: String, Hashable, Sendable {
        /// The lowest first.
        case ascending = "asc"
        /// The highest first.
        case descending = "desc"
    }

    /// A JSON Pointer (RFC 6901), such as `/title`.
    public let path: String
    /// The direction.
    public let direction: Direction

    /// An order by the field at a path.
    public init(_ path: String, _ direction: Direction = .ascending) {
        self.path = path
        self.direction = direction
    }
}

/// The documents of a range of keys, and what the result has of them.
struct RangeQuery: Sendable {
    let prefix: String
    let start: String?
    let end: String?
    let isDeep: Bool
    let conditions: [Condition]
    let orders: [FieldOrder]
    let limit: Int?
    let isReversed: Bool

    /// Throws INVALID_REQUEST, KEY_INVALID, KEYSPACE_UNKNOWN, VALUE_INVALID.
    func plan(in scope: Scope, _ limits: Limits) throws -> WatchPlan {
        WatchPlan(range: try range(in: scope, limits), query: try query())
    }

    private func range(in scope: Scope, _ limits: Limits) throws -> LiveRange {
        let all = try scope.bound(prefix, limits)
        let above = prefixEnd(all) ?? all
        let first = try start.map { try scope.bound($0, limits) }.map { keyPrecedes($0, all) ? all : $0 } ?? all
        let behind = try end.map { try scope.bound($0, limits) }.map { keyPrecedes($0, above) ? $0 : above } ?? above
        guard keyPrecedes(first, behind) else {
            let message = "the range has no keys: start has to be below end, and in the prefix"
            throw IsochronError(.invalidRequest, message)
        }
        let level = try scope.level(prefix, isDeep: isDeep)
        return .range(start: ExactString(first), end: ExactString(behind), level: level)
    }

    private func query() throws -> Query {
        let conditions = try conditions.enumerated().map { i, one in
            try DocumentCoding.check(Raw(one.value), "where/\(i)/value")
            let comparison = Query.Comparison(rawValue: one.comparison.rawValue) ?? .equal
            return Query.Condition(path: one.path, comparison, Raw(one.value))
        }
        let orders = orders.map { Query.Order(path: $0.path, isDescending: $0.direction == .descending) }
        do {
            return try Query(where: conditions, orderBy: orders, limit: limit, reverse: isReversed)
        } catch {
            throw IsochronError(.invalidRequest, error.why)
        }
    }
}

extension Scope {
    /// A bound of a range in this scope. Throws KEY_INVALID, and the error of `problem`.
    func bound(_ key: String, _ limits: Limits) throws -> QualifiedKey {
        if let problem { throw problem }
        let whole = prefix + key
        if case .tooLong? = limits.problem(withKey: whole) {
            throw IsochronError(.keyInvalid, "a key has at most \(limits.maxKeyBytes) bytes")
        }
        return qualify(keyspace: keyspace, key: whole)
    }

    /// A plan for named keys, in their order. Throws INVALID_REQUEST, KEY_INVALID, and the error of `problem`.
    func plan(named keys: [String], _ limits: Limits) throws -> WatchPlan {
        if keys.isEmpty { throw IsochronError(.invalidRequest, "keys has to be an array of at least one key") }
        let named = try keys.map { ExactString(try key($0, limits)) }
        return WatchPlan(range: .keys(Set(named)), query: .all, named: named)
    }
}
