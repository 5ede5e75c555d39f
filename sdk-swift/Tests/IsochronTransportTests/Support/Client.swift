import Testing

@testable import Isochron

/// One connection of a test, and its events in order. A wait for an event that does not come ends at the suite's time
/// limit.
final class Client: Sendable {
    struct UnexpectedEnd: Error {
        let reason: String
    }

    let connection: any WebSocketConnection
    private let events: AsyncStream<WebSocketEvent>
    /// A server that has to live as long as this object.
    private let server: (any Sendable)?

    /// Opens a connection.
    init(
        _ kind: WebSocketKind, _ url: String, subprotocols: [String] = [], limits: WebSocketLimits = WebSocketLimits(),
        server: (any Sendable)? = nil
    ) throws {
        let (events, input) = AsyncStream.makeStream(of: WebSocketEvent.self)
        let ended = Locked(false)
        self.events = events
        self.server = server
        connection = try kind.make(limits).open(url, subprotocols: subprotocols) { event in
            let isLate = ended.change { ended in
                defer { if case .closed = event { ended = true } }
                return ended
            }
            if isLate { Issue.record("an event after the end: \(event)") }
            input.yield(event)
        }
    }

    /// The next event.
    func next() async throws -> WebSocketEvent {
        for await event in events { return event }
        throw UnexpectedEnd(reason: "the test was given up")
    }

    /// Waits for the opening and returns the subprotocol.
    @discardableResult
    func opened() async throws -> String {
        switch try await next() {
        case .opened(let subprotocol): return subprotocol
        case .messages: throw UnexpectedEnd(reason: "messages before the opening")
        case .closed(let code, let reason): throw UnexpectedEnd(reason: "closed with \(code ?? 0): \(reason)")
        }
    }

    /// Waits for `count` messages; returns those that came together with the last of them, too.
    func messages(_ count: Int) async throws -> [WebSocketMessage] {
        var messages: [WebSocketMessage] = []
        while messages.count < count {
            switch try await next() {
            case .messages(let more): messages += more
            case .opened: throw UnexpectedEnd(reason: "opened twice")
            case .closed(let code, let reason):
                throw UnexpectedEnd(reason: "closed with \(code ?? 0) after \(messages.count) messages: \(reason)")
            }
        }
        return messages
    }

    /// Waits for the end, and skips all events before it.
    func closed() async throws -> Ending {
        var ending = Ending()
        while true {
            switch try await next() {
            case .opened: ending.wasOpened = true
            case .messages(let messages): ending.messages += messages
            case .closed(let code, let reason):
                ending.code = code
                ending.reason = reason
                return ending
            }
        }
    }

    struct Ending {
        var wasOpened = false
        var messages: [WebSocketMessage] = []
        var code: UInt16?
        var reason = ""
    }
}
