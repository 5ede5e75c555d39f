import IsochronSession

/// The causal session of a client: everything that it has read and written.
public struct CausalSession: Sendable {
    let lifetime: Lifetime

    /// The newest token: opaque text for the `Isochron-Session` header, or for `connect(token:)`. It covers every
    /// answered request. While the client changes its connection with requests under way, it may lag by one round trip;
    /// `export()` never lags.
    public var token: String {
        get async { await lifetime.driver.core.currentToken ?? "" }
    }

    /// Upper bound of the age of the session's next read, by the node's clock; nil before the first stable time.
    public var staleness: Duration? {
        get async { await lifetime.driver.status.staleness }
    }

    /// The session as data: `connect(session:)` continues it, on any device, in any region and with any SDK, and sees
    /// everything that this session has seen and written. The two are independent afterwards.
    ///
    /// Commits under way (`ClientStatus.pendingCommits`) are not part of it. Keep it secret: it contains the token.
    public func export() async -> ExportedSession {
        await lifetime.driver.export() ?? ExportedSession(token: "", ust: 0, hwt: 0)
    }
}
