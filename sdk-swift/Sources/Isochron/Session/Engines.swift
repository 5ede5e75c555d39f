import IsochronSession

/// Begins the session of a protocol, or goes on with an imported one.
///
/// Throws NOT_SUPPORTED_BY_PROTOCOL for a protocol that this client does not speak, TOKEN_INVALID where the imported
/// session is of another one.
@SessionActor
func openEngine(_ welcome: Welcome, _ imported: ExportedSession?) throws -> any Engine {
    let name = welcome.protocol
    if let imported, !isSameText(imported.protocolName, name) {
        let why = "it is of the protocol \(imported.protocolName), the cluster runs \(name)"
        throw IsochronError.invalidSession(why)
    }
    switch sessionKind(protocol: name) {
    // A new name in any case: two holders of one exported session must not make the same transaction ids.
    case .transactions(let rules)?:
        let state = imported?.sessionState ?? SessionState()
        return Transactions(Session(id: randomSessionId(), rules: rules, state: state))
    case .operations(let rules)?:
        let state = try imported.map { try importedState($0, welcome) } ?? welcomedState(welcome)
        let id = randomSessionId()
        return Operations(OperationSession(id: id, region: welcome.region, rules: rules, state: state))
    case nil:
        let known = sessionProtocols.joined(separator: ", ")
        throw IsochronError(.notSupportedByProtocol, "this client speaks \(known), the cluster \(name)")
    }
}

/// It may name a protocol that it cannot be of.
private func importedState(_ imported: ExportedSession, _ welcome: Welcome) throws -> OperationSessionState {
    guard let state = imported.operationState(stable: welcome.stable ?? 0) else {
        throw IsochronError.invalidSession("what it has seen is not in it")
    }
    return state
}

/// Of the session of a token, as the node reads it.
private func welcomedState(_ welcome: Welcome) throws -> OperationSessionState? {
    guard let seen = try welcome.seen?.wireSeen() else { return nil }
    return OperationSessionState(
        seen: seen.seen, region: seen.region, ust: welcome.stable ?? 0, depends: seen.depends)
}
