import IsochronSession

/// The causal session that a client holds: what it has seen and written.
public struct CausalSession: Sendable {
    let lifetime: Lifetime

    /// The newest token: opaque text for the `Isochron-Session` header, or for `connect(token:)`. It has what was
    /// answered. While the client changes from one connection to another with requests under way, it may lag behind by a
    /// round trip; `export()` never does.
    public var token: String {
        get async { await lifetime.driver.core.currentToken ?? "" }
    }

    /// Age of what the session's next read shows at least, by the node's clock; nil before anything was stable.
    public var staleness: Duration? {
        get async { await lifetime.driver.status.staleness }
    }

    /// The session as data: `connect(session:)` continues it, on any device and in any region and with any SDK, and
    /// sees everything that this one had seen and written. It is the causal link between the two; both go on
    /// independently.
    ///
    /// Commits that are still under way (`ClientStatus.pendingCommits`) are not part of it. It is a secret: the token
    /// is in it.
    public func export() async -> ExportedSession {
        await lifetime.driver.export() ?? ExportedSession(token: "", ust: 0, hwt: 0)
    }
}
