#if !canImport(Darwin)
    import Foundation

    /// The outcome of an attempt to receive or to send.
    enum StreamOutcome: Sendable {
        /// This many bytes, at least one.
        case bytes(Int)
        /// Not now: once the descriptor has one of these events of `poll`.
        case blocked(until: Int16)
        /// The other side has finished sending.
        case ended
        /// The stream is lost, for this reason.
        case failed(String)
    }

    /// The bytes between this side and a server: those of a TCP socket, or those of TLS on one. It never blocks.
    protocol ByteStream: AnyObject {
        /// The descriptor to poll.
        var descriptor: Int32 { get }
        /// Whether received bytes wait in this object, where `poll` does not see them.
        var hasBytes: Bool { get }
        /// Receives at most as many bytes as the buffer holds.
        func receive(into buffer: UnsafeMutableRawBufferPointer) -> StreamOutcome
        /// Sends the first of the bytes. After `blocked`, the next call has to begin with the same bytes.
        func send(_ bytes: UnsafeRawBufferPointer) -> StreamOutcome
        /// Informs the server, if that is possible at once, that no further bytes follow.
        func finish()
    }

    extension ClientSocket: ByteStream {
        var hasBytes: Bool { false }

        func receive(into buffer: UnsafeMutableRawBufferPointer) -> StreamOutcome {
            outcome(recv(descriptor, buffer.baseAddress, buffer.count, 0), Int16(POLLIN))
        }

        func send(_ bytes: UnsafeRawBufferPointer) -> StreamOutcome {
            outcome(Foundation.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)), Int16(POLLOUT))
        }

        /// The socket ends with its last reference.
        func finish() {}

        private func outcome(_ count: Int, _ events: Int16) -> StreamOutcome {
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            return errno == EAGAIN || errno == EINTR ? .blocked(until: events) : .failed(SystemError().description)
        }
    }
#endif
