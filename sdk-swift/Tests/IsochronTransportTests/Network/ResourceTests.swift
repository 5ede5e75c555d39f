#if !canImport(Darwin)
    import Foundation
    import Testing

    @testable import Isochron

    private let sockets = WebSocketKind(name: "sockets", isSecure: false) { SocketWebSocketTransport(limits: $0) }

    private struct Usage {
        let descriptors: Int
        let threads: Int

        static func now() throws -> Usage {
            let files = FileManager.default
            return Usage(
                descriptors: try files.contentsOfDirectory(atPath: "/proc/self/fd").count,
                threads: try files.contentsOfDirectory(atPath: "/proc/self/task").count)
        }
    }

    /// Opens a connection, ends it in one of many ways, and waits for its last event.
    private func liveAndDie(_ number: Int, _ server: RawServer) async throws -> Client {
        let client = try Client(sockets, number % 5 == 2 ? "ws://127.0.0.1:1/" : "ws://localhost:\(server.port)/")
        switch number % 5 {
        case 2: break
        case 3: client.connection.terminate()
        default:
            try await client.opened()
            client.connection.send([.text("hello")])
            client.connection.close(code: 1000, reason: "")
        }
        _ = try await client.closed()
        return client
    }

    /// Connects to a server that is accepted, refused, or hangs up, and waits for the last event.
    private func secureAndDie(_ number: Int) async throws -> Client {
        let listeners = ["good", "good", "good", "expired", "otherHost", "hangsUp", "alteredHandshake"]
        let port = try TestServer.port(listeners[number % listeners.count])
        let trust = try TLSTrust(pem: TestServer.description().tls.ca)
        let kind = WebSocketKind(name: "TLS", isSecure: true) { SocketWebSocketTransport(limits: $0, trust: trust) }
        let client = try Client(kind, "wss://localhost:\(port)/echo")
        if number % listeners.count == 0 { client.connection.terminate() }
        client.connection.send([.text("hello")])
        if number % listeners.count == 1 {
            try await client.opened()
            _ = try await client.messages(1)
            client.connection.close(code: 1000, reason: "")
        } else if number % listeners.count == 2 {
            try await client.opened()
            client.connection.terminate()
        }
        _ = try await client.closed()
        return client
    }

    /// Answers a handshake and a close, closes itself, or drops the socket.
    private func serve(_ peer: RawPeer, _ number: Int) {
        peer.accept()
        switch number % 3 {
        case 0: peer.write(serverClose(1000))
        case 1: peer.write(serverFrame(1, [0x61]))
        default: break
        }
        peer.endWriting()
    }

    extension Networked {
        @Suite("Resources of connections")
        struct ResourceTests {
            @Test("Opened and closed connections leave neither descriptors nor threads behind")
            func nothingGrows() async throws {
                let count = Locked(0)
                let server = try RawServer { peer in
                    let number = count.change { count in
                        count += 1
                        return count
                    }
                    serve(peer, number)
                }
                for number in 0..<30 { _ = try await liveAndDie(number, server) }
                let before = try await settled(Usage(descriptors: 0, threads: 0))
                // Kept: a connection has to release its resources at its end, not only with its last reference.
                var ended: [Client] = []
                for number in 0..<300 { ended.append(try await liveAndDie(number, server)) }
                let after = try await settled(before)
                #expect(ended.count == 300)
                #expect(after.descriptors <= before.descriptors)
                // The runtime's own pool may have grown by a thread or two meanwhile.
                #expect(after.threads <= before.threads + 3)
            }

            @Test(
                "Connections with TLS leave neither descriptors nor threads behind",
                .enabled(if: TestServer.isWanted, TestServer.advice))
            func nothingGrowsWithTLS() async throws {
                for number in 0..<10 { _ = try await secureAndDie(number) }
                let before = try await settled(Usage(descriptors: 0, threads: 0))
                var ended: [Client] = []
                for number in 0..<100 { ended.append(try await secureAndDie(number)) }
                let after = try await settled(before)
                #expect(ended.count == 100)
                #expect(after.descriptors <= before.descriptors)
                #expect(after.threads <= before.threads + 3)
            }

            /// A thread ends a moment after its last event: waits until there are no more than before, within a limit.
            private func settled(_ before: Usage) async throws -> Usage {
                var usage = try Usage.now()
                for _ in 0..<100 where usage.threads > before.threads || usage.descriptors > before.descriptors {
                    try await Task.sleep(nanoseconds: 5_000_000)
                    usage = try Usage.now()
                }
                return usage
            }
        }
    }
#endif
