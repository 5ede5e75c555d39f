import IsochronSession

/// Proof of a commit: durable from now on, and visible to this session.
public struct Write: Sendable {
    private let lifetime: Lifetime
    /// Commit timestamp. `snapshot(at: timestamp)` contains the write in every region.
    public let timestamp: Timestamp
    /// Id of the transaction.
    public let txId: TxId

    init(_ lifetime: Lifetime, _ committed: Committed) {
        self.lifetime = lifetime
        timestamp = committed.timestamp
        txId = committed.txId
    }

    /// Returns once every node of every region serves the write: every session that begins afterwards sees it.
    ///
    /// Throws STABLE_TIMEOUT after `timeout` (the write stays committed), INVALID_REQUEST where that is
    /// negative or above 60 seconds, CLIENT_CLOSED, `CancellationError`.
    public func stable(timeout: Duration = .seconds(30)) async throws {
        try await lifetime.driver.stable(timestamp, timeoutMs: timeout.waitMs())
    }
}
