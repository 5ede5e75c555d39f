/// A broken rule of whoever drives a session. A client checks what a node sends before a session sees it, so this is
/// a mistake in a program.
///
/// The session is as it was before, but for an id that it may have drawn: none is ever used twice.
public enum SessionError: Error, Hashable, Sendable {
    /// A transaction was given a snapshot below what its session had seen at its start.
    case snapshotBelowSeen(snapshot: Timestamp, seen: Timestamp)
    /// A transaction that has a snapshot was given another one.
    case snapshotChanged(from: Timestamp, to: Timestamp)
    /// A commit began while another one was under way.
    case commitInFlight
    /// The outcome of a commit came, and none was under way.
    case noCommitInFlight
    /// An operation began while another one was under way.
    case operationUnderWay
    /// An answer came, and no operation was under way.
    case noOperationUnderWay
    /// A PUT was to be repeated, and none was under way.
    case noPutUnderWay
}
