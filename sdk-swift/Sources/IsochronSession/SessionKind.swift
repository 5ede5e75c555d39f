/// What kind of session a protocol needs, and how that remembers.
public enum SessionKind: Sendable {
    /// Interactive transactions: a ``Session`` with these rules.
    case transactions(SessionRules)
    /// Single operations: an ``OperationSession`` with these rules. Whether read-only transactions exist, a node says
    /// itself.
    case operations(OperationSessionRules)
}

/// Names of the protocols that there are sessions for.
public let sessionProtocols = kinds.map { $0.name }

/// The session of a protocol by its name in `welcome`; nil for a protocol that is not known here.
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
