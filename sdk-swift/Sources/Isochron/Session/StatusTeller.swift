/// Tells those who follow the status of every change, once a turn at most.
@SessionActor
final class StatusTeller {
    private let status: @SessionActor () -> ClientStatus?
    private var followers: [Int: AsyncStream<ClientStatus>.Continuation] = [:]
    private var nextFollower = 0
    private var telling = false
    private var ended = false

    init(_ status: @escaping @SessionActor () -> ClientStatus?) {
        self.status = status
    }

    func changed() {
        if telling || followers.isEmpty { return }
        telling = true
        Task { @SessionActor [weak self] in self?.tell() }
    }

    /// Returns what `unfollow` takes.
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

    /// The client is closed: nothing more will change.
    func end() {
        if ended { return }
        tell()
        ended = true
        for follower in followers.values { follower.finish() }
        followers = [:]
    }

    private func tell() {
        telling = false
        guard !followers.isEmpty, let status = status() else { return }
        for follower in followers.values { follower.yield(status) }
    }
}
