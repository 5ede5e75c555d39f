#if !canImport(Darwin)
    import Foundation

    /// The address of a server, as the system's name lookup gives it.
    struct SocketAddress: Sendable, Hashable {
        let family: Int32
        let bytes: [UInt8]
    }

    /// A TCP socket that never blocks and never raises SIGPIPE. It closes with its last reference.
    final class ClientSocket: Sendable {
        let descriptor: Int32

        /// Begins to connect. Once the socket is writable, `pendingError` is the result.
        init(connectingTo address: SocketAddress) throws(SystemError) {
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            descriptor = socket(address.family, kind, 0)
            guard descriptor >= 0 else { throw SystemError() }
            var on: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            let status = address.bytes.withUnsafeBytes { bytes in
                connect(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
            }
            // An interrupted connect continues by itself.
            guard status == 0 || errno == EINPROGRESS || errno == EINTR else { throw SystemError() }
        }

        deinit {
            if descriptor >= 0 { _ = close(descriptor) }
        }

        /// The socket's error since the last call; nil for none.
        func pendingError() -> SystemError? {
            var number: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size) == 0 else { return SystemError() }
            return number == 0 ? nil : SystemError(number)
        }
    }

    /// An error number of the system.
    struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
        let number: Int32

        /// The given number; by default that of the last system call.
        init(_ number: Int32 = errno) {
            self.number = number
        }

        var description: String { String(cString: strerror(number)) }
    }

    /// Waits until one of the descriptors is ready, or until the deadline; nil for no deadline. May return early.
    func pollDescriptors(_ descriptors: inout [pollfd], until deadline: Deadline?) {
        let timeout = deadline?.millisecondsLeft ?? -1
        guard poll(&descriptors, nfds_t(descriptors.count), timeout) < 0 else { return }
        for index in descriptors.indices { descriptors[index].revents = 0 }
    }
#endif
