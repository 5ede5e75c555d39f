import IsochronSession

/// The state of a client.
public struct ClientStatus: Hashable, Sendable {
    /// The state of the connection.
    public enum State: String, Hashable, Sendable {
        /// Before the first connection.
        case connecting
        /// Connected.
        case online
        /// No connection at present; requests wait for the next one.
        case offline
        /// `close()` was called.
        case closed
    }

    /// The state of the connection.
    public let state: State
    /// Region of the connection; nil without a connection.
    public let region: RegionId?
    /// Node of the connection; nil without a connection.
    public let node: String?
    /// Last measured round trip.
    public let roundTrip: Duration?
    /// Timestamp of the highest snapshot that the session has seen; under PaRiS it is a stable one.
    public let ust: Timestamp
    /// Age of that timestamp by the node's clock: the session's reads are at most this old. Nil before the first one.
    public let staleness: Duration?
    /// Whether stable time is older than the cluster's alert: a region is down or cut off. Reads and writes go on.
    public let isStale: Bool
    /// The region or node whose writes are missing, while `isStale`; nil if the node does not know it.
    public let heldBackBy: HeldBack?
    /// Nodes that do not answer the connected node: new writes avoid their regions. Empty without a connection.
    public let unresponsive: [String]
    /// Commits without a known outcome, including those that wait for their turn.
    public let pendingCommits: Int
    /// Commits that succeeded and that no other session sees, because a node that they need was suspended: they are
    /// being committed again, and later writes wait for them. Until then the session's reads show what it has seen
    /// before.
    public let deferredCommits: Int
    /// Time since the oldest of them was requested; nil without pending commits.
    public let oldestPendingCommitAge: Duration?
}
