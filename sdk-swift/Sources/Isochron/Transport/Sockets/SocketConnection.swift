#if !canImport(Darwin)
    import Foundation

    /// WebSockets over POSIX sockets, with OpenSSL for `wss:`. Each connection has one thread, from `open` to its
    /// `closed` event.
    struct SocketWebSocketTransport: WebSocketTransport {
        var limits = WebSocketLimits()
        var trust = TLSTrust.system

        func open(
            _ url: String, subprotocols: [String], onEvent: @escaping @Sendable (WebSocketEvent) -> Void
        ) -> any WebSocketConnection {
            let connection = SocketConnection()
            let isStarted =
                connection.wake.descriptor >= 0
                && startThread {
                    SocketLoop(connection, self, onEvent: onEvent).run(url, subprotocols: subprotocols)
                }
            if !isStarted {
                connection.end()
                onEvent(.closed(code: nil, reason: "the system has no descriptor or no thread left"))
            }
            return connection
        }
    }

    /// The user's side of a connection. Requests wait here until the thread takes them.
    final class SocketConnection: WebSocketConnection {
        /// Work for the thread.
        struct Order: Sendable {
            var messages: [WebSocketMessage] = []
            var close: CloseFrame?
            var isCut = false

            var isEmpty: Bool { messages.isEmpty && close == nil && !isCut }
        }

        private struct State: Sendable {
            var order = Order()
            var queuedBytes = 0
            var isOpen = false
            var isClosing = false
            /// The thread sleeps in `poll`, or is about to: it has to be woken.
            var isAsleep = false
            var isEnded = false
        }

        let wake = WakeUp()
        private let state = Locked(State())

        /// Payload bytes of queued messages that the system has not taken yet.
        var bufferedBytes: Int { state.get().queuedBytes }

        var isCut: Bool { state.get().order.isCut }

        func send(_ messages: [WebSocketMessage]) {
            guard !messages.isEmpty else { return }
            let bytes = messages.reduce(0) { $0 + $1.byteCount }
            let isAsleep = state.change { state in
                guard !state.isEnded, !state.isClosing else { return false }
                state.order.messages.append(contentsOf: messages)
                state.queuedBytes += bytes
                defer { state.isAsleep = false }
                return state.isAsleep
            }
            if isAsleep { wake.signal() }
        }

        func close(code: UInt16, reason: String) {
            state.change { state in
                guard !state.isEnded, !state.isClosing else { return }
                state.isClosing = true
                state.order.close = CloseFrame(sending: code, reason: reason)
                // Before the answer to the opening handshake there is nothing to close.
                if !state.isOpen { state.order.isCut = true }
            }
            wake.signal()
        }

        func terminate() {
            state.change { state in
                guard !state.isEnded else { return }
                state.isClosing = true
                state.order.isCut = true
            }
            wake.signal()
        }

        /// The handshake has ended. False if the connection was cut meanwhile.
        func opened() -> Bool {
            state.change { state in
                state.isOpen = !state.order.isCut
                return state.isOpen
            }
        }

        /// The requests since the last call; after an empty order the thread may sleep. A cut stays.
        func take(encodedBytes: Int) -> Order {
            state.change { state in
                state.queuedBytes -= encodedBytes
                let order = state.order
                state.order = Order(isCut: order.isCut)
                state.isAsleep = order.isEmpty
                return order
            }
        }

        /// The thread does not sleep any more.
        func awake() {
            state.change { $0.isAsleep = false }
        }

        /// The thread has ended.
        func end() {
            state.change { state in
                state.isEnded = true
                state.order = Order()
                state.queuedBytes = 0
            }
            wake.close()
        }
    }
#endif
