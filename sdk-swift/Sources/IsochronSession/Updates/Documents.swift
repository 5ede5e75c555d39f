/// Documents in the form that folds work on: all numbers are doubles, and each name of an object is there once.
extension Raw {
    /// The document of a stored value; nil for bytes, and for a text that no door stores.
    static func document(of stored: Value) -> Raw? {
        guard case .json(let text) = stored else { return nil }
        return inNormalForm(text, maxDepth: JSONReader.maxDepth)
    }

    /// The value of a text in normal form (F8); nil for any other text.
    static func inNormalForm(_ text: String, maxDepth: Int) -> Raw? {
        guard let value = try? JSONReader.read(text, maxDepth: maxDepth).normalized,
            isSameText(value.documentText, text)
        else { return nil }
        return value
    }

    /// With doubles as numbers; of members with one name the last counts, at the place of the first.
    var normalized: Raw {
        switch self {
        case .integer(let value): return .number(Double(value))
        case .array(let items): return .array(items.map(\.normalized))
        case .object(let members):
            var places: [ExactString: Int] = [:]
            var all: [Members.Member] = []
            for member in members.all {
                let value = member.value.normalized
                if let at = places[ExactString(member.name)] {
                    all[at].value = value
                } else {
                    places[ExactString(member.name)] = all.count
                    all.append(Members.Member(name: member.name, value: value))
                }
            }
            return .object(Members(all))
        case .null, .bool, .number, .string: return self
        }
    }

    /// Levels of arrays and objects within each other.
    var levels: Int {
        switch self {
        case .array(let items): 1 + (items.map(\.levels).max() ?? 0)
        case .object(let members): 1 + (members.all.map(\.value.levels).max() ?? 0)
        case .null, .bool, .integer, .number, .string: 0
        }
    }

    /// The normal form: members in the order of JavaScript.
    package var documentText: String { text(sorting: \.inScriptOrder) }

    /// A text that equal documents share.
    var canonicalText: String {
        text { $0.all.sorted { keyPrecedes($0.name, $1.name) } }
    }

    private func text(sorting members: (Members) -> [Members.Member]) -> String {
        var out = JSONWriter()
        out.value(sorted(members))
        return out.text
    }

    private func sorted(_ order: (Members) -> [Members.Member]) -> Raw {
        switch self {
        case .array(let items): .array(items.map { $0.sorted(order) })
        case .object(let members):
            .object(Members(order(members).map { Members.Member(name: $0.name, value: $0.value.sorted(order)) }))
        case .null, .bool, .integer, .number, .string: self
        }
    }

    /// The document after a merge patch (RFC 7396). Members that the patch does not name keep their places.
    package static func merged(_ target: Raw?, _ patch: Raw) -> Raw {
        guard case .object(let changes) = patch else { return patch }
        var members = Members()
        if case .object(let before)? = target { members = before }
        for change in changes.all {
            if change.value == .null {
                members.remove(change.name)
            } else {
                members.set(change.name, merged(members[change.name], change.value))
            }
        }
        return .object(members)
    }
}

extension Raw.Members {
    /// Names that are array indices come first, in the order of the numbers.
    fileprivate var inScriptOrder: [Member] {
        let indices = all.compactMap { member in arrayIndex(member.name).map { (index: $0, member: member) } }
        if indices.isEmpty { return all }
        return indices.sorted { $0.index < $1.index }.map(\.member) + all.filter { arrayIndex($0.name) == nil }
    }
}

/// The number of a name without sign and leading zero, up to 4294967294.
func arrayIndex(_ name: String) -> Int? {
    let digits = name.utf8
    guard (1...10).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
        digits.count == 1 || digits.first != 0x30, let index = Int(name), index < UInt32.max
    else { return nil }
    return index
}
