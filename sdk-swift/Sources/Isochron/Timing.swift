import IsochronSession

/// Monotonic time, and timers.
@SessionActor
protocol Timing: AnyObject, Sendable {
    /// Milliseconds since an arbitrary moment.
    var nowMs: Double { get }
    /// Calls `body` once, after `ms` milliseconds, unless the alarm is cancelled before.
    func after(_ ms: Double, _ body: @escaping @SessionActor () -> Void) -> Alarm
}

/// A call at a later time, which can be cancelled.
@SessionActor
final class Alarm {
    private(set) var isCancelled = false
    /// Releases the waiting task.
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
            // A cancelled sleep ends early: the alarm decides whether to run.
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
    /// Longer durations are cut to this one, a hundred years.
    private static let longestMs = 3.2e12

    /// The longest wait that a node accepts.
    static let longestWaitMs = 60_000.0

    /// The time of a wait in ms. Throws INVALID_REQUEST for one that no node accepts.
    func waitMs() throws -> Double {
        guard (0...Self.longestWaitMs).contains(inMs) else {
            throw IsochronError(.invalidRequest, "a timeout is 0 to 60 seconds, not \(self)")
        }
        return inMs
    }

    /// Milliseconds, with a fraction.
    var inMs: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) * 1000 + Double(attoseconds) / 1e15
    }

    /// A duration of `ms` milliseconds; zero for NaN.
    static func ofMs(_ ms: Double) -> Duration {
        .nanoseconds(Int64(min(max(ms.isNaN ? 0 : ms, 0), longestMs) * 1e6))
    }
}
