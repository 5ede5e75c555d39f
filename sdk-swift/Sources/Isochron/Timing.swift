/// Monotonic time, and timers.
@SessionActor
protocol Timing: AnyObject, Sendable {
    /// Milliseconds since some moment.
    var nowMs: Double { get }
    /// Calls `body` once, in so many milliseconds, unless the alarm is cancelled before.
    func after(_ ms: Double, _ body: @escaping @SessionActor () -> Void) -> Alarm
}

/// What will be done at its time, or never.
@SessionActor
final class Alarm {
    private(set) var isCancelled = false
    /// Frees what waits for its time.
    var onCancel: (@SessionActor () -> Void)?

    nonisolated init() {}

    func cancel() {
        isCancelled = true
        onCancel?()
        onCancel = nil
    }
}

/// The system's continuous clock, which goes on while the device sleeps.
final class SystemTiming: Timing {
    private let start = ContinuousClock.now

    nonisolated init() {}

    var nowMs: Double { (ContinuousClock.now - start).inMs }

    func after(_ ms: Double, _ body: @escaping @SessionActor () -> Void) -> Alarm {
        let alarm = Alarm()
        let task = Task { @SessionActor in
            // Cancelled or not, the alarm says whether it rings.
            try? await Task.sleep(until: .now + .ofMs(ms), clock: .continuous)
            if alarm.isCancelled { return }
            alarm.onCancel = nil
            body()
        }
        alarm.onCancel = { task.cancel() }
        return alarm
    }
}

extension Duration {
    /// Longer ones are as good as this one: a hundred years.
    private static let longestMs = 3.2e12

    /// Milliseconds, with a fraction.
    var inMs: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) * 1000 + Double(attoseconds) / 1e15
    }

    /// Of so many milliseconds; of none for what is no number.
    static func ofMs(_ ms: Double) -> Duration {
        .nanoseconds(Int64(min(max(ms.isNaN ? 0 : ms, 0), longestMs) * 1e6))
    }
}
