#if !canImport(Darwin)
    import Foundation

    /// The result of opening a connection.
    struct OpenedSocket {
        let stream: any ByteStream
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

    /// Name lookup, TCP, TLS where the URL asks for it, and the opening handshake, one after the other.
    struct Opening {
        let url: WebSocketURL
        let trust: TLSTrust
        let handshake: Handshake
        let waiter: OpeningWaiter

        init(
            _ text: String, subprotocols: [String], connection: SocketConnection,
            _ settings: SocketWebSocketTransport
        ) throws(TransportError) {
            url = try WebSocketURL(text)
            trust = settings.trust
            var random = SystemRandomNumberGenerator()
            handshake = try Handshake(url, subprotocols: subprotocols, random: &random)
            waiter = OpeningWaiter(connection: connection, deadline: Deadline(seconds: settings.limits.connectSeconds))
        }

        func run(buffer: UnsafeMutableRawBufferPointer) throws(TransportError) -> OpenedSocket {
            var dialer = Dialer(waiter: waiter)
            let socket = try dialer.dial(try addresses())
            let stream = url.isSecure ? try secure(socket) : socket
            try send(handshake.request, on: stream)
            return try receive(on: stream, buffer)
        }

        private func secure(_ socket: ClientSocket) throws(TransportError) -> any ByteStream {
            let stream = try TLSStream(socket, host: url.host, try trust.context)
            while let events = try stream.handshake() { _ = try waiter.wait(for: [(socket.descriptor, events)]) }
            return stream
        }

        private static let ended = TransportError.unreachable("the server closed the connection in the handshake")

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

        private func send(_ bytes: [UInt8], on stream: any ByteStream) throws(TransportError) {
            var sent = 0
            while sent < bytes.count {
                let outcome = bytes.withUnsafeBytes { stream.send(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
                switch outcome {
                case .bytes(let count): sent += count
                case .blocked(let events): _ = try waiter.wait(for: [(stream.descriptor, events)])
                case .ended: throw Self.ended
                case .failed(let reason): throw .unreachable("the handshake failed: \(reason)")
                }
            }
        }

        private func receive(
            on stream: any ByteStream, _ buffer: UnsafeMutableRawBufferPointer
        ) throws(TransportError) -> OpenedSocket {
            var reader = HandshakeReader()
            while true {
                switch stream.receive(into: buffer) {
                case .blocked(let events): _ = try waiter.wait(for: [(stream.descriptor, events)])
                case .ended: throw Self.ended
                case .failed(let reason): throw .unreachable("the handshake failed: \(reason)")
                case .bytes(let count):
                    let input = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                    guard let used = try reader.feed(input) else { continue }
                    let subprotocol = try handshake.subprotocol(of: HandshakeAnswer(head: reader.head))
                    return OpenedSocket(stream: stream, subprotocol: subprotocol, rest: Array(input[used...]))
                }
            }
        }
    }
#endif
