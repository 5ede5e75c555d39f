import IsochronSession

extension ClientCore {
    /// Commits when its turn has come. A cancellation before the send leaves no effect; afterwards the outcome is
    /// unknown.
    ///
    /// - Parameters:
    ///   - handle: the handle of its reads, if any
    ///   - writes: what it writes
    ///   - begin: makes its transaction, when the turn has come
    func commit(
        _ handle: SnapshotHandle?, _ writes: [KeyWrite],
        _ begin: @escaping @SessionActor (Transactions) throws -> SessionTransaction,
        _ caller: @escaping Caller<Committed>
    ) throws -> (any Cancellable)? {
        let transactions = try self.transactions
        let commit: CommitQueue.Begin<Committed> = { [self] ended in
            CommitExchange(self, transactions, try begin(transactions), handle, ended)
        }
        return queue.enqueue(writes: writes, drop: { handle?.end() }, begin: commit, caller)
    }
}

extension ClientCore {
    /// A commit as it is sent.
    ///
    /// - Parameters:
    ///   - at: its snapshot; nil where it ends an open transaction
    ///   - first: the first timestamp of a deferred commit (F9)
    func request(
        _ attempt: CommitAttempt, _ at: Snapshot?, hwt: Timestamp, _ attempts: [AttemptCohorts], after: TxId?,
        first: Timestamp? = nil
    ) -> Request {
        let maps = attempts.map(\.map)
        return .commit(
            CommitRequest(
                tx: attempt.txId, at: at, hwt: hwt, sentAfter: attempt.sentAfter, attemptRegions: attempts.map(\.home),
                avoids: attempts.map(\.avoid), maps: maps.allSatisfy { $0 == 0 } ? [] : maps,
                behind: own?.behind ?? [], first: first, after: after, writes: attempt.writes))
    }

    /// The place of a commit. An answer without the nodes comes from what the node knows of the outcome: no map up to
    /// that of the node defers the commit.
    ///
    /// Throws OUTCOME_PENDING for an answer that is older than a cut which defers the commit: the commit is in doubt
    /// until it is made again (M10).
    func place(of ts: Timestamp, _ answered: CommitPlace, on connection: Connection) throws -> CommitPlace {
        let place = answered.nodes == nil ? CommitPlace(map: answered.map ?? connection.map, nodes: nil) : answered
        if own != nil, try transactions.session.own.isOvertaken(ts, place) {
            throw IsochronError(.outcomePending, "a newer map of the cluster has deferred this commit")
        }
        return place
    }
}

/// A commit of a session of transactions.
final class CommitExchange: OutcomeExchange {
    private let transactions: Transactions
    private let tx: SessionTransaction
    private let attempt: CommitAttempt
    private let handle: SnapshotHandle?
    /// Whether the last send was to end an open transaction; nil before the first one.
    private var sentOpen: Bool?
    /// What it depends on, known once it leads: its session's last write before it, and its snapshot with that.
    private var led: CommitAttempt?

    init(
        _ core: ClientCore, _ transactions: Transactions, _ tx: SessionTransaction, _ handle: SnapshotHandle?,
        _ ended: @escaping CommitQueue.Ended
    ) {
        self.transactions = transactions
        self.tx = tx
        self.handle = handle
        attempt = transactions.session.attempt(tx)
        super.init(core, txId: attempt.txId, sentAfter: attempt.sentAfter, ended: ended)
    }

    override func lead() {
        do {
            led = try transactions.session.commit(tx)
        } catch {
            core.loop.out?.log(.warning, "a commit was to begin while another one was under way")
        }
        super.lead()
    }

    override func request(on connection: Connection) -> Request {
        let dependsOn = led ?? attempt
        // If the transaction is open, the commit ends it. A commit with a snapshot needs no open transaction, anywhere.
        let isOpen = sentOpen == nil && handle?.isOpen(on: connection) == true && dependsOnReads
        if !isOpen { handle?.release() }
        sentOpen = isOpen
        let at = isOpen ? nil : Snapshot(ts: dependsOn.snapshot, deps: dependsOn.deps)
        return core.request(attempt, at, hwt: dependsOn.hwt, sending(on: connection), after: before)
    }

    /// Whether it depends on nothing but its reads, beside `hwt`.
    private var dependsOnReads: Bool {
        if transactions.session.rules.depending == nil { return true }
        let dependsOn = led ?? attempt
        return Snapshot(ts: dependsOn.snapshot, deps: dependsOn.deps) == tx.readsFrom
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .committed(let commit, let map, let nodes) = answer.body else { throw unexpected(answer) }
        if before != nil { throw IsochronError.malformed("an answer to a commit before that of the one before it") }
        if !isDetached {
            let place = try core.place(of: commit.ts, CommitPlace(map: map, nodes: nodes), on: connection)
            try transactions.session.committed(commit, core.own == nil ? nil : place, attempts)
        }
        committed(commit.ts)
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        guard error.code == .transactionUnknown, sentOpen == true else { return super.refused(error, on: connection) }
        // The server has lost the open transaction; the commit does not need it.
        notBegun()
        return Retry(refusals: 0, elsewhere: .nowhere)
    }

    override func gaveUp() {
        do {
            if led == nil {
                transactions.session.end(tx)
            } else if !isDetached {
                try transactions.session.refused()
            }
        } catch {
            core.loop.out?.log(.warning, "a commit was given up that was not under way")
        }
        handle?.release()
    }
}
