import IsochronSession

/// How old timestamps are, by the clock of the node whose freshness was received last: a wrong clock of this machine
/// has no effect. Between two reports of a node, time goes on by this machine's steady clock.
struct ServerClock {
    /// The newest report.
    private(set) var latest: Freshness?
    /// The node's clock above the steady one.
    private var aheadMs = 0.0

    mutating func take(_ freshness: Freshness, _ nowMs: Double) {
        latest = freshness
        aheadMs = Double(freshness.now) - nowMs
    }

    /// Age in ms; nil where there is no timestamp, or no node has reported yet.
    func ageMs(_ timestamp: Timestamp, _ nowMs: Double) -> Double? {
        if timestamp == 0 || latest == nil { return nil }
        return max(0, aheadMs + nowMs - wallMs(of: timestamp))
    }
}
