import IsochronSession

/// How the client is doing.
public struct ClientStatus: Hashable, Sendable {
    /// Whether there is a connection.
    public enum State: String, Hashable, Sendable {
        /// No node has been met yet.
        case connecting
        /// Connected.
        case online
        /// No connection at the moment; requests wait for the next one.
        case offline
        /// `close()` was called.
        case closed
    }

    /// Whether there is a connection.
    public let state: State
    /// Region of the connection; nil while there is none.
    public let region: RegionId?
    /// Node of the connection; nil while there is none.
    public let node: String?
    /// Last measured round trip.
    public let roundTrip: Duration?
    /// Timestamp of the highest snapshot that the session has seen; under PaRiS it is a stable one.
    public let ust: Timestamp
    /// Age of that timestamp by the node's clock: what the session reads is at most this old. Nil before the first one.
    public let staleness: Duration?
    /// Whether stable time has fallen behind the cluster's alert: a region is down or cut off. Reads and writes go on.
    public let isStale: Bool
    /// Whose writes are missing, while `isStale` and where the node knows.
    public let heldBackBy: HeldBack?
    /// Nodes that do not answer the node of the connection: new writes avoid their regions. Empty while there is no
    /// connection.
    public let unresponsive: [String]
    /// Commits whose outcome is not known yet, those that wait for their turn included.
    public let pendingCommits: Int
    /// How long ago the oldest of them was asked for; nil while there is none.
    public let oldestPendingCommitAge: Duration?
}
