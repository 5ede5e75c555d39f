import IsochronSession

/// A deferred commit that is made again: it keeps its id, and its next attempt belongs to the newer map. The node that
/// was suspended may have committed it already: that is the answer then (M8).
private final class RecommitExchange: OutcomeExchange {
    private let transactions: Transactions
    private let own: OwnCommit
    private let attempt: CommitAttempt

    init(
        _ core: ClientCore, _ transactions: Transactions, _ own: OwnCommit, _ ended: @escaping CommitQueue.Ended
    ) {
        self.transactions = transactions
        self.own = own
        let sent = own.sent
        // A deferred commit lies above the horizon: below its timestamp, no log has to be searched for it.
        let sentAfter = max(sent.sentAfter, own.ct - 1)
        attempt = CommitAttempt(
            txId: sent.txId, snapshot: sent.snapshot, deps: sent.deps, hwt: sent.hwt, sentAfter: sentAfter,
            writes: sent.writes)
        super.init(core, txId: sent.txId, sentAfter: sentAfter, attempts: own.attempts, ended: ended)
        move(to: .sent)
    }

    override var isBehindDeferred: Bool { false }

    override func mustMove(from home: RegionId, on connection: Connection) -> Bool {
        attempts.last.map { $0.map < connection.map } ?? true
    }

    override func request(on connection: Connection) -> Request {
        let at = Snapshot(ts: attempt.snapshot, deps: attempt.deps)
        let hwt = transactions.session.hwt
        return core.request(attempt, at, hwt: hwt, sending(on: connection), after: nil, first: own.acknowledged)
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .committed(let commit, let map, let nodes) = answer.body else { throw unexpected(answer) }
        let place = try core.place(of: commit.ts, CommitPlace(map: map, nodes: nodes), on: connection)
        transactions.session.committedAgain(own, commit.ts, place, attempts)
        committed(commit.ts)
    }
}

/// Commits that a map has deferred are committed again, one after the other in their order, before anything else of the
/// session (M10).
@SessionActor
final class Recommits {
    /// Pause after a refusal for good: the node that was suspended commits it at its return.
    private static let retryMs = 2000.0

    /// It owns this object.
    private unowned let core: ClientCore
    /// The commit that is under way.
    private(set) var current: OutcomeExchange?
    /// The number of that commit: the end of a commit that was dropped changes nothing.
    private var turn = 0

    init(_ core: ClientCore) {
        self.core = core
    }

    /// Whether something is deferred: what the session writes meanwhile waits.
    var isNeeded: Bool { core.own?.deferred != nil }

    /// Goes on with the first deferred commit, if none is under way.
    func next() {
        if current != nil { return }
        guard let own = core.own?.deferred, let transactions = try? core.transactions else {
            return core.queue.resume()
        }
        turn += 1
        let exchange = RecommitExchange(core, transactions, own) { [weak self, turn] committedAt in
            guard let self, self.turn == turn else { return }
            current = nil
            if let committedAt { settled(own, committedAt) } else { ask(own, transactions) }
        }
        current = exchange
        exchange.run({ core.connector.dispatcher.submit($0) }, { _ in })
    }

    private func settled(_ own: OwnCommit, _ ts: Timestamp) {
        core.queue.follower?.moved(Origin(ts: ts, txId: own.sent.txId))
        next()
    }

    /// A commit was refused, as by access rules: the node that was suspended may have made it at its return. Or a lost
    /// disk had a part of the commit (D10): the session goes on without.
    private func ask(_ own: OwnCommit, _ transactions: Transactions) {
        let id = own.sent.txId
        let answered: Caller<TransactionStatus> = { [weak self] result in
            guard let self else { return }
            let first = core.own?.deferred?.sent.txId
            if case .success(let status) = result, first.map({ isSameText($0, id) }) ?? false {
                if status.state == .lost || status.state == .forgotten {
                    transactions.session.own.drop { isSameText($0.sent.txId, id) }
                    return settled(own, own.ct)
                }
                if status.state == .committed, let ts = status.timestamp, ts > own.ct {
                    let place = CommitPlace(map: core.own?.newestCut, nodes: nil)
                    transactions.session.committedAgain(own, ts, place, own.attempts)
                    return settled(own, ts)
                }
            }
            core.loop.after(Self.retryMs) { [weak self] in self?.next() }
        }
        TxStatusExchange(id, own.sent.sentAfter).run({ core.connector.dispatcher.submitTimed($0) }, answered)
    }

    /// The session goes on without its deferred commits. Returns the id of the first.
    func drop() throws -> TxId? {
        let first = isNeeded ? try core.transactions.session.own.drop(where: \.isDeferred).first : nil
        let exchange = current
        current = nil
        turn += 1
        exchange?.cancel(CancellationError())
        return first
    }
}
