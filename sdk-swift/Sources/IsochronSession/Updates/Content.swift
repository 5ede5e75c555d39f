/// What a write stores.
public enum Content: Hashable, Sendable {
    /// A value, in the place of what is there.
    case put(Value)
    /// A change of the document that is there.
    case update(Update)
    /// No document.
    case delete

    /// A value; nil deletes.
    public init(_ value: Value?) {
        self = value.map(Content.put) ?? .delete
    }

    var isUpdate: Bool {
        if case .update = self { return true }
        return false
    }

    /// The number of its operations. A put or a delete counts as one, which an update after it needs.
    public var operationCount: Int {
        if case .update(let update) = self { return update.count }
        return 1
    }

    /// What a transaction stores that made this write of a key and then an update of it.
    public func followed(by newer: Update) -> Content {
        switch self {
        case .update(let older): .update(older.joined(newer))
        case .delete: .update(Update(operations: #"[{"op":"remove","path":""}]"#).joined(newer))
        case .put(let value):
            if let document = Raw.document(of: value) {
                .update(.storing(document).joined(newer))
            } else {
                Self.opaque(value, newer)
            }
        }
    }

    /// Operations cannot hold bytes. Those that change bytes replace them, as they replace null.
    private static func opaque(_ value: Value, _ newer: Update) -> Content {
        var fold = Fold(value)
        fold.apply(newer)
        return fold.result == value ? .put(value) : .update(.storing(.null).joined(newer))
    }
}

extension Update {
    fileprivate static func storing(_ document: Raw) -> Update {
        Update(operations: #"[{"op":"set","path":"","value":\#(document.documentText)}]"#)
    }

    fileprivate func joined(_ newer: Update) -> Update {
        let (older, more) = (operations.utf8, newer.operations.utf8)
        guard let end = older.lastIndex(of: UInt8(ascii: "]")), let start = more.firstIndex(of: UInt8(ascii: "["))
        else {
            return newer
        }
        return Update(operations: "\(operations[..<end]),\(newer.operations[more.index(after: start)...])")
    }
}
