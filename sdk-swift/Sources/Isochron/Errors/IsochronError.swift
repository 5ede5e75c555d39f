import IsochronSession

/// Every error that this client throws, cancellation aside (`CancellationError`).
///
/// ``code`` is what programs match on, ``message`` says what happened and what to do. With
/// ``Code-swift.struct/outcomeUnknown`` a commit may or may not have happened: its answer was lost and nobody could be
/// asked before the deadline. The client goes on asking in the background and holds the session's later commits until
/// it knows; `IsochronClient.transactionStatus(txId:sentAfter:)` with ``txId`` and ``sentAfter`` asks what became of
/// it, now or later, here or from another device. It is not retryable: another call is another transaction, and both may happen.
/// ``outcome`` says what became of this one, and so whether to write again; a call with an `id` may be repeated under
/// it.
///
/// With ``Code-swift.struct/sessionBlocked`` a write waited for its turn behind such a commit, ``blockedBy``, for as long
/// as a request may take; under protocols of single operations a read waits, too. Nothing of it was sent. The session's
/// writes happen one after the other, so none of them can overtake the one that blocks: its outcome becomes known when
/// the node that took part in it answers again. Repeat the write then, or give up the order with
/// `IsochronClient.detach()`.
public struct IsochronError: Error, Sendable {
    /// The stable code.
    public let code: Code
    /// What happened, in a sentence.
    public let message: String
    /// Whether the same request may succeed later. For a commit: repeat it under the same transaction id, as the client
    /// does.
    public let retryable: Bool
    /// What caused it, where that is known.
    public let cause: (any Error)?
    /// Id of the transaction whose outcome is not known, or which could not be saved; else nil.
    public let txId: TxId?
    /// Id of the transaction whose outcome is not known, behind which a write waited that was not sent; else nil.
    public let blockedBy: TxId?
    /// Stable time when either transaction was sent: tells a transaction too old to be known from one that never was.
    public let sentAfter: Timestamp?
    /// What becomes of the transaction whose outcome is not known; else nil.
    public let outcome: EventualStatus?

    /// Creates an error.
    ///
    /// - Parameter retryable: Overrides the code's own answer.
    public init(
        _ code: Code, _ message: String, retryable: Bool? = nil, cause: (any Error)? = nil, txId: TxId? = nil,
        sentAfter: Timestamp? = nil, blockedBy: TxId? = nil, outcome: EventualStatus? = nil
    ) {
        self.code = code
        self.message = message
        self.retryable = retryable ?? code.isRetryable
        self.cause = cause
        self.txId = txId
        self.sentAfter = sentAfter
        self.blockedBy = blockedBy
        self.outcome = outcome
    }
}

extension IsochronError: CustomStringConvertible {
    /// Code and message.
    public var description: String { "\(code): \(message)" }
}
