/// The one thread of control of all clients of a process, the counterpart of JavaScript's: sessions, connections and
/// timers live on it.
///
/// Documents are encoded and decoded outside of it, on the caller's side.
@globalActor
public actor SessionActor {
    /// The actor.
    public static let shared = SessionActor()
}
