#if !canImport(Darwin)
    import Foundation

    /// Wakes a polling thread: a pipe whose reading end is among its descriptors.
    final class WakeUp: Sendable {
        private struct Ends: Sendable {
            let read: Int32
            let write: Int32
        }

        private let ends: Locked<Ends?>
        /// The thread polls it for reading; -1, which `poll` ignores, if the system had no descriptors left.
        let descriptor: Int32

        init() {
            var pair: [Int32] = [-1, -1]
            guard pipe(&pair) == 0, let read = pair.first, let write = pair.last else {
                ends = Locked(nil)
                descriptor = -1
                return
            }
            for end in pair {
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            }
            ends = Locked(Ends(read: read, write: write))
            descriptor = read
        }

        deinit { close() }

        /// From any thread, at any time; a full pipe wakes as well.
        func signal() {
            ends.change { ends in
                guard let ends else { return }
                _ = withUnsafeBytes(of: UInt8(1)) { write(ends.write, $0.baseAddress, 1) }
            }
        }

        /// Removes the signals so far.
        func drain() {
            withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
                while read(descriptor, buffer.baseAddress, buffer.count) == buffer.count {}
            }
        }

        /// Only the polling thread calls this, after its last poll.
        func close() {
            ends.change { ends in
                guard let open = ends else { return }
                ends = nil
                _ = Foundation.close(open.read)
                _ = Foundation.close(open.write)
            }
        }
    }

    private final class ThreadBody: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// The signal of a write to a socket that the other side has closed would end the process.
    private func blockSIGPIPE() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Runs a function on a new thread, which ends with it and blocks SIGPIPE. False if the system has no thread left.
    func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
        let context = Unmanaged.passRetained(ThreadBody(body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                blockSIGPIPE()
                Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
#endif
