import IsochronSession

/// Begins the session of a protocol, or continues an imported one.
///
/// Throws TOKEN_INVALID if the imported session is of another kind.
@SessionActor
func openEngine(
    _ kind: SessionKind, _ welcome: Welcome, _ imported: ExportedSession?, newId: @Sendable () -> String
) throws -> any Engine {
    switch kind {
    // Always a new name: two importers of one exported session must not make the same transaction ids.
    case .transactions(let rules):
        let state = imported?.sessionState ?? SessionState()
        return Transactions(Session(id: newId(), rules: rules, state: state))
    case .operations(let rules):
        let state = try imported.map { try importedState($0, welcome) } ?? welcomedState(welcome)
        let id = newId()
        return Operations(OperationSession(id: id, region: welcome.region, rules: rules, state: state))
    }
}

/// The kind of a protocol's sessions, or the reason for its absence.
func loadKind(_ name: String) -> Result<SessionKind, IsochronError> {
    if let kind = sessionKind(protocol: name) { return .success(kind) }
    let known = sessionProtocols.joined(separator: ", ")
    return .failure(IsochronError(.notSupportedByProtocol, "this client supports \(known), the cluster uses \(name)"))
}

/// It may name a protocol that does not fit its contents.
private func importedState(_ imported: ExportedSession, _ welcome: Welcome) throws -> OperationSessionState {
    guard let state = imported.operationState(stable: welcome.stable ?? 0) else {
        throw IsochronError.invalidSession("what it has seen is not in it")
    }
    return state
}

/// The state of the session of a token, as the node decoded it.
private func welcomedState(_ welcome: Welcome) throws -> OperationSessionState? {
    guard let seen = try welcome.seen?.exportedSeen("seen") else { return nil }
    return OperationSessionState(
        seen: seen.seen, region: seen.region, ust: welcome.stable ?? 0, depends: seen.depends)
}
