#if !canImport(Darwin)
    import Foundation

    /// One connection, on its thread: it opens, sends and receives, closes, and reports.
    ///
    /// Only the thread uses the socket and the state here; users reach it through `SocketConnection`. It sleeps in
    /// `poll` until there is something to read, to send, or to do at a deadline.
    final class SocketLoop {
        /// After the closing handshake the server ends the TCP connection; after this time, we do.
        private static let lingerSeconds = 1.0
        /// Runs sent before the socket is read again.
        private static let runsInARow = 8

        private let connection: SocketConnection
        private let limits: WebSocketLimits
        private let onEvent: @Sendable (WebSocketEvent) -> Void
        private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        private var parser: FrameParser
        private var outbox = Outbox()
        /// The coming `closed` event, once it is known: later data of the server is dropped.
        private var ending: CloseFrame?
        private var deadline: Deadline?
        private var isBroken = false

        init(
            _ connection: SocketConnection, limits: WebSocketLimits,
            onEvent: @escaping @Sendable (WebSocketEvent) -> Void
        ) {
            self.connection = connection
            self.limits = limits
            self.onEvent = onEvent
            parser = FrameParser(maxMessageBytes: limits.maxMessageBytes)
        }

        deinit { buffer.deallocate() }

        /// Returns at the end of the connection. Its descriptors are closed before the last event.
        func run(_ url: String, subprotocols: [String]) {
            let end = live(url, subprotocols)
            connection.end()
            onEvent(.closed(code: end.code, reason: end.reason))
        }

        private func live(_ url: String, _ subprotocols: [String]) -> CloseFrame {
            do throws(TransportError) {
                let opening = try Opening(url, subprotocols: subprotocols, connection: connection, limits: limits)
                let opened = try opening.run(buffer: buffer)
                guard connection.opened() else { throw TransportError.cancelled }
                onEvent(.opened(subprotocol: opened.subprotocol))
                opened.rest.withUnsafeBytes(take)
                return exchange(opened.socket)
            } catch {
                return CloseFrame(code: nil, reason: error == .cancelled ? terminated : error.description)
            }
        }

        private func exchange(_ socket: ClientSocket) -> CloseFrame {
            while true {
                let order = connection.take(encodedBytes: outbox.takeEncodedBytes())
                if order.isCut { return ending ?? CloseFrame(code: nil, reason: terminated) }
                obey(order)
                flush(socket)
                let isReadable = wait(socket, isBusy: !order.isEmpty)
                if isReadable, let end = receive(socket) { return ending ?? end }
                if deadline?.isOver == true {
                    return ending ?? CloseFrame(code: nil, reason: "the server did not answer the closing handshake")
                }
            }
        }

        private func obey(_ order: SocketConnection.Order) {
            outbox.add(order.messages)
            guard let close = order.close else { return }
            outbox.close(close)
            finish(within: limits.closeSeconds)
        }

        private func flush(_ socket: ClientSocket) {
            for _ in 0..<Self.runsInARow where !isBroken {
                switch outbox.withPending(socket.send) {
                case .bytes(let count): outbox.advance(count)
                case .wouldBlock, .ended, nil: return
                case .failed:
                    // The server may have sent a reason before it left: its data is read to the end.
                    isBroken = true
                    outbox.drop()
                }
            }
        }

        /// Waits for the socket, for a user, or for the deadline. Returns whether there is something to read.
        private func wait(_ socket: ClientSocket, isBusy: Bool) -> Bool {
            let events = Int16(POLLIN) | (outbox.hasPending ? Int16(POLLOUT) : 0)
            var polled = [
                pollfd(fd: socket.descriptor, events: events, revents: 0),
                pollfd(fd: connection.wake.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            pollDescriptors(&polled, until: isBusy ? Deadline(seconds: 0) : deadline)
            if !isBusy { connection.awake() }
            if polled[1].revents != 0 { connection.wake.drain() }
            return polled[0].revents & ~Int16(POLLOUT) != 0
        }

        /// Reads once. Not nil if the connection has ended.
        private func receive(_ socket: ClientSocket) -> CloseFrame? {
            switch socket.receive(into: buffer) {
            case .bytes(let count):
                take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return nil
            case .wouldBlock: return nil
            case .ended:
                let place = parser.isBetweenMessages ? "" : " in the middle of a message"
                return CloseFrame(code: nil, reason: "the server ended the connection\(place)")
            case .failed(let number):
                return CloseFrame(code: nil, reason: "the connection was lost: \(SystemError(number))")
            }
        }

        private func take(_ bytes: UnsafeRawBufferPointer) {
            guard ending == nil, !bytes.isEmpty else { return }
            var received = FrameParser.Received()
            var violation: ProtocolViolation?
            do throws(ProtocolViolation) {
                try parser.feed(bytes, into: &received)
            } catch {
                violation = error
            }
            for ping in received.pings { outbox.pong(ping) }
            if !received.messages.isEmpty { onEvent(.messages(received.messages)) }
            if let violation {
                conclude(CloseFrame(sending: violation.code, reason: violation.message))
            } else if let close = received.close {
                conclude(close)
            }
        }

        /// The server has closed, or gets our close. Its own code is its answer.
        private func conclude(_ close: CloseFrame) {
            ending = close
            outbox.closeNow(close)
            finish(within: min(Self.lingerSeconds, limits.closeSeconds))
        }

        private func finish(within seconds: Double) {
            let earliest = Deadline(seconds: seconds)
            deadline = deadline.map { min($0, earliest) } ?? earliest
        }
    }

    private let terminated = "the connection was cut on this side"
#endif
