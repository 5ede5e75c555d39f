import IsochronSession

/// What became of a transaction.
public struct TransactionStatus: Hashable, Sendable {
    /// How a transaction ended, as far as the nodes that could be asked know.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// It was started and has not been committed yet.
        case open
        /// It is on its way; its participants, or this client, will decide it. Ask again.
        case pending
        /// It is durable, at `timestamp`.
        case committed
        /// Nothing of it was written, and nothing will be unless somebody still repeats its commit.
        case aborted
        /// No node that could be asked knows how it ended. A commit that is still under way somewhere may arrive yet.
        case unknown
        /// It is older than the outcomes that are kept; only the keys themselves can tell.
        case forgotten
        /// A node that took part has lost its disk, and what it knew with it.
        case lost
    }

    /// How it ended.
    public let state: State
    /// Commit timestamp; of an open transaction, its snapshot; else nil.
    public let timestamp: Timestamp?
}

/// Asks any node what became of a transaction.
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
