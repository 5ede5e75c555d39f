/// A session was used against its rules. A client validates the data of nodes before a session gets it, so this is a
/// mistake in a program.
///
/// The session is unchanged, except for an id that it may have made: no id is used twice.
public enum SessionError: Error, Hashable, Sendable {
    /// A transaction was given a snapshot below the one that its session had seen at its start.
    case snapshotBelowSeen(snapshot: Timestamp, seen: Timestamp)
    /// A transaction that has a snapshot was given another one.
    case snapshotChanged(from: Timestamp, to: Timestamp)
    /// A commit began while another one was under way.
    case commitInFlight
    /// The outcome of a commit arrived without a commit under way.
    case noCommitInFlight
    /// An operation began while another one was under way.
    case operationUnderWay
    /// An answer arrived without an operation under way.
    case noOperationUnderWay
    /// A repetition was requested without a PUT under way.
    case noPutUnderWay
}
