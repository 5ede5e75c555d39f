/// What the machine needs of the options.
struct ClientSettings: Sendable {
    /// Name and version of the SDK, for the operator's logs.
    let client: String
    let credentials: String?
    let requestTimeoutMs: Double
    let connectTimeoutMs: Double
    let commitTimeoutMs: Double
    /// Infinite: stay.
    let returnAfterMs: Double
    /// 128 random bits as 22 characters of base64url: the name of a session.
    let newId: @Sendable () -> String
}

/// Options with their defaults in place, for the driver.
struct Settings: Sendable {
    let keyspace: String
    let client: ClientSettings
    let sockets: any SessionSockets
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
