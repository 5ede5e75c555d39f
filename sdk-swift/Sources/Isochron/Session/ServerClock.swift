import IsochronSession

/// Age of timestamps, by the clock of the node that reported last: a wrong clock of this machine has no effect. Between
/// two reports, time advances by this machine's steady clock.
struct ServerClock {
    /// The newest report.
    private(set) var latest: Freshness?
    /// Difference of the node's clock and the steady one.
    private var aheadMs = 0.0

    mutating func take(_ freshness: Freshness, _ nowMs: Double) {
        latest = freshness
        aheadMs = Double(freshness.now) - nowMs
    }

    /// The node's clock; the steady one before the first report.
    func nowMs(_ nowMs: Double) -> Double { aheadMs + nowMs }

    /// Age in ms; nil without a timestamp or a report of a node.
    func ageMs(_ timestamp: Timestamp, _ nowMs: Double) -> Double? {
        if timestamp == 0 || latest == nil { return nil }
        return max(0, self.nowMs(nowMs) - wallMs(of: timestamp))
    }
}
