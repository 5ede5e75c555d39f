import Foundation
import Testing

@testable import Isochron

/// The number at the front of a message of a burst.
private func number(_ message: WebSocketMessage) -> Int {
    guard case .text(let text) = message else { return -1 }
    return Int(text.prefix { $0 != ":" }) ?? -1
}

private struct ServerSideEnd: Decodable {
    let code: Int
    let reason: String
    let messages: Int
}

/// The server's view of the end of the connection with this id.
private func serverSideEnd(_ id: String) async throws -> ServerSideEnd {
    let answer = try await Transports.http.send(HTTPRequest(url: TestServer.http("/closed?id=\(id)")))
    return try JSONDecoder().decode(ServerSideEnd.self, from: Data(answer.body))
}

extension Networked {
    /// Requirements on every WebSocket transport, against an independent server.
    @Suite("A WebSocket transport", .enabled(if: TestServer.isWanted, TestServer.advice))
    struct WebSocketSuite {
        @Test("A WebSocket opens, and reports the subprotocol that the server chose", arguments: WebSocketKind.all)
        func opens(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.url("/echo"), subprotocols: ["a.v1", "b.v1"])
            #expect(try await client.opened() == "a.v1")
            client.connection.close(code: 1000, reason: "")
            #expect(try await client.closed().code == 1000)
        }

        @Test("A WebSocket without subprotocols opens with none, also by an http: URL", arguments: WebSocketKind.all)
        func noSubprotocol(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.httpURL("/echo"))
            #expect(try await client.opened() == "")
            client.connection.terminate()
            _ = try await client.closed()
        }

        @Test("Messages of all sizes are echoed unchanged", arguments: WebSocketKind.all)
        func sizes(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.url("/echo"))
            try await client.opened()
            for size in [0, 1, 125, 126, 127, 5_000, 65_535, 65_536, 1 << 20] {
                let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                let text = String(decoding: bytes.map { $0 & 0x7f }, as: UTF8.self)
                client.connection.send([.binary(bytes), .text(text)])
                #expect(try await client.messages(2) == [.binary(bytes), .text(text)], "\(size) bytes")
            }
            client.connection.close(code: 1000, reason: "")
            _ = try await client.closed()
        }

        @Test("Text beyond ASCII is echoed with its zeros and its byte order mark", arguments: WebSocketKind.all)
        func unicode(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.url("/echo"))
            let texts = ["\u{feff}é€😀", "a\u{0}b", "e\u{301}", "\u{fffd}\u{10ffff}"].map(WebSocketMessage.text)
            // Sent before the opening: the messages wait for it.
            client.connection.send(texts)
            try await client.opened()
            let back = try await client.messages(texts.count)
            #expect(back.map(utf8) == texts.map(utf8))
            client.connection.terminate()
        }

        @Test("A burst of 20,000 messages from the server arrives whole and in order", arguments: WebSocketKind.all)
        func burstIn(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.url("/burst?count=20000&bytes=200"))
            try await client.opened()
            let messages = try await client.messages(20_000)
            #expect(messages.map(number) == Array(0..<20_000))
            #expect(messages.allSatisfy { $0.byteCount == 200 })
            client.connection.terminate()
        }

        @Test("A burst of 20,000 messages to the server arrives whole and in order", arguments: WebSocketKind.all)
        func burstOut(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.url("/count?count=20000"))
            try await client.opened()
            let padding = String(repeating: "x", count: 200)
            client.connection.send((0..<10_000).map { .text("\($0):\(padding)") })
            for index in 10_000..<20_000 { client.connection.send([.text("\(index):\(padding)")]) }
            #expect(try await client.messages(1) == [.text("all 20000")])
            client.connection.terminate()
        }

        @Test("A burst of 20,000 messages both ways at once does not stall", arguments: WebSocketKind.all)
        func burstBoth(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.url("/echo"))
            let padding = String(repeating: "x", count: 1_000)
            client.connection.send((0..<20_000).map { .text("\($0):\(padding)") })
            try await client.opened()
            #expect(try await client.messages(20_000).map(number) == Array(0..<20_000))
            client.connection.terminate()
        }

        @Test("Fragments are joined", arguments: WebSocketKind.all, ["/fragments", "/fragments?pings"])
        func fragments(kind: WebSocketKind, path: String) async throws {
            let client = try Client(kind, try kind.url(path))
            try await client.opened()
            for size in [0, 1, 2, 3_000, 200_000] {
                let text = String(repeating: "abc", count: size)
                client.connection.send([.text(text), .binary(Array(text.utf8))])
                #expect(try await client.messages(2) == [.text(text), .binary(Array(text.utf8))])
            }
            client.connection.terminate()
        }

        @Test("Pings are answered with their payload", arguments: WebSocketKind.all)
        func pings(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.url("/pings?count=3"))
            try await client.opened()
            let expected = ["pong ping 0", "pong ping 1", "pong ping 2", "pong " + String(repeating: "y", count: 125)]
            #expect(try await client.messages(4) == expected.map { .text($0) })
            client.connection.terminate()
        }
    }
}

/// The bytes of a text, because strings may be equal with different bytes.
private func utf8(_ message: WebSocketMessage) -> [UInt8] {
    switch message {
    case .text(let text): return Array(text.utf8)
    case .binary(let bytes): return bytes
    }
}

extension Networked {
    /// The ends of connections.
    @Suite("The end of a WebSocket", .enabled(if: TestServer.isWanted, TestServer.advice))
    struct WebSocketEndSuite {
        @Test(
            "The server's code and reason arrive, after its last message",
            arguments: WebSocketKind.all, [1000, 1001, 1012, 4400, 4401] as [UInt16])
        func serverCloses(kind: WebSocketKind, code: UInt16) async throws {
            let client = try Client(kind, try kind.url("/close?code=\(code)&reason=because%20%C3%A9"))
            let end = try await client.closed()
            #expect(end.wasOpened && end.code == code && end.reason == "because é")
            #expect(end.messages == [.text("last words")])
        }

        @Test("A close without a code has none", arguments: WebSocketKind.all)
        func noCode(kind: WebSocketKind) async throws {
            let end = try await Client(kind, try kind.url("/close")).closed()
            #expect(end.wasOpened && end.code == nil)
        }

        @Test("A dropped socket has no code", arguments: WebSocketKind.all, ["/drop?now", "/drop"])
        func dropped(kind: WebSocketKind, path: String) async throws {
            let client = try Client(kind, try kind.url(path))
            client.connection.send([.text("drop me")])
            let end = try await client.closed()
            #expect(end.code == nil && !end.reason.isEmpty)
        }

        @Test(
            "The server sees our code and reason, after all that was sent",
            arguments: WebSocketKind.all, [1000, 1001, 1012, 4400, 4401] as [UInt16])
        func clientCloses(kind: WebSocketKind, code: UInt16) async throws {
            let id = UUID().uuidString
            let client = try Client(kind, try kind.url("/count?count=100000&id=\(id)"))
            try await client.opened()
            client.connection.send((0..<2_000).map { .text("\($0)") })
            client.connection.close(code: code, reason: "enough é")
            client.connection.send([.text("too late")])
            #expect(try await client.closed().code == code)
            let seen = try await serverSideEnd(id)
            #expect(seen.code == Int(code) && seen.reason == "enough é" && seen.messages == 2_000)
        }

        @Test("A server that does not answer the closing handshake is cut off", arguments: WebSocketKind.all)
        func deafServer(kind: WebSocketKind) async throws {
            let limits = WebSocketLimits(closeSeconds: 0.3)
            let client = try Client(kind, try kind.url("/deaf"), limits: limits)
            try await client.opened()
            client.connection.send([.text("anybody?")])
            client.connection.close(code: 1000, reason: "")
            #expect(try await client.closed().code == nil)
        }

        @Test("Sending never waits, however little the server reads; a cut ends it", arguments: WebSocketKind.all)
        func piledUp(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.url("/deaf"))
            try await client.opened()
            let megabyte = WebSocketMessage.binary([UInt8](repeating: 1, count: 1 << 20))
            client.connection.send(Array(repeating: megabyte, count: 50))
            client.connection.terminate()
            let end = try await client.closed()
            #expect(end.code == nil && !end.reason.isEmpty)
        }

        @Test("A cut in the middle of a burst ends the burst", arguments: WebSocketKind.all)
        func cutInBurst(kind: WebSocketKind) async throws {
            let client = try Client(kind, try kind.url("/burst?count=20000&bytes=1000"))
            try await client.opened()
            _ = try await client.messages(1)
            client.connection.send((0..<20_000).map { .text("\($0)") })
            client.connection.terminate()
            client.connection.terminate()
            #expect(try await client.closed().code == nil)
            client.connection.send([.text("too late")])
            client.connection.close(code: 1000, reason: "")
        }

        @Test("A WebSocket can be given up before it is open", arguments: WebSocketKind.all, [true, false])
        func givenUp(kind: WebSocketKind, isCut: Bool) async throws {
            let client = try Client(kind, try kind.url("/silent"))
            if isCut { client.connection.terminate() } else { client.connection.close(code: 1000, reason: "") }
            let end = try await client.closed()
            #expect(!end.wasOpened && end.code == nil)
        }

        @Test("A message above the limit ends the connection", arguments: WebSocketKind.all)
        func tooLarge(kind: WebSocketKind) async throws {
            let limits = WebSocketLimits(maxMessageBytes: 1_000)
            let client = try Client(kind, try kind.url("/burst?count=1&bytes=1001"), limits: limits)
            let end = try await client.closed()
            #expect(end.wasOpened && end.messages.isEmpty && (end.code == nil || end.code == 1009))
        }

        @Test("Bytes that are not frames end the connection", arguments: WebSocketKind.all)
        func garbage(kind: WebSocketKind) async throws {
            let end = try await Client(kind, try kind.url("/garbage")).closed()
            #expect(end.wasOpened && end.messages.isEmpty && (end.code == nil || end.code == 1002))
        }
    }

    /// Servers that refuse, or are not WebSocket servers.
    @Suite("A WebSocket that does not open", .enabled(if: TestServer.isWanted, TestServer.advice))
    struct WebSocketRefusalSuite {
        @Test(
            "It ends without having been open",
            arguments: WebSocketKind.all,
            ["/wrong-subprotocol", "/bad-accept", "/refuse?status=404", "/refuse?status=401"])
        func refused(kind: WebSocketKind, path: String) async throws {
            let end = try await Client(kind, try kind.url(path), subprotocols: ["a.v1"]).closed()
            #expect(!end.wasOpened && end.code == nil && !end.reason.isEmpty)
            if let status = path.split(separator: "=").last, path.contains("status") {
                #expect(end.reason.contains(status))
            }
        }

        @Test("A silent server is given up after a while", arguments: WebSocketKind.all)
        func silent(kind: WebSocketKind) async throws {
            let limits = WebSocketLimits(connectSeconds: 0.2)
            let end = try await Client(kind, try kind.url("/silent"), limits: limits).closed()
            #expect(!end.wasOpened && end.code == nil)
        }

        @Test(
            "A missing listener, an unknown host and an invalid URL end the connection",
            arguments: WebSocketKind.all,
            ["ws://127.0.0.1:1/", "ws://no-such-host.invalid/", "ws://", "ftp://127.0.0.1/", "ws://127.0.0.1:1/ x"])
        func unreachable(kind: WebSocketKind, url: String) async throws {
            let end = try await Client(kind, url, limits: WebSocketLimits(connectSeconds: 5)).closed()
            #expect(!end.wasOpened && end.code == nil && !end.reason.isEmpty)
        }
    }
}
