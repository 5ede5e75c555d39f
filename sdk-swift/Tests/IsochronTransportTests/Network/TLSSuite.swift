#if !canImport(Darwin)
    import Foundation
    import Testing

    @testable import Isochron

    extension TLSCase: CustomTestStringConvertible {
        var testDescription: String { name }
    }

    private let secure = WebSocketKind.all.filter(\.isSecure)

    extension Networked {
        @Suite("TLS by OpenSSL", .enabled(if: TestServer.isWanted, TestServer.advice))
        struct TLSSuite {
            @Test("Only a server that proves its host by an accepted authority is connected to", arguments: TLSCase.all)
            func certificates(one: TLSCase) async throws {
                #expect(try await one.difference() == nil)
            }

            private struct Security: Decodable, Equatable {
                let version: String
                let name: String
            }

            @Test("The newest version is agreed on, and a name, but no address, is sent to the server")
            func security() async throws {
                let port = try TestServer.port("good")
                let older = try TestServer.port("tls12")
                let cases = [
                    ("localhost:\(port)", Security(version: "TLSv1.3", name: "localhost")),
                    ("127.0.0.1:\(port)", Security(version: "TLSv1.3", name: "")),
                    ("localhost:\(older)", Security(version: "TLSv1.2", name: "localhost")),
                ]
                for (host, expected) in cases {
                    let client = try Client(secure[0], "wss://\(host)/security")
                    try await client.opened()
                    guard case .text(let text)? = try await client.messages(1).first else { return }
                    #expect(try JSONDecoder().decode(Security.self, from: Data(text.utf8)) == expected)
                    client.connection.terminate()
                }
            }

            @Test("Altered bytes end the connection, and none of them reaches the session")
            func altered() async throws {
                let client = try Client(secure[0], "wss://localhost:\(try TestServer.port("alteredData"))/echo")
                try await client.opened()
                client.connection.send([.text("before")])
                #expect(try await client.messages(1) == [.text("before")])
                client.connection.send([.binary([UInt8](repeating: 7, count: 20_000))])
                let end = try await client.closed()
                #expect(end.code == nil && end.reason.contains("connection was lost") && end.messages.isEmpty)
            }

            @Test("A server that asks for new keys does not get them, and does not hang the connection")
            func renegotiation() async throws {
                let client = try Client(secure[0], "wss://localhost:\(try TestServer.port("tls12"))/renegotiate")
                try await client.opened()
                client.connection.send([.text("on")])
                client.connection.close(code: 1000, reason: "")
                _ = try await client.closed()
            }

            @Test("HTTP over TLS refuses an authority that the system does not know")
            func http() async throws {
                let url = "https://localhost:\(try TestServer.port("otherAuthority"))/http/echo"
                await #expect(throws: TransportError.self) {
                    try await Transports.http.send(HTTPRequest(url: url))
                }
            }
        }
    }
#endif
