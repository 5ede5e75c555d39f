/// A session of interactive transactions: pure state, no clock, no I/O. What it remembers of the snapshots it has
/// seen is the protocol's (``SessionRules``).
///
/// Several transactions may be open, one commit is in flight. The session makes the transactions' ids, and keeps of
/// an open one only its id and how far its snapshot covers own writes.
///
/// Invariants: what was seen never falls, nor does `hwt`; every transaction's snapshot is at least what was seen at
/// its start; no cache entry that an open transaction may need is pruned; at most one commit is in flight.
public struct Session: Sendable {
    /// 128 random bits as text, never used by another session. It begins every transaction id that the session makes.
    public private(set) var id: String
    /// How its protocol remembers.
    public let rules: SessionRules
    /// What it has seen: no later snapshot may lie below.
    public private(set) var seen: Snapshot
    /// Commit timestamp of its last write.
    public private(set) var hwt: Timestamp

    /// The highest stable time that it knows of: its commits are not older.
    private var stableUpTo: Timestamp = 0
    private var cache: WriteCache
    /// The open transactions, and up to where own writes are part of their snapshots.
    private var open: [TxId: Timestamp] = [:]
    private var committing: CommitAttempt?
    private var counter: UInt64 = 0

    /// Begins a session, or goes on with one.
    ///
    /// - Parameters:
    ///   - id: 128 random bits as text, never used by another session: a session that is imported gets a new one.
    ///   - rules: how its protocol remembers
    ///   - state: what ``export()`` has returned elsewhere
    public init(id: String, rules: SessionRules, state: SessionState = SessionState()) {
        self.id = id
        self.rules = rules
        seen = Snapshot(ts: state.ust, deps: state.deps)
        hwt = state.hwt
        cache = WriteCache(state.cache)
        prune()
    }

    /// Timestamp of what it has seen: under PaRiS the highest stable snapshot.
    public var ust: Timestamp { seen.ts }

    /// So many own writes may not be stable yet.
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
        try tx.started(snapshot)
        if open[tx.id] != nil { open[tx.id] = tx.covered }
        observe(snapshot)
    }

    /// Takes a snapshot that was learned from anywhere trustworthy.
    public mutating func observe(_ snapshot: Snapshot) {
        seen = rules.merge(seen, snapshot)
        prune()
    }

    /// Takes a stable time that was learned from anywhere trustworthy.
    public mutating func stable(_ ust: Timestamp) {
        stableUpTo = max(stableUpTo, ust)
        if let stable = rules.stable { seen = stable(seen, ust) }
        prune()
    }

    /// A transaction has ended, with or without a commit.
    public mutating func end(_ tx: SessionTransaction) {
        end(tx.id)
    }

    /// What a commit sends that is to follow the one in flight, above it. It begins with ``commit(_:)`` once that is
    /// decided.
    public func attempt(_ tx: SessionTransaction) -> CommitAttempt {
        CommitAttempt(
            txId: tx.id,
            snapshot: tx.snapshot ?? tx.floor,
            deps: tx.snapshot == nil ? tx.seen.deps : tx.deps,
            hwt: hwt,
            sentAfter: max(seen.ts, stableUpTo),
            writes: tx.writes
        )
    }

    /// Begins the commit of a transaction. What it returns is sent, and sent again, until the outcome is known.
    ///
    /// Throws `commitInFlight` where another one is under way.
    public mutating func commit(_ tx: SessionTransaction) throws(SessionError) -> CommitAttempt {
        guard committing == nil else { throw .commitInFlight }
        let attempt = attempt(tx)
        committing = attempt
        return attempt
    }

    /// The commit in flight has happened, at `commit.ts`. Throws `noCommitInFlight` where there is none.
    public mutating func committed(_ commit: Snapshot) throws(SessionError) {
        let attempt = try takeCommitting()
        hwt = max(hwt, commit.ts)
        seen = rules.committed(seen, commit, Snapshot(ts: attempt.snapshot, deps: attempt.deps))
        for write in attempt.writes {
            cache.add(write.key, CachedWrite(ct: commit.ts, txId: attempt.txId, value: write.value))
        }
        end(attempt.txId)
    }

    /// The commit in flight is known to have had no effect. Throws `noCommitInFlight` where there is none.
    public mutating func refused() throws(SessionError) {
        let attempt = try takeCommitting()
        end(attempt.txId)
    }

    /// Gives up the order behind the commit in flight: from now on this is another session, which has seen everything
    /// that the old one has seen and written but does not follow that commit. What becomes of it changes nothing here.
    ///
    /// Throws `noCommitInFlight` where there is none.
    ///
    /// - Parameter id: of the new session, as for a new one
    public mutating func detach(id: String) throws(SessionError) {
        try refused()
        self.id = id
        counter = 0
    }

    /// The whole session, to continue elsewhere.
    public func export() -> SessionState {
        SessionState(ust: seen.ts, deps: seen.deps, hwt: hwt, cache: cache.entries)
    }

    private mutating func takeCommitting() throws(SessionError) -> CommitAttempt {
        guard let attempt = committing else { throw .noCommitInFlight }
        committing = nil
        return attempt
    }

    private mutating func end(_ id: TxId) {
        open[id] = nil
        prune()
    }

    private mutating func prune() {
        let floor = open.values.reduce(rules.covers(seen), min)
        cache.prune(upTo: floor)
    }
}
