/// What a query does with the documents of its keys, validated. The SDK's page has the meaning of each clause;
/// `test/vectors` holds it to the evaluation in TypeScript.
package struct Query: Sendable {
    /// How a condition compares a field with its value.
    package enum Comparison: String, CaseIterable, Sendable {
        case equal = "=="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case isOneOf = "in"
        case contains = "array-contains"
    }

    /// A condition on a field, before validation.
    package struct Condition: Sendable {
        let path: String
        let comparison: Comparison
        let value: Raw

        package init(path: String, _ comparison: Comparison, _ value: Raw) {
            self.path = path
            self.comparison = comparison
            self.value = value.normalized
        }
    }

    /// An order by a field, before validation.
    package struct Order: Sendable {
        let path: String
        let isDescending: Bool

        package init(path: String, isDescending: Bool) {
            self.path = path
            self.isDescending = isDescending
        }
    }

    /// Limit of the conditions, and of the orders.
    static let maxClauses = 100

    let tests: [FieldTest]
    let orders: [(names: [String], isDescending: Bool)]
    let limit: Int
    let isReversed: Bool

    /// Throws ``InvalidQuery``.
    package init(where conditions: [Condition], orderBy: [Order], limit: Int?, reverse: Bool) throws(InvalidQuery) {
        try Self.check(count: conditions.count, "where")
        try Self.check(count: orderBy.count, "orderBy")
        if let limit, limit < 0 { throw InvalidQuery(why: "limit has to be a whole number from 0 on") }
        var tests: [FieldTest] = []
        for (i, condition) in conditions.enumerated() { tests.append(try FieldTest(condition, at: "where[\(i)]")) }
        var orders: [(names: [String], isDescending: Bool)] = []
        for (i, order) in orderBy.enumerated() {
            orders.append((try Self.names(of: order.path, at: "orderBy[\(i)]"), order.isDescending))
        }
        self.init(tests: tests, orders: orders, limit: limit ?? .max, isReversed: reverse)
    }

    /// All documents, in the order of their keys.
    package static let all = Query(tests: [], orders: [], limit: .max, isReversed: false)

    private init(tests: [FieldTest], orders: [(names: [String], isDescending: Bool)], limit: Int, isReversed: Bool) {
        self.tests = tests
        self.orders = orders
        self.limit = limit
        self.isReversed = isReversed
    }

    /// Whether it looks into documents.
    var needsFields: Bool { !tests.isEmpty || !orders.isEmpty }

    static func names(of path: String, at place: String) throws(InvalidQuery) -> [String] {
        if let names = pointerNames(path) { return names }
        throw InvalidQuery(
            why: "\(place).path has to be a JSON Pointer (RFC 6901): empty, or names that each follow a slash")
    }

    private static func check(count: Int, _ name: String) throws(InvalidQuery) {
        if count > maxClauses { throw InvalidQuery(why: "\(name) has to be an array of at most \(maxClauses) objects") }
    }
}

/// The reason why a query is refused: its message names the clause and its fault.
package struct InvalidQuery: Error, Hashable, Sendable {
    package let why: String
}
