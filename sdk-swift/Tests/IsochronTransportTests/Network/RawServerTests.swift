#if !canImport(Darwin)
    import Foundation
    import Testing

    @testable import Isochron

    private let sockets = WebSocketKind(name: "sockets", isSecure: false) { SocketWebSocketTransport(limits: $0) }

    private func numericAddresses(_ host: String, _ port: UInt16) -> [SocketAddress] {
        guard case .addresses(let addresses) = Resolution.start(host: host, port: port, wake: WakeUp()).outcome else {
            return []
        }
        return addresses
    }

    extension Networked {
        /// Our own client against servers that break the rules, byte by byte.
        @Suite("The socket client and raw servers")
        struct RawServerTests {
            private func client(_ server: RawServer, limits: WebSocketLimits = WebSocketLimits()) throws -> Client {
                try Client(sockets, "ws://127.0.0.1:\(server.port)/", limits: limits, server: server)
            }

            @Test("A protocol violation ends the connection on both sides with its code", arguments: Violation.all)
            func violations(violation: Violation) async throws {
                let server = try RawServer { peer in
                    peer.accept()
                    peer.write(serverFrame(1, [0x68]) + violation.bytes)
                    peer.endWriting()
                }
                let end = try await client(server).closed()
                #expect(end.messages == [.text("h")])
                #expect(end.code == violation.code)
                let frames = clientFrames(await server.transcript())
                #expect(frames.map(\.closeCode) == [violation.code])
                #expect(frames.allSatisfy { $0.isMasked })
            }

            @Test("A server may send everything byte by byte")
            func drips() async throws {
                let server = try RawServer { peer in
                    guard let key = peer.readKey() else { return }
                    let text = Array("drop by drop €".utf8)
                    let frames = serverFrame(1, text) + serverFrame(9, [7]) + serverFrame(2, [1, 2], isFinal: false)
                    peer.drip(RawPeer.answer(key: key) + frames + serverFrame(0, [3]) + serverClose(4400, text))
                    peer.endWriting()
                }
                let end = try await client(server).closed()
                #expect(end.messages == [.text("drop by drop €"), .binary([1, 2, 3])])
                #expect(end.code == 4400 && end.reason == "drop by drop €")
                let frames = clientFrames(await server.transcript())
                #expect(frames.map(\.opcode) == [10, 8] && frames.first?.payload == [7])
            }

            @Test("A server may send messages in one packet with the handshake")
            func together() async throws {
                let server = try RawServer { peer in
                    guard let key = peer.readKey() else { return }
                    let messages = serverFrame(1, [0x61]) + serverFrame(1, [0x62])
                    peer.write(RawPeer.answer(key: key) + messages + serverClose(1000))
                    peer.endWriting()
                }
                let client = try client(server)
                #expect(try await client.opened() == "")
                #expect(try await client.messages(2) == [.text("a"), .text("b")])
                #expect(try await client.closed().code == 1000)
            }

            @Test("A server may end in the middle of a frame, of a message, and between two")
            func endsInside() async throws {
                for (bytes, isInside) in [
                    ([0x82, 5, 1, 2], true), (serverFrame(1, [0x61], isFinal: false), true), ([0x82], true),
                    (serverFrame(1, [0x61]), false),
                ] as [([UInt8], Bool)] {
                    let server = try RawServer { peer in
                        peer.accept()
                        peer.write(bytes)
                        peer.endWriting()
                    }
                    let end = try await client(server).closed()
                    #expect(end.wasOpened && end.code == nil)
                    #expect(end.reason.contains("middle of a message") == isInside)
                }
            }

            @Test("A server may reset the connection, after the handshake and in it", arguments: [true, false])
            func resets(isAccepted: Bool) async throws {
                let server = try RawServer { peer in
                    if isAccepted { peer.accept() }
                    peer.reset()
                }
                let end = try await client(server).closed()
                #expect(end.wasOpened == isAccepted && end.code == nil)
            }

            @Test(
                "does not answer the handshake as it should",
                arguments: [
                    "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 101 Switching",
                    "HTTP/1.1 101\r\n\r\n", "\u{0}", "",
                    "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                    "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 4_000),
                ])
            func noHandshake(answer: String) async throws {
                let server = try RawServer { peer in
                    _ = peer.readKey()
                    peer.write(answer)
                    peer.endWriting()
                }
                let end = try await client(server).closed()
                #expect(!end.wasOpened && end.code == nil && !end.reason.isEmpty)
            }

            @Test("A server with another protocol that stays open is detected at once")
            func otherProtocol() async throws {
                let server = try RawServer { $0.write("220 mail.example ESMTP\r\n") }
                let end = try await client(server, limits: WebSocketLimits(connectSeconds: 100)).closed()
                #expect(!end.wasOpened && end.reason.contains("HTTP"))
            }

            @Test("The client ends the TCP connection after the closing handshake if the server does not")
            func staysOpen() async throws {
                let server = try RawServer { peer in
                    peer.accept()
                    peer.write(serverClose(1012, Array("restart".utf8)))
                }
                let end = try await client(server).closed()
                #expect(end.code == 1012 && end.reason == "restart")
                #expect(clientFrames(await server.transcript()).map(\.closeCode) == [1012])
            }

            @Test("When both sides close, the server's code counts, and the client closes once")
            func bothClose() async throws {
                let server = try RawServer { peer in
                    peer.accept()
                    peer.write(serverClose(4401))
                    peer.endWriting()
                }
                let client = try client(server)
                try await client.opened()
                client.connection.close(code: 1000, reason: "")
                #expect(try await client.closed().code == 4401)
                #expect(clientFrames(await server.transcript()).map(\.opcode) == [8])
            }

            @Test("A server that listens on IPv6 is reached by its address")
            func ipv6() async throws {
                guard let server = try? RawServer(onIPv6: true, { $0.accept() }) else { return }
                let client = try Client(sockets, "ws://[::1]:\(server.port)/", server: server)
                #expect(try await client.opened() == "")
                client.connection.terminate()
            }

            @Test("A server that listens on one of a name's addresses is found", arguments: [true, false])
            func name(onIPv6: Bool) async throws {
                // If localhost has no such address, this test shows nothing.
                let family = onIPv6 ? AF_INET6 : AF_INET
                let lookup = Resolution.start(host: "localhost", port: 1, wake: WakeUp())
                while lookup.outcome == nil { await Task.yield() }
                guard case .addresses(let found) = lookup.outcome, found.contains(where: { $0.family == family }),
                    let server = try? RawServer(onIPv6: onIPv6, { $0.accept() })
                else { return }
                let client = try Client(sockets, "ws://localhost:\(server.port)/", server: server)
                #expect(try await client.opened() == "")
                client.connection.terminate()
            }

            @Test("The answering address is found among unknown, refusing and silent ones")
            func otherAddresses() async throws {
                let server = try RawServer { _ in }
                let connection = SocketConnection()
                let addresses = [("127.0.0.1", 1), ("192.0.2.1", 9), ("127.0.0.1", server.port)].flatMap { host, port in
                    numericAddresses(host, port)
                }
                #expect(addresses.count == 3)
                let unknown = SocketAddress(family: -1, bytes: [])
                var dialer = Dialer(waiter: OpeningWaiter(connection: connection, deadline: Deadline(seconds: 20)))
                #expect(try dialer.dial([unknown] + addresses).pendingError() == nil)
                #expect(throws: TransportError.self) { try dialer.dial(numericAddresses("127.0.0.1", 1)) }
                connection.terminate()
                #expect(throws: TransportError.cancelled) { try dialer.dial(addresses) }
            }

            @Test("Bytes that a server does not read are counted, and dropped at the end")
            func buffered() async throws {
                let release = Locked(false)
                let server = try RawServer { peer in
                    peer.accept()
                    while !release.get() { usleep(1_000) }
                }
                let client = try client(server)
                try await client.opened()
                let connection = try #require(client.connection as? SocketConnection)
                connection.send(Array(repeating: .binary([UInt8](repeating: 0, count: 1 << 20)), count: 40))
                #expect(connection.bufferedBytes > 1 << 20)
                connection.terminate()
                _ = try await client.closed()
                #expect(connection.bufferedBytes == 0)
                release.set(true)
            }
        }
    }
#endif
