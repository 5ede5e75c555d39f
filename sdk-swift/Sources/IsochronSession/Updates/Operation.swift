/// The reason why operations are refused.
package struct InvalidUpdate: Error, Sendable, Hashable {
    package let why: String
}

/// One operation of an update, validated.
struct Operation: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case set, remove, mergePatch, increment, max, min, arrayUnion, arrayRemove, append, serverTimestamp
        case initialize = "init"

        /// Its members beside `op`.
        var members: [String] {
            switch self {
            case .set, .max, .min: ["path", "value"]
            case .remove, .serverTimestamp: ["path"]
            case .mergePatch: ["path", "patch"]
            case .increment: ["path", "by"]
            case .arrayUnion, .arrayRemove, .append: ["path", "items"]
            case .initialize: ["value"]
            }
        }
    }

    /// Operations in one update.
    static let maxCount = 1000

    let kind: Kind
    /// The names of the path.
    let names: [String]
    /// The value, the patch, the number, or the items as an array.
    let operand: Raw

    /// Whether it stores a whole document.
    var isWhole: Bool { kind == .initialize || (kind == .set && names.isEmpty) }

    var number: Double {
        if case .number(let number) = operand { return number }
        return 0
    }

    var items: [Raw] {
        if case .array(let items) = operand { return items }
        return []
    }

    /// The operations of a JSON text. Throws ``InvalidUpdate``.
    static func parse(_ text: String) throws -> [Operation] {
        guard case .array(let all) = try read(text), !all.isEmpty else {
            throw InvalidUpdate(why: "an update is an array of at least one operation")
        }
        if let why = Update.problem(ofCount: all.count) { throw InvalidUpdate(why: why) }
        return try all.enumerated().map { try Operation($1, at: "operations[\($0)]") }
    }

    /// An operation in its array adds two levels.
    private static func read(_ text: String) throws -> Raw {
        if let operations = Raw.inNormalForm(text, maxDepth: JSONReader.maxDepth + 2) { return operations }
        let levels = JSONReader.maxDepth
        throw InvalidUpdate(why: "the operations are not the normal form of JSON of at most \(levels) levels")
    }

    private init(_ raw: Raw, at place: String) throws {
        guard case .object(let members) = raw, case .string(let op)? = members["op"], let kind = Kind(rawValue: op)
        else {
            let all = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidUpdate(why: "\(place).op must be one of \(all)")
        }
        for name in kind.members where members[name] == nil {
            throw InvalidUpdate(why: "\(place): \(op) has to have `\(name)`")
        }
        if let other = members.all.first(where: { !isSameText($0.name, "op") && !kind.members.contains($0.name) }) {
            throw InvalidUpdate(why: "\(place): \(op) has no `\(other.name)`")
        }
        self.kind = kind
        names = try kind == .initialize ? [] : Self.names(of: members["path"], at: place)
        operand = kind.members.last.flatMap { $0 == "path" ? nil : members[$0] } ?? .null
        try check(at: place)
    }

    private func check(at place: String) throws {
        switch (kind, operand) {
        case (.increment, .number), (.max, .number), (.min, .number): break
        case (.increment, _), (.max, _), (.min, _):
            throw InvalidUpdate(why: "\(place).\(kind.members[1]) has to be a number")
        case (.arrayUnion, .array), (.arrayRemove, .array), (.append, .array): break
        case (.arrayUnion, _), (.arrayRemove, _), (.append, _):
            throw InvalidUpdate(why: "\(place).items has to be an array")
        default: break
        }
        let levels = names.count + operand.levels
        if levels > JSONReader.maxDepth {
            throw InvalidUpdate(
                why: "\(place): the path and the value together have \(levels) levels, above \(JSONReader.maxDepth)")
        }
    }

    private static func names(of path: Raw?, at place: String) throws -> [String] {
        let invalid = InvalidUpdate(
            why: "\(place).path has to be a JSON Pointer (RFC 6901): empty, or names that each follow a slash")
        guard case .string(let text)? = path, let names = pointerNames(text) else { throw invalid }
        return names
    }
}

/// The names of a JSON Pointer (RFC 6901); nil for another text. By bytes: a slash and a combining accent are one
/// character of Swift.
func pointerNames(_ text: String) -> [String]? {
    if text.isEmpty { return [] }
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts[0].isEmpty else { return nil }
    let names = parts.dropFirst().map { part in unescaped(part) }
    return names.contains(nil) ? nil : names.compactMap { $0 }
}

private func unescaped(_ part: Substring.UTF8View) -> String? {
    var bytes: [UInt8] = []
    var rest = part
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "~") else {
            bytes.append(byte)
            continue
        }
        switch rest.popFirst() {
        case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
        case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
        default: return nil
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
