/// A session of interactive transactions: pure state, no clock, no I/O. The protocol (``SessionRules``) determines its
/// record of seen snapshots.
///
/// Several transactions may be open, one commit is in flight. The session makes the transactions' ids, and keeps of an
/// open one only its id and the bound of own writes in its snapshot.
///
/// Invariants: neither the seen snapshot nor `hwt` falls; every transaction's snapshot is at least the one that was
/// seen at its start; no cache entry that an open transaction may need is pruned; at most one commit is in flight.
public struct Session: Sendable {
    /// 128 random bits as text, never used by another session. It begins every transaction id that the session makes.
    public private(set) var id: String
    /// The rules of its protocol.
    public let rules: SessionRules
    /// The seen snapshot: no later snapshot may lie below it.
    public private(set) var seen: Snapshot
    /// Commit timestamp of its last write.
    public private(set) var hwt: Timestamp

    /// The highest known stable time: its commits are not older.
    private var stableUpTo: Timestamp = 0
    /// The commits above stable time, in a session that receives cuts.
    public var own: OwnCommits
    private var cache: WriteCache
    /// The open transactions, each with the bound up to which its snapshot contains own writes.
    private var open: [TxId: Timestamp] = [:]
    /// The commits that were made again while one of these was open, with their new timestamps.
    private var moves: [(id: TxId, ct: Timestamp)] = []
    private var committing: CommitAttempt?
    private var counter: UInt64 = 0

    /// Begins or continues a session.
    ///
    /// - Parameters:
    ///   - id: 128 random bits as text, never used by another session: a session that is imported gets a new one.
    ///   - rules: the rules of its protocol
    ///   - state: the result of ``export()`` elsewhere
    public init(id: String, rules: SessionRules, state: SessionState = SessionState()) {
        self.id = id
        self.rules = rules
        seen = Snapshot(ts: state.ust, deps: state.deps)
        hwt = state.hwt
        cache = WriteCache(state.cache)
        own = OwnCommits(state.own)
        cache.prune(upTo: rules.covers(seen))
    }

    /// Timestamp of the seen snapshot: under PaRiS the highest stable one.
    public var ust: Timestamp { seen.ts }

    /// Number of own writes that may not be stable yet.
    public var cacheSize: Int { cache.count }

    /// An id that no other transaction has.
    public mutating func nextTxId() -> TxId {
        defer { counter &+= 1 }
        return txId(session: id, counter: counter)
    }

    /// Begins a transaction, which is open until ``end(_:)`` or the outcome of its commit. Its snapshot follows with
    /// ``started(_:_:)``.
    public mutating func begin() -> SessionTransaction {
        let tx = SessionTransaction(id: nextTxId(), seen: seen, cache: cache, rules: rules)
        open[tx.id] = tx.covered
        return tx
    }

    /// A node has assigned a transaction's snapshot. Throws as ``SessionTransaction/started(_:)`` does.
    public mutating func started(_ tx: inout SessionTransaction, _ snapshot: Snapshot) throws(SessionError) {
        refresh(&tx)
        try tx.started(snapshot)
        if open[tx.id] != nil { open[tx.id] = tx.covered }
        observe(snapshot)
    }

    /// A transaction that began before deferred commits were made again reads these at their new timestamps.
    public func refresh(_ tx: inout SessionTransaction) {
        for (id, ct) in moves { tx.moved(id, to: ct) }
    }

    /// Whether commits of the session are deferred: until they are committed again, it reads what it has seen, and
    /// nothing newer (M10).
    public var isBehind: Bool { own.deferred != nil }

    /// Takes a snapshot from a trusted source.
    public mutating func observe(_ snapshot: Snapshot) {
        if !isBehind { seen = rules.merge(seen, snapshot) }
        prune()
    }

    /// Takes a stable time from a trusted source.
    public mutating func stable(_ ust: Timestamp) {
        stableUpTo = max(stableUpTo, ust)
        if !isBehind, let stable = rules.stable { seen = stable(seen, ust) }
        prune()
    }

    /// A transaction has ended, with or without a commit.
    public mutating func end(_ tx: SessionTransaction) {
        end(tx.id)
    }

    /// The fields of a commit that follows the one in flight, above it. It begins with ``commit(_:)`` once that is
    /// decided.
    public func attempt(_ tx: SessionTransaction) -> CommitAttempt {
        let snapshot = rules.depending?(tx.readsFrom, seen) ?? tx.readsFrom
        return CommitAttempt(
            txId: tx.id,
            snapshot: snapshot.ts,
            deps: snapshot.deps,
            hwt: hwt,
            sentAfter: max(seen.ts, stableUpTo),
            writes: tx.writes
        )
    }

    /// Begins the commit of a transaction. The result is sent, repeatedly, until the outcome is known.
    ///
    /// Throws `commitInFlight` while another one is under way.
    public mutating func commit(_ tx: SessionTransaction) throws(SessionError) -> CommitAttempt {
        guard committing == nil else { throw .commitInFlight }
        let attempt = attempt(tx)
        committing = attempt
        return attempt
    }

    /// The commit in flight has committed at `commit.ts`. Throws `noCommitInFlight` without one.
    ///
    /// - Parameters:
    ///   - place: known under protocols whose sessions judge their commits by cuts (M10)
    ///   - attempts: all attempts that were sent
    public mutating func committed(
        _ commit: Snapshot, _ place: CommitPlace? = nil, _ attempts: [AttemptCohorts] = []
    ) throws(SessionError) {
        let attempt = try takeCommitting()
        hwt = max(hwt, commit.ts)
        seen = rules.committed(seen, commit, Snapshot(ts: attempt.snapshot, deps: attempt.deps))
        for write in attempt.writes {
            cache.add(write.key, CachedWrite(ct: commit.ts, txId: attempt.txId, content: write.content))
        }
        if let place {
            own.add(
                OwnCommit(sent: attempt, attempts: attempts, acknowledged: commit.ts, ct: commit.ts, place: place))
        }
        end(attempt.txId)
    }

    /// A deferred commit is committed again.
    ///
    /// - Parameter attempts: all attempts that were sent
    public mutating func committedAgain(
        _ commit: OwnCommit, _ ts: Timestamp, _ place: CommitPlace, _ attempts: [AttemptCohorts]
    ) {
        let id = commit.sent.txId
        own.again(commit, ts, place, attempts)
        cache.move(id, to: ts)
        if !open.isEmpty { moves.append((id, ts)) }
        hwt = max(hwt, ts)
        prune()
    }

    /// The commit in flight is known to have had no effect. Throws `noCommitInFlight` without one.
    public mutating func refused() throws(SessionError) {
        let attempt = try takeCommitting()
        end(attempt.txId)
    }

    /// Gives up the order behind the commit in flight: from now on this is another session, which has seen everything
    /// that the old one has seen and written but does not follow that commit. Its outcome changes nothing here.
    ///
    /// Throws `noCommitInFlight` without one.
    ///
    /// - Parameter id: of the new session, as for a new one
    public mutating func detach(id: String) throws(SessionError) {
        try refused()
        self.id = id
        counter = 0
    }

    /// The whole session, to continue elsewhere.
    public func export() -> SessionState {
        SessionState(ust: seen.ts, deps: seen.deps, hwt: hwt, cache: cache.entries, own: own.exported)
    }

    private mutating func takeCommitting() throws(SessionError) -> CommitAttempt {
        guard let attempt = committing else { throw .noCommitInFlight }
        committing = nil
        return attempt
    }

    private mutating func end(_ id: TxId) {
        open[id] = nil
        if open.isEmpty { moves = [] }
        prune()
    }

    private mutating func prune() {
        let covered = rules.covers(seen)
        own.prune(upTo: max(stableUpTo, covered))
        cache.prune(upTo: open.values.reduce(covered, min))
    }
}
