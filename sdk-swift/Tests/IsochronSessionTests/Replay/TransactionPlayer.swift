import IsochronSession

/// Applies the events of a file to a session of transactions.
struct TransactionPlayer: Player {
    private let rules: SessionRules
    private var session: Session
    private var transactions: [String: SessionTransaction] = [:]
    private var expectedState: SessionState
    private var comparison = Comparison()

    init(rules: SessionRules, id: String) {
        self.rules = rules
        session = Session(id: id, rules: rules)
        expectedState = SessionState()
    }

    static func name(of event: TransactionEvent) -> String { event.do }

    mutating func play(_ event: TransactionEvent) throws -> Mismatch? {
        comparison = Comparison()
        try apply(event)
        if let state = event.state { expectedState = state.model }
        comparison.same("state", expectedState, session.export()) { shown($0) }
        return comparison.mismatch
    }

    private mutating func apply(_ event: TransactionEvent) throws {
        switch event.do {
        case "begin": try keep(session.begin(), event)
        case "past":
            let seen = Snapshot(ts: try required(event.at, "at"))
            try keep(SessionTransaction(id: session.nextTxId(), seen: seen), event)
        case "started": try started(event)
        case "lookup", "record": try read(event)
        case "write":
            var transaction = try transaction(of: event)
            transaction.write(try required(event.key, "key"), event.value?.model ?? .delete)
            try keep(transaction, event)
        case "overlay": try overlay(event)
        case "observe": session.observe(try required(event.snapshot, "snapshot").model)
        case "stable": session.stable(try required(event.ust, "ust"))
        case "commit", "committed", "refused", "detach": try commit(event)
        case "end": session.end(try transaction(of: event))
        case "ids": try ids(event)
        case "import":
            session = Session(
                id: try required(event.id, "id"), rules: rules, state: try required(event.from, "from").model
            )
            transactions = [:]
        default: throw VectorError.unknown(event.do)
        }
    }

    private func transaction(of event: TransactionEvent) throws -> SessionTransaction {
        let name = try required(event.tx, "tx")
        return try required(transactions[name], name)
    }

    /// Keeps a transaction as it is now, and compares it.
    private mutating func keep(_ transaction: SessionTransaction, _ event: TransactionEvent) throws {
        transactions[try required(event.tx, "tx")] = transaction
        let view = try required(event.view, "view")
        comparison.same("id", shown(view.id), shown(transaction.id))
        comparison.same("floor", view.floor, transaction.floor) { shown($0) }
        comparison.same("snapshot", view.snapshot, transaction.snapshot) { shown($0) }
        comparison.same("deps", view.deps, transaction.deps) { shown($0) }
        comparison.same("covered", view.covered ?? .max, transaction.covered) { shown($0) }
        comparison.same("hasWrites", view.hasWrites, transaction.hasWrites) { "\($0)" }
        comparison.same("writes", view.writes.map(\.model), transaction.writes) { shown($0) }
    }

    private mutating func started(_ event: TransactionEvent) throws {
        var transaction = try transaction(of: event)
        let snapshot = try required(event.snapshot, "snapshot").model
        let result = try outcome { try session.started(&transaction, snapshot) }
        comparison.same("refusal", event.refused ?? "not", result.refused)
        try keep(transaction, event)
    }

    private mutating func read(_ event: TransactionEvent) throws {
        var transaction = try transaction(of: event)
        let key = try required(event.key, "key")
        let isLookup = event.do == "lookup"
        let result = isLookup ? transaction.lookup(key) : transaction.record(key, event.version?.model)
        transactions[try required(event.tx, "tx")] = transaction
        comparison.same("read", event.read?.model, result) { shown($0) }
    }

    private mutating func overlay(_ event: TransactionEvent) throws {
        let expected = try required(event.overlay, "overlay").map { item in
            "\(shown(item.key)): \(shown(ReadResult(value: item.value?.model, ts: item.ts)))"
        }
        let got = try transaction(of: event).overlay().map { item in
            // The file has them over a snapshot without the key.
            let value = laidOver(.some(nil), item.writes) ?? nil
            return "\(shown(item.key)): \(shown(ReadResult(value: value, ts: item.writes.last?.version?.ts)))"
        }
        comparison.same("overlay", expected.joined(separator: ", "), got.joined(separator: ", "))
    }

    private mutating func commit(_ event: TransactionEvent) throws {
        let result = try outcome { () throws -> CommitAttempt? in
            if event.do == "commit" { return try session.commit(try transaction(of: event)) }
            switch event.do {
            case "refused": try session.refused()
            case "detach": try session.detach(id: try required(event.id, "id"))
            default: try session.committed(try required(event.snapshot, "snapshot").model)
            }
            return nil
        }
        comparison.same("refusal", event.refused ?? "not", result.refused)
        comparison.same("attempt", event.attempt?.model, result.returned ?? nil) { shown($0) }
    }

    private mutating func ids(_ event: TransactionEvent) throws {
        var last = ""
        for _ in 0..<(try required(event.count, "count")) { last = session.nextTxId() }
        comparison.same("id", shown(try required(event.id, "id")), shown(last))
    }
}
