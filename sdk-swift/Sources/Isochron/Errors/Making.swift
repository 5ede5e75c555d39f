import IsochronSession

extension IsochronError {
    /// The error of a server's error frame. Codes of newer servers are passed on; an invalid code becomes INTERNAL.
    static func ofServer(code: String, detail: String, retryable: Bool, retryAfterMs: Double?) -> IsochronError {
        let isCode = !code.isEmpty && code.utf8.allSatisfy { (0x41...0x5A).contains($0) || $0 == 0x5F }
        let known = isCode ? Code(rawValue: code) : .internal
        return IsochronError(known, detail, retryable: retryable, retryAfterMs: retryAfterMs)
    }

    static var clientWasClosed: IsochronError { IsochronError(.clientClosed, "the client was closed") }

    /// A server sent a message that is not a frame, or not a valid one at this point.
    static func malformed(_ what: String) -> IsochronError {
        IsochronError(.frameInvalid, "the server sent \(what)", retryable: true)
    }

    /// A request passed its deadline while it waited for an answer, or for a connection.
    static func late(isOffline: Bool) -> IsochronError {
        isOffline ? IsochronError(.offline, "no node could be reached in time") : .lost("no answer in time")
    }

    /// The error of operations in a transaction where the protocol has none.
    static var noUpdates: IsochronError {
        IsochronError(
            .notSupportedByProtocol,
            "the protocol of this cluster has no updates and claims: read the document, and set it")
    }

    static func lost(_ message: String) -> IsochronError { IsochronError(.connectionLost, message) }

    /// Not retryable, because another call would be another transaction.
    static func outcomeUnknown(
        _ txId: TxId, _ sentAfter: Timestamp, _ why: String, _ cause: (any Error)?, _ outcome: EventualStatus
    ) -> IsochronError {
        let message = "the outcome of transaction \(txId) is not known: \(why)"
        return IsochronError(
            .outcomeUnknown, message, retryable: false, cause: cause, txId: txId, sentAfter: sentAfter, outcome: outcome
        )
    }

    /// The error of a request that waited behind a write whose outcome is not known.
    static func sessionBlocked(by txId: TxId, _ sentAfter: Timestamp) -> IsochronError {
        let message = "the request was not sent: the outcome of transaction \(txId) before it is not known"
        return IsochronError(.sessionBlocked, message, sentAfter: sentAfter, blockedBy: txId)
    }

    /// The error of an invalid exported session.
    static func invalidSession(_ why: String, _ cause: (any Error)? = nil) -> IsochronError {
        IsochronError(.tokenInvalid, "the exported session cannot be used: \(why)", cause: cause)
    }

    /// The error that a caller gets for any thrown one: `IsochronError` unchanged, others wrapped.
    static func of(_ error: any Error) -> IsochronError {
        error as? IsochronError ?? IsochronError(.internal, String(describing: error), cause: error)
    }
}
