/// Why a transport could not do what it was asked. Each carries a sentence for a log.
public enum TransportError: Error, Sendable, Hashable {
    /// The URL cannot be read, or lacks its host.
    case invalidURL(String)
    /// The platform cannot do this; the sentence says what to do instead.
    case unsupported(String)
    /// No connection came about: unknown host, nobody listens, a refused handshake.
    case unreachable(String)
    /// The connection ended before the answer.
    case closed(String)
    /// The time given was over.
    case timedOut(String)
    /// More bytes than the limit.
    case tooLarge(String)
    /// The task that waited was cancelled.
    case cancelled
}

extension TransportError: CustomStringConvertible {
    /// The sentence alone.
    public var description: String {
        switch self {
        case .invalidURL(let text), .unsupported(let text), .unreachable(let text), .closed(let text),
            .timedOut(let text), .tooLarge(let text):
            return text
        case .cancelled: return "cancelled"
        }
    }
}
