import IsochronSession

@testable import Isochron

/// Outcomes, errors and the status in the format of step traces.
func object(_ members: (String, Raw?)...) -> Raw {
    var all = Raw.Members()
    for (name, value) in members { if let value { all.set(name, value) } }
    return .object(all)
}

func shown(_ outcome: CallOutcome) -> Raw {
    switch outcome {
    case .done: .null
    case .closed(let report):
        object(
            ("dropped", .array(report.dropped.map { .array($0.map { .string($0) }) })),
            ("undecided", .array(report.undecided.map(shown))))
    case .values(let values): .array(values.map { $0.map { shown($0) } ?? .null })
    case .page(let page):
        object(
            ("entries", .array(page.entries.map { .array([.string($0.key), shown($0.value)]) })),
            ("next", page.next.map { .string($0) } ?? .null))
    case .committed(let committed):
        object(("timestamp", .integer(committed.timestamp)), ("txId", .string(committed.txId)))
    case .claimed(let claimed):
        object(("won", .bool(claimed.won)), ("value", claimed.value.map { shown($0) } ?? .null))
    case .status(let status):
        object(("state", .string(status.state.rawValue)), ("timestamp", status.timestamp.map { .integer($0) }))
    case .changes(let page): object(("from", .integer(page.from)), ("to", .integer(page.to)))
    case .detached(let txId): txId.map { .string($0) } ?? .null
    }
}

private func shown(_ write: CloseReport.UndecidedWrite) -> Raw {
    object(("txId", .string(write.txId)), ("sentAfter", write.sentAfter.map { .integer($0) }))
}

func shown(_ value: Value) -> Raw {
    switch value {
    case .json(let text): .string(text)
    case .bytes(let bytes): object(("bytes", .string(toBase64(bytes))))
    }
}

func shown(_ error: IsochronError) -> Raw {
    object(
        ("code", .string(error.code.rawValue)), ("retryable", .bool(error.retryable)),
        ("txId", (error.code == .sessionBlocked ? error.blockedBy : error.txId).map { .string($0) }),
        ("sentAfter", error.sentAfter.map { .integer($0) }))
}

func shown(_ status: CoreStatus) -> Raw {
    let heldBackBy = status.heldBackBy.map { held in
        object(
            ("region", .string(held.region)), ("node", held.node.map { .string($0) } ?? .null),
            ("partition", held.partition.map { .string($0) } ?? .null))
    }
    return object(
        ("state", .string(status.state.rawValue)), ("region", status.region.map { .string($0) }),
        ("node", status.node.map { .string($0) }), ("rttMs", status.rttMs.map { .number($0) }),
        ("ust", .integer(status.ust)), ("stalenessMs", status.stalenessMs.map { .number($0) }),
        ("stale", .bool(status.stale)), ("heldBackBy", heldBackBy),
        ("unresponsive", .array(status.unresponsive.map { .string($0) })),
        ("pendingCommits", .integer(Int64(status.pendingCommits))),
        ("deferredCommits", .integer(Int64(status.deferredCommits))),
        ("oldestPendingCommitMs", status.oldestPendingCommitMs.map { .number($0) }))
}

extension Raw {
    func double() throws -> Double {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: throw Unknown(what: "a number that is none")
        }
    }

    /// JSON text, bytes, or nil for null.
    func valueOrNil() throws -> Value? {
        if self == .null { return nil }
        return try value()
    }

    /// With sorted members and one form of each number: equal texts stand for equal values.
    var canonical: String {
        switch self {
        case .null: "null"
        case .bool(let flag): "\(flag)"
        case .integer(let number): "\(number)"
        case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .string(let text): "\"\(text.unicodeScalars.map { $0.escaped(asASCII: true) }.joined())\""
        case .array(let items): "[\(items.map(\.canonical).joined(separator: ","))]"
        case .object(let members):
            "{\(members.all.sorted { $0.name < $1.name }.map(\.canonical).joined(separator: ","))}"
        }
    }
}

extension Raw.Members.Member {
    fileprivate var canonical: String { "\(name):\(value.canonical)" }
}

extension Raw.Members {
    func members(_ name: String) throws -> Raw.Members {
        try required(name).members(name)
    }

    func number(_ name: String) throws -> Int {
        Int(try required(name).double())
    }
}
