#if !canImport(Darwin)
    import Foundation

    /// The result of opening a connection.
    struct OpenedSocket {
        let socket: ClientSocket
        let subprotocol: String
        /// Bytes after the answer to the handshake.
        let rest: [UInt8]
    }

    /// Waits while a connection is being opened: at most until the deadline, and not after a cut.
    struct OpeningWaiter {
        let connection: SocketConnection
        let deadline: Deadline

        /// Waits for one of the descriptors, for a signal, or until a moment. Returns for each whether it is ready.
        func wait(
            for wanted: [(descriptor: Int32, events: Int16)], until moment: Deadline? = nil
        ) throws(TransportError) -> [Bool] {
            try check()
            var polled = wanted.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
            polled.append(pollfd(fd: connection.wake.descriptor, events: Int16(POLLIN), revents: 0))
            pollDescriptors(&polled, until: moment.map { min($0, deadline) } ?? deadline)
            if let wake = polled.popLast(), wake.revents != 0 { connection.wake.drain() }
            let ready = polled.map { $0.revents != 0 }
            if !ready.contains(true) { try check() }
            return ready
        }

        private func check() throws(TransportError) {
            if connection.isCut { throw .cancelled }
            if deadline.isOver { throw .timedOut("the server could not be reached in time") }
        }
    }

    /// Name lookup, TCP and the opening handshake, one after the other.
    struct Opening {
        let url: WebSocketURL
        let handshake: Handshake
        let waiter: OpeningWaiter

        init(
            _ text: String, subprotocols: [String], connection: SocketConnection, limits: WebSocketLimits
        ) throws(TransportError) {
            url = try WebSocketURL(text)
            guard !url.isSecure else {
                throw .unsupported(
                    "there is no TLS for WebSockets on this platform: use the ws: URL of a local TLS proxy, as stunnel")
            }
            var random = SystemRandomNumberGenerator()
            handshake = try Handshake(url, subprotocols: subprotocols, random: &random)
            waiter = OpeningWaiter(connection: connection, deadline: Deadline(seconds: limits.connectSeconds))
        }

        func run(buffer: UnsafeMutableRawBufferPointer) throws(TransportError) -> OpenedSocket {
            var dialer = Dialer(waiter: waiter)
            let socket = try dialer.dial(try addresses())
            try send(handshake.request, on: socket)
            return try receive(on: socket, buffer)
        }

        private func addresses() throws(TransportError) -> [SocketAddress] {
            let lookup = Resolution.start(host: url.host, port: url.port, wake: waiter.connection.wake)
            while true {
                switch lookup.outcome {
                case .addresses(let addresses): return addresses
                case .failed(let reason): throw .unreachable("\(url.host) is not found: \(reason)")
                case nil: _ = try waiter.wait(for: [])
                }
            }
        }

        private func send(_ bytes: [UInt8], on socket: ClientSocket) throws(TransportError) {
            var sent = 0
            while sent < bytes.count {
                let outcome = bytes.withUnsafeBytes { socket.send(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
                switch outcome {
                case .bytes(let count): sent += count
                case .wouldBlock, .ended: _ = try waiter.wait(for: [(socket.descriptor, Int16(POLLOUT))])
                case .failed(let number): throw .unreachable("the handshake failed: \(SystemError(number))")
                }
            }
        }

        private func receive(
            on socket: ClientSocket, _ buffer: UnsafeMutableRawBufferPointer
        ) throws(TransportError) -> OpenedSocket {
            var reader = HandshakeReader()
            while true {
                switch socket.receive(into: buffer) {
                case .wouldBlock: _ = try waiter.wait(for: [(socket.descriptor, Int16(POLLIN))])
                case .ended: throw .unreachable("the server closed the connection in the handshake")
                case .failed(let number): throw .unreachable("the handshake failed: \(SystemError(number))")
                case .bytes(let count):
                    let input = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                    guard let used = try reader.feed(input) else { continue }
                    let subprotocol = try handshake.subprotocol(of: HandshakeAnswer(head: reader.head))
                    return OpenedSocket(socket: socket, subprotocol: subprotocol, rest: Array(input[used...]))
                }
            }
        }
    }
#endif
