/// Everything that makes a session of single operations, to continue it elsewhere.
public struct OperationSessionState: Hashable, Sendable {
    /// What it has seen, in the protocol's entries.
    public let seen: [Timestamp]
    /// Where it was seen.
    public let region: RegionId
    /// The highest stable time that it knows of.
    public let ust: Timestamp
    /// The versions that it depends on; nil where there are none.
    public let depends: [Dependency]?

    /// A session's state.
    public init(seen: [Timestamp], region: RegionId, ust: Timestamp, depends: [Dependency]? = nil) {
        self.seen = seen
        self.region = region
        self.ust = ust
        self.depends = depends
    }
}

/// The client of protocols of single operations: what it has seen goes with every request, and grows with every
/// answer. It runs one operation at a time, as the papers' clients do.
///
/// Invariants: one operation is under way; what was seen stays seen: by default no entry ever falls.
public struct OperationSession: Sendable {
    private enum UnderWay {
        case read
        case put(PutRequest)
    }

    /// 128 random bits as text, never used by another session.
    public let id: String
    /// How its protocol remembers.
    public let rules: OperationSessionRules
    /// What it has seen, in the protocol's entries.
    public private(set) var seen: [Timestamp]
    /// Where it has seen that.
    public private(set) var region: RegionId
    /// The highest stable time that it knows of. It needs one before it writes.
    public private(set) var ust: Timestamp
    /// The versions that it depends on, under protocols whose dependencies name keys.
    public private(set) var depends: [Dependency]

    /// Where its requests go.
    private var at: RegionId
    private var counter: UInt64 = 0
    private var underWay: UnderWay?

    /// Begins a session, or goes on with one.
    ///
    /// - Parameters:
    ///   - id: 128 random bits as text, never used by another session: a session that is imported gets a new one.
    ///   - region: the region that it is connected to
    ///   - rules: how its protocol remembers
    ///   - state: what ``export()`` has returned elsewhere; by default it has seen nothing
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

    /// Takes a stable time that a node has told of.
    public mutating func observe(_ ust: Timestamp) {
        self.ust = max(self.ust, ust)
    }

    /// Goes on in another region. A PUT whose outcome is not known goes there with ``retry()``; a read has to be made
    /// anew.
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

    /// Begins a PUT; nil deletes. What it returns is sent, and sent again, until the outcome is known. Throws
    /// `operationUnderWay`.
    ///
    /// - Parameter txId: one of ``nextTxId()`` that was told before; by default a new one.
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

    /// Takes the answer to what is under way. Throws `noOperationUnderWay`.
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

    /// What is under way, if anything, was refused, and has had no effect.
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

    /// Nil where there are none.
    private var named: [Dependency]? { depends.isEmpty ? nil : depends }

    private mutating func remember(_ more: [Dependency]?, by rule: DependsRules.Rule?) {
        if let rule { depends = rule(depends, more ?? [], seen) }
    }

    private mutating func begin(_ operation: UnderWay) throws(SessionError) {
        guard underWay == nil else { throw .operationUnderWay }
        underWay = operation
    }
}
