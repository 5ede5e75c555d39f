/// Brings what happens on other threads to the actor: in order, and what came meanwhile at once. Costs less than a
/// stream, whose consumer changes executors for every element.
final class Inbox<Event: Sendable>: Sendable {
    private struct State: Sendable {
        var events: [Event] = []
        /// A task is on its way to take them.
        var isAwaited = false
    }

    private let state = Locked(State())
    private let take: @SessionActor (Event) -> Void

    /// - Parameter take: gets the events, one after the other
    init(_ take: @escaping @SessionActor (Event) -> Void) {
        self.take = take
    }

    /// Puts an event in, from any thread.
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
