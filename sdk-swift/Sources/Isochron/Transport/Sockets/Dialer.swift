#if !canImport(Darwin)
    import Foundation

    /// Connects to the first address that answers.
    ///
    /// If an address does not answer, the next one is tried a moment later, in parallel (RFC 8305).
    struct Dialer {
        /// Delay between two attempts, in seconds.
        private static let staggerSeconds = 0.25

        let waiter: OpeningWaiter
        private var attempts: [ClientSocket] = []
        private var failures: [String] = []

        init(waiter: OpeningWaiter) {
            self.waiter = waiter
        }

        /// Tries all addresses, in their order.
        mutating func dial(_ addresses: [SocketAddress]) throws(TransportError) -> ClientSocket {
            var left = addresses[...]
            var nextAttempt = Deadline(seconds: 0)
            while true {
                if !left.isEmpty, attempts.isEmpty || nextAttempt.isOver {
                    start(left.removeFirst())
                    nextAttempt = Deadline(seconds: Self.staggerSeconds)
                }
                if attempts.isEmpty {
                    if left.isEmpty { throw .unreachable(failures.first ?? "there is no address") }
                    continue
                }
                if let connected = try wait(until: left.isEmpty ? nil : nextAttempt) { return connected }
            }
        }

        private mutating func start(_ address: SocketAddress) {
            do {
                attempts.append(try ClientSocket(connectingTo: address))
            } catch {
                failures.append(error.description)
            }
        }

        /// The attempt that has succeeded; failed ones are closed.
        private mutating func wait(until moment: Deadline?) throws(TransportError) -> ClientSocket? {
            let ready = try waiter.wait(for: attempts.map { ($0.descriptor, Int16(POLLOUT)) }, until: moment)
            var connected: ClientSocket?
            var pending: [ClientSocket] = []
            for (attempt, isReady) in zip(attempts, ready) {
                if !isReady {
                    pending.append(attempt)
                } else if let error = attempt.pendingError() {
                    failures.append(error.description)
                } else {
                    connected = connected ?? attempt
                }
            }
            attempts = pending
            return connected
        }
    }
#endif
