/// The client's side of the opening handshake (RFC 6455 section 4.1). No I/O.
struct Handshake: Sendable {
    let url: WebSocketURL
    let subprotocols: [String]
    /// Sixteen random bytes in Base64.
    let key: String

    init(
        _ url: WebSocketURL, subprotocols: [String], random: inout some RandomNumberGenerator
    ) throws(TransportError) {
        guard subprotocols.allSatisfy(isToken), Set(subprotocols).count == subprotocols.count else {
            throw .unsupported("subprotocols are distinct HTTP tokens, not \(subprotocols)")
        }
        self.url = url
        self.subprotocols = subprotocols
        key = base64((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    /// The bytes to send.
    var request: [UInt8] {
        var lines = [
            "GET \(url.target) HTTP/1.1", "Host: \(url.hostField)", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13", "User-Agent: isochron-swift",
        ]
        if !subprotocols.isEmpty { lines.append("Sec-WebSocket-Protocol: \(subprotocols.joined(separator: ", "))") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// The answer of a server to the key.
    static func accept(key: String) -> String {
        base64(sha1(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }

    /// Checks an answer, and returns the subprotocol that the server chose, empty for none.
    func subprotocol(of answer: HandshakeAnswer) throws(TransportError) -> String {
        guard answer.status == 101 else {
            let phrase = answer.phrase.isEmpty ? "" : " " + answer.phrase
            throw .unreachable("the server refused the WebSocket with \(answer.status)\(phrase)")
        }
        guard answer.tokens("upgrade").contains("websocket"), answer.tokens("connection").contains("upgrade") else {
            throw .unreachable("the server upgraded to something else than a WebSocket")
        }
        guard answer.values("sec-websocket-accept") == [Self.accept(key: key)] else {
            throw .unreachable("the server did not accept the key of the handshake")
        }
        guard answer.values("sec-websocket-extensions").allSatisfy(\.isEmpty) else {
            throw .unreachable("the server chose an extension that was not offered")
        }
        let chosen = answer.values("sec-websocket-protocol")
        guard chosen.count <= 1, chosen.allSatisfy(subprotocols.contains) else {
            throw .unreachable("the server chose a subprotocol that was not offered: \(chosen.joined(separator: ", "))")
        }
        return chosen.first ?? ""
    }
}

/// Whether a text is a token of HTTP (RFC 9110 section 5.6.2).
func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.unicodeScalars.allSatisfy { $0.isASCII && ($0.properties.isAlphabetic || isTokenSign($0)) }
}

private func isTokenSign(_ scalar: Unicode.Scalar) -> Bool {
    "0123456789!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar)
}
