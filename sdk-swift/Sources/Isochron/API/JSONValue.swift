import IsochronSession

/// A JSON value. Written as a literal: `["done": true, "tags": ["a", "b"], "note": nil]`.
///
/// For documents without a type of their own, and for merge patches, where `nil` removes a member.
public enum JSONValue: Hashable, Sendable {
    /// JSON null.
    case null
    /// True or false.
    case bool(Bool)
    /// A number without fraction and exponent.
    case integer(Int64)
    /// Any other number. Infinity and NaN are not JSON: a document with them is VALUE_INVALID, with their path.
    case number(Double)
    /// Text.
    case string(String)
    /// A list.
    case array([JSONValue])
    /// Members by their names.
    case object([String: JSONValue])

    /// A member of an object; nil for anything else.
    public subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { return members[name] }
        return nil
    }

    /// An item of a list; nil for an index out of range, and for anything else.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let items) = self, items.indices.contains(index) else { return nil }
        return items[index]
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Of two members with one name the later counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, later in later })
    }
}

extension JSONValue: Codable {
    /// Reads any JSON value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue {
    /// Throws VALUE_INVALID for an object with names that Unicode calls equal: a `Dictionary` has one of them.
    init(_ raw: Raw) throws {
        switch raw {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .integer(value)
        case .number(let value): self = .number(value)
        case .string(let value): self = .string(value)
        case .array(let items): self = .array(try items.map { try JSONValue($0) })
        case .object(let members): self = .object(try Self.members(members))
        }
    }

    private static func members(_ members: Raw.Members) throws -> [String: JSONValue] {
        var all: [String: JSONValue] = [:]
        for member in members.all where all.updateValue(try JSONValue(member.value), forKey: member.name) != nil {
            let why = "two names in an object are equal in Unicode, and Swift cannot keep both: \(member.name)"
            throw IsochronError(.valueInvalid, why)
        }
        return all
    }
}

extension Raw {
    /// Members in the order of their names: a literal does not keep its order.
    init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .integer(value)
        case .number(let value): self = .number(value)
        case .string(let value): self = .string(value)
        case .array(let items): self = .array(items.map(Raw.init))
        case .object(let members):
            let sorted = members.sorted { keyPrecedes($0.key, $1.key) }
            self = .object(Members(sorted.map { Members.Member(name: $0.key, value: Raw($0.value)) }))
        }
    }
}
