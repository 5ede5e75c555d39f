/// The single thread of control of all clients of a process, as in JavaScript: sessions, connections and timers run on
/// it.
///
/// Documents are encoded and decoded outside of it, in the caller's task.
@globalActor
public actor SessionActor {
    /// The actor.
    public static let shared = SessionActor()
}
