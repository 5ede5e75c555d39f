import Foundation
import IsochronSession
import XCTest

@testable import Isochron

/// A network in memory: sockets between clients and the scripted servers of a test.
final class FakeNetwork: WebSocketTransport {
    let servers = Locked<[String: FakeServer]>([:])
    /// Number of sockets that clients tried to open.
    let opened = Locked(0)

    func open(
        _ url: String, subprotocols: [String], onEvent: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketConnection {
        opened.change { $0 += 1 }
        let socket = FakeSocket(onEvent)
        let servers = self.servers
        Task { @SessionActor in
            guard let server = servers.get()[url], server.isListening else {
                return socket.end(code: nil, "no listener at \(url)")
            }
            await server.serve(socket, subprotocols.first ?? "")
        }
        return socket
    }
}

/// One socket of the network: the client's end by its protocol, the server's by the other functions.
final class FakeSocket: WebSocketConnection {
    private let onEvent: @Sendable (WebSocketEvent) -> Void
    private let isOpen = Locked(true)
    private let inlet: AsyncStream<[WebSocketMessage]>.Continuation
    /// Messages of the client.
    let sent: AsyncStream<[WebSocketMessage]>
    /// The client's close code.
    let closeCode = Locked<UInt16?>(nil)

    init(_ onEvent: @escaping @Sendable (WebSocketEvent) -> Void) {
        self.onEvent = onEvent
        (sent, inlet) = AsyncStream.makeStream()
    }

    func send(_ messages: [WebSocketMessage]) { inlet.yield(messages) }

    func close(code: UInt16, reason: String) {
        closeCode.set(code)
        end(code: code, reason)
    }

    func terminate() { end(code: nil, "cut") }

    func deliver(_ event: WebSocketEvent) {
        if isOpen.get() { onEvent(event) }
    }

    func end(code: UInt16?, _ reason: String) {
        let first = isOpen.change { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if first { onEvent(.closed(code: code, reason: reason)) }
        inlet.finish()
    }
}

/// Lets its callers pass once it is open.
@SessionActor
final class Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    nonisolated init() {}

    func wait() async {
        if isOpen { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
