import IsochronSession

/// The type of all errors of this client, except for cancellation (`CancellationError`).
///
/// Programs match on ``code``; ``message`` describes the cause and the remedy. With
/// ``Code-swift.struct/outcomeUnknown`` a commit may have happened or not: its answer was lost, and no node could be
/// asked before the deadline. The client asks in the background and holds the session's later commits until it has the
/// outcome; `IsochronClient.transactionStatus(txId:sentAfter:)` with ``txId`` and ``sentAfter`` asks for it at any
/// time, from any device. The error is not retryable: another call is another transaction, and both may happen.
/// ``outcome`` is the status of this one, and so decides whether to write again; a call with an `id` may be repeated
/// under it.
///
/// With ``Code-swift.struct/sessionBlocked`` a write waited behind such a commit, ``blockedBy``, for as long as a
/// request may take; under protocols of single operations a read waits, too. Nothing of it was sent. The session's
/// writes happen one after the other, so none of them can overtake the blocking one: its outcome becomes known when the
/// node that took part in it answers again. Repeat the write then, or give up the order with `IsochronClient.detach()`.
public struct IsochronError: Error, Sendable {
    /// The stable code.
    public let code: Code
    /// Description of the error, one sentence.
    public let message: String
    /// Whether the same request may succeed later. A commit has to be repeated under the same transaction id, as the
    /// client does.
    public let retryable: Bool
    /// After how many milliseconds, from the answer on, the node allows the same request again. With
    /// ``Code-swift.struct/rateLimited``, for which the client waits by itself; else nil.
    public let retryAfterMs: Double?
    /// The underlying error, if known. Of CREDENTIALS_UNAVAILABLE, the last failure to get credentials.
    public var cause: (any Error)? { source() }
    private let source: @Sendable () -> (any Error)?
    /// Id of the transaction whose outcome is not known, or which could not be saved; else nil.
    public let txId: TxId?
    /// Id of the transaction without a known outcome that blocks an unsent write; else nil.
    public let blockedBy: TxId?
    /// Stable time when that transaction was sent: separates *forgotten* from *unknown*.
    public let sentAfter: Timestamp?
    /// The eventual status of the transaction whose outcome is not known; else nil.
    public let outcome: EventualStatus?

    /// Creates an error.
    ///
    /// - Parameter retryable: Overrides the default of the code.
    public init(
        _ code: Code, _ message: String, retryable: Bool? = nil, retryAfterMs: Double? = nil, cause: (any Error)? = nil,
        txId: TxId? = nil, sentAfter: Timestamp? = nil, blockedBy: TxId? = nil, outcome: EventualStatus? = nil
    ) {
        self.code = code
        self.message = message
        self.retryable = retryable ?? code.isRetryable
        self.retryAfterMs = retryAfterMs
        source = { cause }
        self.txId = txId
        self.sentAfter = sentAfter
        self.blockedBy = blockedBy
        self.outcome = outcome
    }

    /// - Parameter cause: the underlying error, as it is known when it is asked for
    init(_ code: Code, _ message: String, cause: @escaping @Sendable () -> (any Error)?) {
        self.code = code
        self.message = message
        retryable = code.isRetryable
        source = cause
        (retryAfterMs, txId, blockedBy, sentAfter, outcome) = (nil, nil, nil, nil, nil)
    }
}

extension IsochronError: CustomStringConvertible {
    /// Code and message.
    public var description: String { "\(code): \(message)" }
}
