import IsochronSession

/// How old timestamps are, by the clock of the node that was heard of last: a wrong clock of this machine counts for
/// nothing. Between two words of a node, time goes on by this machine's monotonic clock.
struct ServerClock {
    private let timing: any Timing
    /// What the last node that was heard of said.
    private(set) var latest: Freshness?
    /// The node's clock above the monotonic one.
    private var aheadMs = 0.0

    init(_ timing: any Timing) {
        self.timing = timing
    }

    @SessionActor
    mutating func take(_ freshness: Freshness) {
        latest = freshness
        aheadMs = Double(freshness.now) - timing.nowMs
    }

    /// Age in ms; nil where there is no timestamp, or no node has been heard of.
    @SessionActor
    func ageMs(_ timestamp: Timestamp) -> Double? {
        if timestamp == 0 || latest == nil { return nil }
        return max(0, aheadMs + timing.nowMs - wallMs(of: timestamp))
    }
}
