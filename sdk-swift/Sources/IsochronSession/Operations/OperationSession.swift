/// The whole state of a session of single operations, to continue it elsewhere.
public struct OperationSessionState: Hashable, Sendable {
    /// The seen timestamps, in the protocol's entries.
    public let seen: [Timestamp]
    /// The region in which they were seen.
    public let region: RegionId
    /// The highest known stable time.
    public let ust: Timestamp
    /// The versions that it depends on; nil without dependencies.
    public let depends: [Dependency]?

    /// A session's state.
    public init(seen: [Timestamp], region: RegionId, ust: Timestamp, depends: [Dependency]? = nil) {
        self.seen = seen
        self.region = region
        self.ust = ust
        self.depends = depends
    }
}

/// The client of protocols of single operations: its seen entries go with every request, and grow with every answer. It
/// runs one operation at a time, as the papers' clients do.
///
/// Invariants: at most one operation is under way; by default no seen entry falls.
public struct OperationSession: Sendable {
    private enum UnderWay {
        case read
        case put(PutRequest)
    }

    /// 128 random bits as text, never used by another session.
    public let id: String
    /// The rules of its protocol.
    public let rules: OperationSessionRules
    /// The seen timestamps, in the protocol's entries.
    public private(set) var seen: [Timestamp]
    /// The region in which they were seen.
    public private(set) var region: RegionId
    /// The highest known stable time. The session needs one before it writes.
    public private(set) var ust: Timestamp
    /// The versions that it depends on, under protocols whose dependencies name keys.
    public private(set) var depends: [Dependency]

    /// The region of its requests.
    private var at: RegionId
    private var counter: UInt64 = 0
    private var underWay: UnderWay?

    /// Begins or continues a session.
    ///
    /// - Parameters:
    ///   - id: 128 random bits as text, never used by another session: a session that is imported gets a new one.
    ///   - region: the region that it is connected to
    ///   - rules: the rules of its protocol
    ///   - state: the result of ``export()`` elsewhere; by default the session has seen nothing
    public init(
        id: String, region: RegionId, rules: OperationSessionRules = .highest, state: OperationSessionState? = nil
    ) {
        self.id = id
        self.rules = rules
        at = region
        seen = state?.seen ?? []
        self.region = state?.region ?? region
        ust = state?.ust ?? 0
        depends = state?.depends ?? []
    }

    /// Takes a stable time from a node.
    public mutating func observe(_ ust: Timestamp) {
        self.ust = max(self.ust, ust)
    }

    /// Continues in another region. A PUT whose outcome is not known is sent there with ``retry()``; a read has to be
    /// made anew.
    public mutating func move(to region: RegionId) {
        at = region
        if case .read = underWay { underWay = nil }
    }

    /// Begins a GET. Throws `operationUnderWay`.
    public mutating func get(_ key: QualifiedKey) throws(SessionError) -> GetRequest {
        try begin(.read)
        return GetRequest(key: key, seen: seen, region: region)
    }

    /// Begins a read-only transaction. Throws `operationUnderWay`.
    public mutating func rot(_ keys: [QualifiedKey]) throws(SessionError) -> RotRequest {
        let id = rules.rotsHaveIds ? nextTxId() : nil
        try begin(.read)
        return RotRequest(keys: keys, seen: seen, region: region, id: id)
    }

    /// Begins a PUT; nil deletes. The result is sent, repeatedly, until the outcome is known. Throws
    /// `operationUnderWay`.
    ///
    /// - Parameter txId: an earlier result of ``nextTxId()``; by default a new one
    public mutating func put(
        _ key: QualifiedKey, _ value: Value?, txId: TxId? = nil
    ) throws(SessionError) -> PutRequest {
        let put = PutRequest(
            txId: txId ?? nextTxId(), key: key, value: value, seen: seen, region: region, sentAfter: ust,
            attemptRegions: [at],
            depends: named
        )
        try begin(.put(put))
        return put
    }

    /// The PUT under way, for the region that the session is connected to now: another home is another attempt.
    ///
    /// Throws `noPutUnderWay`.
    public mutating func retry() throws(SessionError) -> PutRequest {
        guard case .put(var put) = underWay else { throw .noPutUnderWay }
        if put.attemptRegions.last.map({ isSameText($0, at) }) != true { put.attemptRegions.append(at) }
        underWay = .put(put)
        return put
    }

    /// Takes the answer to the operation under way. Throws `noOperationUnderWay`.
    public mutating func answered(_ answer: OperationAnswer) throws(SessionError) {
        guard underWay != nil else { throw .noOperationUnderWay }
        underWay = nil
        switch answer {
        case .read(let more, let ust, let depends):
            seen = rules.merge(seen, more)
            remember(depends, by: rules.depends?.merge)
            region = at
            observe(ust)
        case .wrote(let more, let home, let ust, let depends):
            seen = rules.wrote(seen, more)
            remember(depends, by: rules.depends?.wrote)
            region = home
            observe(ust)
        }
    }

    /// The operation under way, if any, was refused, and has had no effect.
    public mutating func refused() {
        underWay = nil
    }

    /// The whole session, to continue elsewhere.
    public func export() -> OperationSessionState {
        OperationSessionState(seen: seen, region: region, ust: ust, depends: named)
    }

    /// An id that no other operation has.
    public mutating func nextTxId() -> TxId {
        defer { counter &+= 1 }
        return txId(session: id, counter: counter)
    }

    /// Nil without dependencies.
    private var named: [Dependency]? { depends.isEmpty ? nil : depends }

    private mutating func remember(_ more: [Dependency]?, by rule: DependsRules.Rule?) {
        if let rule { depends = rule(depends, more ?? [], seen) }
    }

    private mutating func begin(_ operation: UnderWay) throws(SessionError) {
        guard underWay == nil else { throw .operationUnderWay }
        underWay = operation
    }
}
