/// Options with their defaults in place, for the inside.
struct Settings: Sendable {
    let keyspace: String
    let credentials: String?
    let requestTimeoutMs: Double
    let connectTimeoutMs: Double
    let commitTimeoutMs: Double
    /// Infinite: stay.
    let returnAfterMs: Double
    let transport: any WebSocketTransport
    let timing: any Timing
    /// Uniform in `0 ..< 1`.
    let random: @Sendable () -> Double
    let logger: (@Sendable (LogLevel, String) -> Void)?

    func log(_ level: LogLevel, _ message: @autoclosure () -> String) {
        logger?(level, message())
    }
}

/// How much a log message matters.
public enum LogLevel: String, Sendable {
    /// What the client does.
    case debug
    /// What should not have happened.
    case warning
}
