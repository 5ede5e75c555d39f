/// A condition on a field, ready for any number of documents. A document without the field does not meet it.
struct FieldTest: Sendable {
    private let names: [String]
    private let comparison: Query.Comparison
    private let value: Raw
    /// The texts of the values that equal the condition's, or one of them.
    private let equals: Set<ExactString>

    /// Throws ``InvalidQuery``.
    init(_ condition: Query.Condition, at place: String) throws(InvalidQuery) {
        names = try Query.names(of: condition.path, at: place)
        comparison = condition.comparison
        value = condition.value
        switch (comparison, value) {
        case (.isOneOf, .array(let items)): equals = Set(items.map(\.asItem))
        case (.isOneOf, _): throw InvalidQuery(why: "\(place).value has to be an array: op is in")
        case (.less, _), (.lessOrEqual, _), (.greater, _), (.greaterOrEqual, _):
            guard value.isScalar else {
                let op = comparison.rawValue
                throw InvalidQuery(why: "\(place).value has to be a number, a text or a boolean: op is \(op)")
            }
            equals = []
        default: equals = [value.asItem]
        }
    }

    func holds(_ document: Raw?) -> Bool {
        guard let field = document?.field(names[...]) else { return false }
        switch comparison {
        case .equal, .isOneOf: return equals.contains(field.asItem)
        case .notEqual: return !equals.contains(field.asItem)
        case .contains:
            guard case .array(let items) = field else { return false }
            return items.contains { equals.contains($0.asItem) }
        case .less: return areComparable(field, value) && order(field, value) < 0
        case .lessOrEqual: return areComparable(field, value) && order(field, value) <= 0
        case .greater: return areComparable(field, value) && order(field, value) > 0
        case .greaterOrEqual: return areComparable(field, value) && order(field, value) >= 0
        }
    }
}

extension Raw {
    /// Equal for equal values, objects and arrays too.
    fileprivate var asItem: ExactString { ExactString(canonicalText) }

    fileprivate var isScalar: Bool {
        switch self {
        case .bool, .integer, .number, .string: true
        case .null, .array, .object: false
        }
    }
}
