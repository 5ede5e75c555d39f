/// Sends the status to its followers with every change, at most once a turn.
@SessionActor
final class StatusFollowers {
    private let status: @SessionActor () -> ClientStatus?
    private var followers: [Int: AsyncStream<ClientStatus>.Continuation] = [:]
    private var nextFollower = 0
    private var isScheduled = false
    private var ended = false

    init(_ status: @escaping @SessionActor () -> ClientStatus?) {
        self.status = status
    }

    func changed() {
        if isScheduled || followers.isEmpty { return }
        isScheduled = true
        Task { @SessionActor [weak self] in self?.send() }
    }

    /// Returns the argument of `unfollow`.
    func follow(_ follower: AsyncStream<ClientStatus>.Continuation) -> Int? {
        if let status = status() { follower.yield(status) }
        if ended {
            follower.finish()
            return nil
        }
        nextFollower += 1
        followers[nextFollower] = follower
        return nextFollower
    }

    func unfollow(_ follower: Int) {
        followers[follower] = nil
    }

    /// The client is closed: no further change follows.
    func end() {
        if ended { return }
        send()
        ended = true
        for follower in followers.values { follower.finish() }
        followers = [:]
    }

    private func send() {
        isScheduled = false
        guard !followers.isEmpty, let status = status() else { return }
        for follower in followers.values { follower.yield(status) }
    }
}
