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
        private let settings: SocketWebSocketTransport
        private let onEvent: @Sendable (WebSocketEvent) -> Void
        private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        private var parser: FrameParser
        private var outbox = Outbox()
        /// The coming `closed` event, once it is known: later data of the server is dropped.
        private var ending: CloseFrame?
        private var deadline: Deadline?
        private var isBroken = false
        /// The events of the socket that the next attempts to receive and to send wait for.
        private var receiveEvents = Int16(POLLIN)
        private var sendEvents = Int16(POLLOUT)

        init(
            _ connection: SocketConnection, _ settings: SocketWebSocketTransport,
            onEvent: @escaping @Sendable (WebSocketEvent) -> Void
        ) {
            self.connection = connection
            self.settings = settings
            self.onEvent = onEvent
            parser = FrameParser(maxMessageBytes: settings.limits.maxMessageBytes)
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
                let opening = try Opening(url, subprotocols: subprotocols, connection: connection, settings)
                let opened = try opening.run(buffer: buffer)
                guard connection.opened() else { throw TransportError.cancelled }
                onEvent(.opened(subprotocol: opened.subprotocol))
                opened.rest.withUnsafeBytes(take)
                defer { opened.stream.finish() }
                return exchange(opened.stream)
            } catch {
                return CloseFrame(opening: error)
            }
        }

        private func exchange(_ stream: any ByteStream) -> CloseFrame {
            while true {
                let order = connection.take(encodedBytes: outbox.takeEncodedBytes())
                if order.isCut { return ending ?? CloseFrame(code: nil, reason: terminated) }
                obey(order)
                flush(stream)
                let isReadable = wait(stream, isBusy: !order.isEmpty)
                if isReadable, let end = receive(stream) { return ending ?? end }
                if deadline?.isOver == true {
                    return ending ?? CloseFrame(code: nil, reason: "the server did not answer the closing handshake")
                }
            }
        }

        private func obey(_ order: SocketConnection.Order) {
            outbox.add(order.messages)
            guard let close = order.close else { return }
            outbox.close(close)
            finish(within: settings.limits.closeSeconds)
        }

        private func flush(_ stream: any ByteStream) {
            for _ in 0..<Self.runsInARow where !isBroken {
                switch outbox.withPending(stream.send) {
                case .bytes(let count):
                    outbox.advance(count)
                    sendEvents = Int16(POLLOUT)
                case .blocked(let events):
                    sendEvents = events
                    return
                case nil: return
                case .ended, .failed:
                    // The server may have sent a reason before it left: its data is read to the end.
                    isBroken = true
                    outbox.drop()
                }
            }
        }

        /// Waits for the socket, for a user, or for the deadline. Returns whether there is something to read.
        private func wait(_ stream: any ByteStream, isBusy: Bool) -> Bool {
            let events = receiveEvents | (outbox.hasPending ? sendEvents : 0)
            var polled = [
                pollfd(fd: stream.descriptor, events: events, revents: 0),
                pollfd(fd: connection.wake.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            pollDescriptors(&polled, until: isBusy || stream.hasBytes ? Deadline(seconds: 0) : deadline)
            if !isBusy { connection.awake() }
            if polled[1].revents != 0 { connection.wake.drain() }
            return stream.hasBytes || polled[0].revents & (receiveEvents | ~Int16(POLLOUT)) != 0
        }

        /// Reads once. Not nil if the connection has ended.
        private func receive(_ stream: any ByteStream) -> CloseFrame? {
            switch stream.receive(into: buffer) {
            case .bytes(let count):
                receiveEvents = Int16(POLLIN)
                take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return nil
            case .blocked(let events):
                receiveEvents = events
                return nil
            case .ended:
                let place = parser.isBetweenMessages ? "" : " in the middle of a message"
                return CloseFrame(code: nil, reason: "the server ended the connection\(place)")
            case .failed(let reason): return CloseFrame(code: nil, reason: "the connection was lost: \(reason)")
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
            finish(within: min(Self.lingerSeconds, settings.limits.closeSeconds))
        }

        private func finish(within seconds: Double) {
            let earliest = Deadline(seconds: seconds)
            deadline = deadline.map { min($0, earliest) } ?? earliest
        }
    }

    private let terminated = "the connection was cut on this side"

    extension CloseFrame {
        /// The end of a connection that was not opened.
        fileprivate init(opening error: TransportError) {
            switch error {
            case .cancelled: self.init(code: nil, reason: terminated)
            case .tlsFailed(let reason): self.init(code: tlsFailedCode, reason: reason)
            default: self.init(code: nil, reason: error.description)
            }
        }
    }
#endif
