import IsochronSession

/// A change of a document that merges with those of others, in any region: `docs/updates.md` has the meaning of each,
/// and its result where types do not match.
///
/// A path is a JSON Pointer (RFC 6901): `"/left"`, `"/address/city"`; the empty one is the document.
public enum UpdateOperation: Hashable, Sendable {
    /// Stores a value. Missing objects on the way to it are made.
    case set(String, JSONValue)
    /// Removes a member or an item; with an empty path the document.
    case remove(String)
    /// Merges a JSON merge patch (RFC 7396): nil removes a member.
    case mergePatch(String, JSONValue)
    /// Adds to a number. Anything else there is replaced.
    case increment(String, by: Double)
    /// Raises a number to at least this one. Anything else there is replaced.
    case max(String, Double)
    /// Lowers a number to at most this one. Anything else there is replaced.
    case min(String, Double)
    /// Adds the items of which the array has no equal. Anything else there is replaced.
    case arrayUnion(String, [JSONValue])
    /// Removes the items that equal one of these. Anything else there becomes an empty array.
    case arrayRemove(String, [JSONValue])
    /// Adds items at the end of an array. Anything else there is replaced.
    case append(String, [JSONValue])
    /// Stores the time of the commit in ms since 1970. Until then the transaction's own reads have null there.
    case serverTimestamp(String)
    /// Stores the whole document where there is none: of several the first one has effect, see
    /// ``IsochronClient/claim(_:_:id:timeout:)``.
    case initialize(JSONValue)

    private var members: [(String, Raw)] {
        switch self {
        case .set(let path, let value): [("op", .string("set")), ("path", .string(path)), ("value", Raw(value))]
        case .remove(let path): [("op", .string("remove")), ("path", .string(path))]
        case .mergePatch(let path, let patch):
            [("op", .string("mergePatch")), ("path", .string(path)), ("patch", Raw(patch))]
        case .increment(let path, let by): [("op", .string("increment")), ("path", .string(path)), ("by", .number(by))]
        case .max(let path, let value): [("op", .string("max")), ("path", .string(path)), ("value", .number(value))]
        case .min(let path, let value): [("op", .string("min")), ("path", .string(path)), ("value", .number(value))]
        case .arrayUnion(let path, let items): Self.array("arrayUnion", path, items)
        case .arrayRemove(let path, let items): Self.array("arrayRemove", path, items)
        case .append(let path, let items): Self.array("append", path, items)
        case .serverTimestamp(let path): [("op", .string("serverTimestamp")), ("path", .string(path))]
        case .initialize(let value): [("op", .string("init")), ("value", Raw(value))]
        }
    }

    private static func array(_ op: String, _ path: String, _ items: [JSONValue]) -> [(String, Raw)] {
        [("op", .string(op)), ("path", .string(path)), ("items", .array(items.map(Raw.init)))]
    }

    /// The update of some operations. Throws VALUE_INVALID for what JSON cannot hold, VALUE_TOO_LARGE, and
    /// UPDATE_INVALID for operations that nodes would refuse.
    static func update(_ operations: [UpdateOperation], _ limits: Limits) throws -> Update {
        let all = operations.map { Raw.object(Raw.Members($0.members.map { .init(name: $0.0, value: $0.1) })) }
        let update = Update(operations: try DocumentCoding.text(ofItems: all))
        if !limits.allows(.json(update.operations)) {
            throw IsochronError(.valueTooLarge, "an update is above the limit of \(limits.maxValueBytes) bytes")
        }
        if let problem = update.problem { throw IsochronError(.updateInvalid, problem) }
        return update
    }
}

extension UpdateOperation {
    /// The operations of a stored update. Throws FRAME_INVALID.
    static func operations(of update: Update) throws -> [UpdateOperation] {
        guard case .array(let all) = try DocumentCoding.raw(of: update.operations) else { throw unknown }
        return try all.map { try UpdateOperation(try JSONValue($0)) }
    }

    private init(_ json: JSONValue) throws {
        let path = try json["path"].map(Self.text) ?? ""
        let operand = json["value"] ?? json["patch"] ?? json["by"] ?? json["items"] ?? .null
        switch try json["op"].map(Self.text) {
        case "set": self = .set(path, operand)
        case "remove": self = .remove(path)
        case "mergePatch": self = .mergePatch(path, operand)
        case "increment": self = .increment(path, by: try Self.number(operand))
        case "max": self = .max(path, try Self.number(operand))
        case "min": self = .min(path, try Self.number(operand))
        case "arrayUnion": self = .arrayUnion(path, try Self.items(operand))
        case "arrayRemove": self = .arrayRemove(path, try Self.items(operand))
        case "append": self = .append(path, try Self.items(operand))
        case "serverTimestamp": self = .serverTimestamp(path)
        case "init": self = .initialize(operand)
        default: throw Self.unknown
        }
    }

    private static func text(_ json: JSONValue) throws -> String {
        guard case .string(let text) = json else { throw unknown }
        return text
    }

    private static func number(_ json: JSONValue) throws -> Double {
        switch json {
        case .integer(let number): return Double(number)
        case .number(let number): return number
        default: throw unknown
        }
    }

    private static func items(_ json: JSONValue) throws -> [JSONValue] {
        guard case .array(let items) = json else { throw unknown }
        return items
    }

    private static var unknown: IsochronError { IsochronError.malformed("operations that this client does not know") }
}

/// The outcome of a claim.
public struct Claim<Document: Sendable>: Sendable {
    /// Whether this claim made the document.
    public let won: Bool
    /// The document of the claim that has won; nil if it was deleted at that very moment.
    public let value: Document?
}
