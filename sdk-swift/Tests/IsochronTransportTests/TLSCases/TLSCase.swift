#if !canImport(Darwin)
    import Foundation

    @testable import Isochron

    /// A WebSocket to a listener with TLS, and its end.
    struct TLSCase: Sendable {
        /// The authorities that the client accepts.
        enum Accepted: String, Sendable {
            case own, other, both, system
        }

        /// What has to happen.
        enum Expected: Sendable, Equatable {
            case opens
            /// The client refuses the server, or the other way round, with this in the sentence.
            case fails(String)
            /// The connection is lost, which is no fault of TLS.
            case lost
        }

        let listener: String
        var host = "localhost"
        var accepted = Accepted.own
        let expected: Expected

        var name: String { "\(listener) at \(host) with \(accepted) authorities" }

        static let all: [TLSCase] = [
            TLSCase(listener: "good", expected: .opens),
            TLSCase(listener: "good", host: "127.0.0.1", expected: .opens),
            TLSCase(listener: "good", accepted: .both, expected: .opens),
            TLSCase(listener: "good", accepted: .system, expected: .opens),
            TLSCase(listener: "tls12", expected: .opens),
            TLSCase(listener: "expired", expected: .fails("has expired")),
            TLSCase(listener: "future", expected: .fails("is not valid yet")),
            TLSCase(listener: "otherHost", expected: .fails("is not for localhost")),
            TLSCase(listener: "otherHost", host: "127.0.0.1", expected: .fails("is not for 127.0.0.1")),
            TLSCase(listener: "otherAuthority", expected: .fails("the authority of the certificate")),
            TLSCase(
                listener: "otherAuthority", accepted: .system, expected: .fails("the authority of the certificate")),
            // The system accepts the authority of the server, but the app names another one.
            TLSCase(listener: "good", accepted: .other, expected: .fails("the authority of the certificate")),
            TLSCase(listener: "tls11", expected: .fails("the TLS handshake with localhost failed")),
            TLSCase(listener: "needsCertificate", expected: .fails("the TLS handshake with localhost failed")),
            TLSCase(listener: "alteredHandshake", expected: .fails("the TLS handshake with localhost failed")),
            TLSCase(listener: "withoutTLS", expected: .fails("does not use TLS at this port")),
            TLSCase(listener: "hangsUp", expected: .lost),
        ]

        /// Opens the WebSocket, and closes it at once. Nil if what has to happen has happened; else what has.
        func difference() async throws -> String? {
            let (code, reason, wasOpened) = try await end()
            switch expected {
            case .opens: if wasOpened { return nil }
            case .fails(let part): if !wasOpened, code == 1015, reason.contains(part) { return nil }
            case .lost: if !wasOpened, code == nil { return nil }
            }
            return "\(wasOpened ? "opened, " : "")closed with \(code.map { "\($0)" } ?? "no code"): \(reason)"
        }

        private func end() async throws -> (code: UInt16?, reason: String, wasOpened: Bool) {
            let transport = SocketWebSocketTransport(trust: try trust())
            let (events, input) = AsyncStream.makeStream(of: WebSocketEvent.self)
            let url = "wss://\(host):\(try TestServer.port(listener))/echo"
            let connection = transport.open(url, subprotocols: []) { input.yield($0) }
            var wasOpened = false
            for await event in events {
                switch event {
                case .opened:
                    wasOpened = true
                    connection.close(code: 1000, reason: "")
                case .messages: break
                case .closed(let code, let reason): return (code, reason, wasOpened)
                }
            }
            return (nil, "the test was given up", wasOpened)
        }

        private func trust() throws -> TLSTrust {
            let tls = try TestServer.description().tls
            switch accepted {
            case .own: return try TLSTrust(pem: tls.ca)
            case .other: return try TLSTrust(pem: tls.otherCa)
            case .both: return try TLSTrust(pem: "of the tests:\r\n\(tls.otherCa)\n\(tls.ca)")
            case .system: return TLSTrust()
            }
        }
    }
#endif
