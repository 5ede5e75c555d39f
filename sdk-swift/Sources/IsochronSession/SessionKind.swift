/// The kind of session that a protocol needs, with its rules.
public enum SessionKind: Sendable {
    /// Interactive transactions: a ``Session`` with these rules.
    case transactions(SessionRules)
    /// Single operations: an ``OperationSession`` with these rules. A node reports whether it has read-only
    /// transactions.
    case operations(OperationSessionRules)
}

/// Names of the supported protocols.
public let sessionProtocols = kinds.map { $0.name }

/// The session of a protocol by its name in `welcome`; nil for an unknown protocol.
public func sessionKind(protocol name: String) -> SessionKind? {
    kinds.first { isSameText($0.name, name) }?.kind
}

private let kinds: [(name: String, kind: SessionKind)] = [
    ("paris", .transactions(.paris)),
    ("bpr", .transactions(.bpr)),
    ("nocc", .transactions(.nocc)),
    ("wren", .transactions(.wren)),
    ("cure", .transactions(.cure)),
    ("h-cure", .transactions(.hCure)),
    ("contrarian", .operations(.highest)),
    ("okapi", .operations(.highest)),
    ("gentlerain", .operations(.highest)),
    ("eventual", .operations(.highest)),
    ("orbe", .operations(.matrices)),
    ("orbe-clock", .operations(.matrices)),
    ("orbe-cleaning", .operations(.matrices)),
    ("cops-gt", .operations(.copsGt)),
    ("cc-lo", .operations(.ccLo)),
]
