#if canImport(Darwin)
    import Foundation

    /// WebSockets over `URLSessionWebSocketTask`: with TLS, proxies and the system's rules for networks.
    struct FoundationWebSocketTransport: WebSocketTransport {
        var limits = WebSocketLimits()
        var trust = TLSTrust.system

        func open(
            _ url: String, subprotocols: [String], onEvent: @escaping @Sendable (WebSocketEvent) -> Void
        ) -> any WebSocketConnection {
            let connection = FoundationWebSocket(
                subprotocols: subprotocols, limits: limits, trust: trust, onEvent: onEvent)
            connection.open(url)
            return connection
        }
    }

    /// One connection. The delegate, the completion handlers and the timers all run on `queue`, which is serial: so
    /// events are in order. Calls of users from other threads go through `state`.
    private final class FoundationWebSocket: NSObject, WebSocketConnection, URLSessionWebSocketDelegate {
        private struct State: Sendable {
            var session: URLSession?
            var task: URLSessionWebSocketTask?
            /// Messages sent before the handshake was answered.
            var waiting: [WebSocketMessage] = []
            /// Messages that the task has not reported as sent.
            var unsent = 0
            /// The requested closing handshake, and whether it has begun.
            var closing: CloseFrame?
            var isCloseSent = false
            /// The server's close frame.
            var closed: CloseFrame?
            var isOpen = false
            var isReceiving = false
            var isEnded = false
        }

        private let queue = DispatchQueue(label: "isochron.websocket")
        private let subprotocols: [String]
        private let limits: WebSocketLimits
        private let trust: TLSTrust
        private let onEvent: @Sendable (WebSocketEvent) -> Void
        private let state = Locked(State())

        init(
            subprotocols: [String], limits: WebSocketLimits, trust: TLSTrust,
            onEvent: @escaping @Sendable (WebSocketEvent) -> Void
        ) {
            self.subprotocols = subprotocols
            self.limits = limits
            self.trust = trust
            self.onEvent = onEvent
        }

        func open(_ text: String) {
            do throws(TransportError) {
                let parsed = try WebSocketURL(text)
                let scheme = parsed.isSecure ? "wss" : "ws"
                guard let url = URL(string: "\(scheme)://\(parsed.hostField)\(parsed.target)") else {
                    throw TransportError.invalidURL("\(text) is no WebSocket URL")
                }
                start(url)
            } catch {
                queue.async { self.finish(CloseFrame(code: nil, reason: error.description)) }
            }
        }

        private func start(_ url: URL) {
            let delegateQueue = OperationQueue()
            delegateQueue.maxConcurrentOperationCount = 1
            delegateQueue.underlyingQueue = queue
            let configuration = URLSessionConfiguration.ephemeral
            configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
            let session = URLSession(configuration: configuration, delegate: self, delegateQueue: delegateQueue)
            let task = session.webSocketTask(with: url, protocols: subprotocols)
            task.maximumMessageSize = limits.maxMessageBytes
            state.change { state in
                state.session = session
                state.task = task
            }
            after(limits.connectSeconds) { connection in
                guard !connection.state.get().isOpen else { return }
                connection.finish(CloseFrame(code: nil, reason: "the server could not be reached in time"))
            }
            task.resume()
        }

        func send(_ messages: [WebSocketMessage]) {
            state.change { state in
                guard !state.isEnded, state.closing == nil else { return }
                guard state.isOpen, let task = state.task else {
                    state.waiting.append(contentsOf: messages)
                    return
                }
                send(messages, on: task, &state)
            }
        }

        /// Under the lock, which keeps the order; the task only queues them.
        private func send(_ messages: [WebSocketMessage], on task: URLSessionWebSocketTask, _ state: inout State) {
            for message in messages {
                state.unsent += 1
                task.send(message.foundationMessage) { [weak self] _ in self?.sentOne() }
            }
        }

        private func sentOne() {
            state.change { state in
                state.unsent -= 1
                closeWhenSent(&state)
            }
        }

        func close(code: UInt16, reason: String) {
            let isOpen = state.change { state in
                guard !state.isEnded, state.closing == nil else { return true }
                state.closing = CloseFrame(sending: code, reason: reason)
                if state.isOpen { closeWhenSent(&state) }
                return state.isOpen
            }
            // Before the answer to the opening handshake there is nothing to close.
            guard isOpen else { return terminate() }
            after(limits.closeSeconds) { connection in
                connection.finish(CloseFrame(code: nil, reason: "the server did not answer the closing handshake"))
            }
        }

        /// The task would begin the closing handshake before its queue is sent: this waits until all is sent.
        private func closeWhenSent(_ state: inout State) {
            guard let close = state.closing, let code = close.code, let task = state.task else { return }
            guard !state.isCloseSent, state.unsent == 0 else { return }
            state.isCloseSent = true
            let known = URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) ?? .normalClosure
            task.cancel(with: known, reason: Data(close.reason.utf8))
        }

        func terminate() {
            queue.async { self.finish(CloseFrame(code: nil, reason: "the connection was cut on this side")) }
        }

        /// On the queue. Takes effect once.
        private func finish(_ end: CloseFrame) {
            let ended = state.change { state -> State? in
                guard !state.isEnded else { return nil }
                defer { state = State(isEnded: true) }
                return state
            }
            guard let ended else { return }
            // Also ends the session's reference to its delegate, which is this object.
            ended.session?.invalidateAndCancel()
            onEvent(.closed(code: end.code, reason: end.reason))
        }

        private func receive(_ task: URLSessionWebSocketTask) {
            task.receive { [weak self] result in self?.received(result, task) }
        }

        private func received(
            _ result: Result<URLSessionWebSocketTask.Message, any Error>, _ task: URLSessionWebSocketTask
        ) {
            guard !state.get().isEnded else { return }
            switch result {
            case .success(let message):
                if let message = WebSocketMessage(message) { onEvent(.messages([message])) }
                receive(task)
            case .failure(let error):
                let closed = state.change { state in
                    state.isReceiving = false
                    return state.closed
                }
                if let closed { return finish(closed) }
                // The delegate receives the close code a moment later, if there is one.
                let end = CloseFrame(code: nil, reason: "the connection was lost: \(error.localizedDescription)")
                after(1) { $0.finish(end) }
            }
        }

        private func after(_ seconds: Double, _ body: @escaping @Sendable (FoundationWebSocket) -> Void) {
            queue.asyncAfter(deadline: .now() + seconds) { [weak self] in
                if let self { body(self) }
            }
        }

        func urlSession(
            _ session: URLSession, webSocketTask task: URLSessionWebSocketTask, didOpenWithProtocol chosen: String?
        ) {
            let subprotocol = chosen ?? ""
            guard subprotocol.isEmpty || subprotocols.contains(subprotocol) else {
                let reason = "the server chose a subprotocol that was not offered: \(subprotocol)"
                return finish(CloseFrame(code: nil, reason: reason))
            }
            guard !state.get().isEnded else { return }
            onEvent(.opened(subprotocol: subprotocol))
            state.change { state in
                guard !state.isEnded else { return }
                state.isOpen = true
                state.isReceiving = true
                send(state.waiting, on: task, &state)
                state.waiting = []
            }
            receive(task)
        }

        func urlSession(
            _ session: URLSession, webSocketTask task: URLSessionWebSocketTask,
            didCloseWith code: URLSessionWebSocketTask.CloseCode, reason: Data?
        ) {
            // Codes like 1005 stand for a code that was not in the frame.
            let sent = UInt16(exactly: code.rawValue).flatMap { isCloseCodeOnWire($0) ? $0 : nil }
            let closed = CloseFrame(code: sent, reason: reason.map { String(decoding: $0, as: UTF8.self) } ?? "")
            let isReceiving = state.change { state in
                state.closed = closed
                return state.isReceiving
            }
            // Messages before the close frame are received first; `receive` then fails, and ends the connection.
            if isReceiving { after(1) { $0.finish(closed) } } else { finish(closed) }
        }

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            if let refusal = trust.refusal(of: challenge) {
                completionHandler(.cancelAuthenticationChallenge, nil)
                return finish(CloseFrame(code: tlsFailedCode, reason: refusal))
            }
            let (disposition, credential) = trust.acceptance(of: challenge)
            completionHandler(disposition, credential)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            if let error, (error as? URLError)?.isTLSFailure == true {
                return finish(CloseFrame(code: tlsFailedCode, reason: error.localizedDescription))
            }
            let status = (task.response as? HTTPURLResponse)?.statusCode
            let state = state.get()
            var reason = error?.localizedDescription ?? "the server ended the connection"
            if !state.isOpen, let status, status != 101 { reason = "the server refused the WebSocket with \(status)" }
            finish(state.closed ?? CloseFrame(code: nil, reason: reason))
        }
    }

    extension WebSocketMessage {
        fileprivate var foundationMessage: URLSessionWebSocketTask.Message {
            switch self {
            case .text(let text): return .string(text)
            case .binary(let bytes): return .data(Data(bytes))
            }
        }

        fileprivate init?(_ message: URLSessionWebSocketTask.Message) {
            switch message {
            case .string(let text): self = .text(text)
            case .data(let data): self = .binary([UInt8](data))
            @unknown default: return nil
            }
        }
    }
#endif
