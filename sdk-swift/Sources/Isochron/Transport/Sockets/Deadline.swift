#if !canImport(Darwin)
    import Dispatch

    /// A deadline on the monotonic clock.
    struct Deadline: Sendable, Comparable {
        private let nanoseconds: UInt64

        /// `seconds` from now; at least zero, and at most some days.
        init(seconds: Double) {
            let bounded = seconds > 0 ? min(seconds, 1e6) : 0
            nanoseconds = DispatchTime.now().uptimeNanoseconds &+ UInt64(bounded * 1e9)
        }

        static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

        var isOver: Bool { millisecondsLeft == 0 }

        /// Rounded up, for `poll`.
        var millisecondsLeft: Int32 {
            let now = DispatchTime.now().uptimeNanoseconds
            guard nanoseconds > now else { return 0 }
            return Int32(clamping: (nanoseconds - now) / 1_000_000 + 1)
        }
    }
#endif
