import IsochronSession

extension IsochronError {
    /// The error of a server's error frame. A code from a newer server becomes INTERNAL, with the code in the message.
    static func ofServer(code: String, detail: String, retryable: Bool) -> IsochronError {
        let known = Code(rawValue: code)
        return known.isKnown
            ? IsochronError(known, detail, retryable: retryable)
            : IsochronError(.internal, "\(code): \(detail)", retryable: retryable)
    }

    static var clientWasClosed: IsochronError { IsochronError(.clientClosed, "the client was closed") }

    /// A server sent something that is not a frame, or not one that fits here.
    static func malformed(_ what: String) -> IsochronError {
        IsochronError(.frameInvalid, "the server sent \(what)", retryable: true)
    }

    static func lost(_ message: String) -> IsochronError { IsochronError(.connectionLost, message) }

    static func outcomeUnknown(_ txId: TxId, _ birth: Timestamp, _ why: String, _ cause: (any Error)?) -> IsochronError
    {
        let message = "the outcome of transaction \(txId) is not known: \(why)"
        return IsochronError(.outcomeUnknown, message, cause: cause, txId: txId, birth: birth)
    }

    /// What waited for its turn behind a write whose outcome is not known.
    static func sessionBlocked(by txId: TxId, _ birth: Timestamp) -> IsochronError {
        let message = "the request was not sent: the outcome of transaction \(txId) before it is not known"
        return IsochronError(.sessionBlocked, message, birth: birth, blockedBy: txId)
    }

    /// The error of an exported session that makes no sense.
    static func invalidSession(_ why: String, _ cause: (any Error)? = nil) -> IsochronError {
        IsochronError(.tokenInvalid, "the exported session cannot be used: \(why)", cause: cause)
    }

    /// What a caller sees of anything thrown: errors of ours as they are, others wrapped.
    static func of(_ error: any Error) -> IsochronError {
        error as? IsochronError ?? IsochronError(.internal, String(describing: error), cause: error)
    }
}
