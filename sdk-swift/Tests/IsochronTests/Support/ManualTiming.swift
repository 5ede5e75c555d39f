@testable import Isochron

/// Time that advances only when the test advances it.
@SessionActor
final class ManualTiming: Timing {
    private(set) var nowMs = 0.0
    private var waiting: [(dueMs: Double, order: Int, alarm: Alarm, body: @SessionActor () -> Void)] = []
    private var order = 0

    nonisolated init() {}

    func after(_ ms: Double, _ body: @escaping @SessionActor () -> Void) -> Alarm {
        let alarm = Alarm()
        order += 1
        waiting.append((nowMs + max(0, ms), order, alarm, body))
        return alarm
    }

    /// Advances the time, and runs all events that are due meanwhile.
    func advance(_ ms: Double) async {
        let end = nowMs + ms
        await settle()
        while let next = nextDue(end) {
            nowMs = max(nowMs, next.dueMs)
            if !next.alarm.isCancelled { next.body() }
            await settle()
        }
        nowMs = end
    }

    private func nextDue(_ end: Double) -> (dueMs: Double, alarm: Alarm, body: @SessionActor () -> Void)? {
        waiting.removeAll(where: \.alarm.isCancelled)
        guard let next = waiting.min(by: { ($0.dueMs, $0.order) < ($1.dueMs, $1.order) }), next.dueMs <= end else {
            return nil
        }
        waiting.removeAll { $0.order == next.order }
        return (next.dueMs, next.alarm, next.body)
    }
}
