import IsochronSession

/// Applies the events of a file to a session of single operations.
struct OperationPlayer: Player {
    private let rules: OperationSessionRules
    private var session: OperationSession
    private var expectedState: OperationSessionState
    private var comparison = Comparison()

    init(rules: OperationSessionRules, id: String, region: String) {
        self.rules = rules
        session = OperationSession(id: id, region: region, rules: rules)
        expectedState = OperationSessionState(seen: [], region: region, ust: 0)
    }

    static func name(of event: OperationEvent) -> String { event.do }

    mutating func play(_ event: OperationEvent) throws -> Mismatch? {
        comparison = Comparison()
        try apply(event)
        if let state = event.state { expectedState = state.model }
        comparison.same("state", expectedState, session.export()) { shown($0) }
        return comparison.mismatch
    }

    private mutating func apply(_ event: OperationEvent) throws {
        switch event.do {
        case "get", "rot", "put", "retry": try ask(event)
        case "answered":
            let answer = try required(event.answer, "answer").model()
            let result = try outcome { try session.answered(answer) }
            comparison.same("refusal", event.refused ?? "not", result.refused)
        case "refused": session.refused()
        case "move": session.move(to: try required(event.region, "region"))
        case "observe": session.observe(try required(event.ust, "ust"))
        case "ids":
            var last = ""
            for _ in 0..<(try required(event.count, "count")) { last = session.nextTxId() }
            comparison.same("id", shown(try required(event.id, "id")), shown(last))
        case "import":
            session = OperationSession(
                id: try required(event.id, "id"), region: try required(event.region, "region"), rules: rules,
                state: try required(event.from, "from").model
            )
        default: throw VectorError.unknown(event.do)
        }
    }

    private mutating func ask(_ event: OperationEvent) throws {
        let result = try outcome { try request(event) }
        comparison.same("refusal", event.refused ?? "not", result.refused)
        if let expected = event.get { comparison.same("request", text(expected), result.returned ?? "none") }
        if let expected = event.rot { comparison.same("request", text(expected), result.returned ?? "none") }
        if let expected = event.put { comparison.same("request", text(expected), result.returned ?? "none") }
    }

    private mutating func request(_ event: OperationEvent) throws -> String {
        switch event.do {
        case "get":
            return text(try session.get(try required(event.key, "key")))
        case "rot":
            return text(try session.rot(try required(event.keys, "keys")))
        case "retry":
            return text(try session.retry())
        default:
            return text(try session.put(try required(event.key, "key"), event.value?.model, txId: event.tx))
        }
    }

    private func text(_ get: GetRequest) -> String {
        "\(shown(get.key)), seen \(get.seen) in \(shown(get.region))"
    }

    private func text(_ get: VectorGet) -> String {
        "\(shown(get.key)), seen \(get.seen) in \(shown(get.region))"
    }

    private func text(_ rot: RotRequest) -> String {
        "\(shown(rot.keys)), seen \(rot.seen) in \(shown(rot.region)), id \(shown(rot.id ?? "none"))"
    }

    private func text(_ rot: VectorRot) -> String {
        "\(shown(rot.keys)), seen \(rot.seen) in \(shown(rot.region)), id \(shown(rot.id ?? "none"))"
    }

    private func text(_ put: PutRequest) -> String {
        let seen = "seen \(put.seen) in \(shown(put.region)), depends \(shown(put.depends))"
        let sent = "sentAfter \(put.sentAfter), attemptRegions \(shown(put.attemptRegions))"
        return "\(shown(put.txId)), \(shown(put.key)): \(shown(put.value)), \(seen), \(sent)"
    }

    private func text(_ put: VectorPut) -> String {
        let depends = put.depends?.map(\.model)
        let seen = "seen \(put.seen) in \(shown(put.region)), depends \(shown(depends))"
        let sent = "sentAfter \(put.sentAfter), attemptRegions \(shown(put.attemptRegions))"
        return "\(shown(put.txId)), \(shown(put.key)): \(shown(put.value?.model)), \(seen), \(sent)"
    }
}
