import IsochronSession

/// The status of a transaction.
public struct TransactionStatus: Hashable, Sendable {
    /// The outcome of a transaction, as far as the reachable nodes know it.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// It was started and has not been committed yet.
        case open
        /// It is not decided yet; its participants, or this client, will decide it. Ask again.
        case pending
        /// A node with a part of it was suspended. It is committed again, at a later timestamp: by its session, or by
        /// that node once it is back. Ask again.
        case deferred
        /// It is durable, at `timestamp`.
        case committed
        /// Nothing of it was written, and nothing will be unless a client still repeats its commit.
        case aborted
        /// No reachable node has its outcome. A commit that is still under way may arrive later.
        case unknown
        /// It is older than the stored outcomes, or its outcome went with a disk; only the keys themselves show its effect.
        case forgotten
        /// A lost disk took a part of it, and no attempt took effect; the rest was taken back, or is reported.
        case lost
    }

    /// The outcome.
    public let state: State
    /// Commit timestamp; of an open transaction, its snapshot; else nil.
    public let timestamp: Timestamp?
}

/// Asks any node for the status of a transaction.
final class TxStatusExchange: AwaitedExchange<TransactionStatus> {
    private let txId: TxId
    private let sentAfter: Timestamp?

    init(_ txId: TxId, _ sentAfter: Timestamp?) {
        self.txId = txId
        self.sentAfter = sentAfter
    }

    override func request(on connection: Connection) -> Request {
        .status(tx: txId, sentAfter: sentAfter)
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .status(let state, let timestamp) = answer.body else { throw unexpected(answer) }
        done(TransactionStatus(state: state, timestamp: timestamp))
    }
}
