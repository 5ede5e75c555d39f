/// The options of the machine. The times are members of the settings, too.
@dynamicMemberLookup
struct ClientSettings: Sendable {
    /// Name and version of the SDK, for the operator's logs.
    let client: String
    /// Credentials that do not expire.
    let credentials: String?
    /// Whether the driver has credentials on request (`authenticate`), which are renewed.
    let renewsCredentials: Bool
    let times: ClientTimes
    /// 128 random bits as 22 characters of base64url: the name of a session.
    let newId: @Sendable () -> String

    subscript(dynamicMember time: KeyPath<ClientTimes, Double>) -> Double { times[keyPath: time] }
}

/// Options with their defaults filled in, for the driver.
struct Settings: Sendable {
    let keyspace: String
    let client: ClientSettings
    /// Gives the newest credentials.
    let auth: (@Sendable () async throws -> String)?
    let sockets: any SessionSockets
    let timing: any Timing
    /// Uniform in `0 ..< 1`.
    let random: @Sendable () -> Double
    let logger: (@Sendable (LogLevel, String) -> Void)?

    func log(_ level: LogLevel, _ message: @autoclosure () -> String) {
        logger?(level, message())
    }
}

/// The importance of a log message.
public enum LogLevel: String, Sendable {
    /// Normal operation.
    case debug
    /// An unexpected event.
    case warning
}
