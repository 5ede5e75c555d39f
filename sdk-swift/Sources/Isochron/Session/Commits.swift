import IsochronSession

extension ClientCore {
    /// Commits when its turn has come. Taken back before it is sent, it has no effect; afterwards the outcome is
    /// unknown.
    ///
    /// - Parameters:
    ///   - handle: the one that it read through, if it did
    ///   - begin: makes its transaction, when the turn has come
    func commit(
        _ handle: SnapshotHandle?, _ begin: @escaping @SessionActor (Transactions) throws -> SessionTransaction,
        _ caller: @escaping Caller<Committed>
    ) throws -> (any Cancellable)? {
        let transactions = try self.transactions
        let commit: CommitQueue.Begin<Committed> = { [self] ended in
            let attempt = try transactions.session.commit(try begin(transactions))
            return CommitExchange(self, transactions, attempt, handle, ended)
        }
        return queue.enqueue(writes: true, drop: { handle?.end() }, begin: commit, caller)
    }
}

/// A commit of a session of transactions.
final class CommitExchange: OutcomeExchange {
    private let transactions: Transactions
    private let attempt: CommitAttempt
    private let handle: SnapshotHandle?
    private var sentOpen = false

    init(
        _ core: ClientCore, _ transactions: Transactions, _ attempt: CommitAttempt, _ handle: SnapshotHandle?,
        _ ended: @escaping CommitQueue.Ended
    ) {
        self.transactions = transactions
        self.attempt = attempt
        self.handle = handle
        super.init(core, txId: attempt.txId, birth: attempt.birth, ended: ended)
    }

    override func request(on connection: Connection) -> Request {
        // Where the transaction is open, the commit ends it. A commit with a snapshot asks for nothing open, anywhere.
        let isOpen = !sent && handle?.isOpen(on: connection) == true
        if !isOpen { handle?.release() }
        sentOpen = isOpen
        let attempts = sending(on: connection)
        return .commit(
            CommitRequest(
                tx: attempt.txId, at: isOpen ? nil : Snapshot(ts: attempt.snapshot, deps: attempt.deps),
                hwt: attempt.hwt, birth: attempt.birth, homes: attempts.map(\.home), avoids: attempts.map(\.avoid),
                writes: attempt.writes))
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .committed(let commit) = answer.body else { throw unexpected(answer) }
        if !isDetached { try transactions.session.committed(commit) }
        committed(commit.ts)
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        guard error.code == .transactionUnknown, sentOpen else { return super.refused(error, on: connection) }
        // The server forgot the open transaction; the commit itself can do without.
        notBegun()
        return Retry(refusals: 0, elsewhere: .nowhere)
    }

    override func gaveUp() {
        do {
            if !isDetached { try transactions.session.refused() }
        } catch {
            core.loop.out?.log(.warning, "a commit was given up that was not under way")
        }
        handle?.release()
    }
}
