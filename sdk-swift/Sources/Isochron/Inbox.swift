/// Brings events of other threads to the actor, in order, several in one task. Cheaper than a stream, whose consumer
/// changes executors for every element.
final class Inbox<Event: Sendable>: Sendable {
    private struct State: Sendable {
        var events: [Event] = []
        /// A task that takes the events is on its way.
        var isAwaited = false
    }

    private let state = Locked(State())
    private let take: @SessionActor (Event) -> Void

    /// - Parameter take: called with each event, in order
    init(_ take: @escaping @SessionActor (Event) -> Void) {
        self.take = take
    }

    /// Adds an event, from any thread.
    func put(_ event: Event) {
        let isFirst = state.change { state in
            state.events.append(event)
            defer { state.isAwaited = true }
            return !state.isAwaited
        }
        if isFirst { Task { @SessionActor in drain() } }
    }

    @SessionActor
    private func drain() {
        let events = state.change { state in
            defer { state = State() }
            return state.events
        }
        for event in events { take(event) }
    }
}
