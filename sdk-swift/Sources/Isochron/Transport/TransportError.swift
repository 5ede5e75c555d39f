/// The failure of a transport. Each case has a sentence for a log.
public enum TransportError: Error, Sendable, Hashable {
    /// The URL cannot be parsed, or lacks its host.
    case invalidURL(String)
    /// The platform does not support this; the sentence names an alternative.
    case unsupported(String)
    /// No connection was established: unknown host, no listener, a refused handshake.
    case unreachable(String)
    /// TLS failed: a certificate that is not accepted, or a server without TLS.
    case tlsFailed(String)
    /// The connection ended before the answer.
    case closed(String)
    /// The time limit has passed.
    case timedOut(String)
    /// More bytes than the limit.
    case tooLarge(String)
    /// The waiting task was cancelled.
    case cancelled
}

extension TransportError: CustomStringConvertible {
    /// The sentence alone.
    public var description: String {
        switch self {
        case .invalidURL(let text), .unsupported(let text), .unreachable(let text), .tlsFailed(let text),
            .closed(let text), .timedOut(let text), .tooLarge(let text):
            return text
        case .cancelled: return "cancelled"
        }
    }
}
