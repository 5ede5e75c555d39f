import Testing

@testable import Isochron

private func handshake(_ subprotocols: [String] = []) throws -> Handshake {
    var random = SeededRandom(seed: 7)
    return try Handshake(WebSocketURL("ws://h.example:81/a?b=c"), subprotocols: subprotocols, random: &random)
}

/// The answer of a server to a handshake, with replaced fields; an empty value removes the field.
private func answer(_ handshake: Handshake, _ changes: [String: String] = [:], status: String = "101 Yes") -> [UInt8] {
    var fields = [
        "Upgrade": "WebSocket", "Connection": "keep-alive, Upgrade",
        "Sec-WebSocket-Accept": Handshake.accept(key: handshake.key),
    ]
    fields.merge(changes) { $1 }
    let lines = fields.filter { !$0.value.isEmpty }.map { "\($0.key): \($0.value)\r\n" }
    return Array("HTTP/1.1 \(status)\r\n\(lines.joined())\r\n".utf8)
}

@Suite("The opening handshake")
struct HandshakeTests {
    @Test("SHA-1 gives the digests of RFC 3174")
    func digests() {
        let hex: ([UInt8]) -> String = { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
        #expect(hex(sha1(Array("abc".utf8))) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(hex(sha1([])) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        let two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        #expect(hex(sha1(Array(two.utf8))) == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
        let million = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000)
        #expect(hex(sha1(million)) == "291e9a6c66994949b57ba5e650361e98fc36b1ba")
    }

    @Test("Base64 pads as in RFC 4648")
    func base64Padding() {
        let pairs = [
            "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=",
            "foobar": "Zm9vYmFy",
        ]
        for (input, output) in pairs { #expect(base64(Array(input.utf8)) == output) }
        #expect(base64([0xfb, 0xff]) == "+/8=")
    }

    @Test("The key of the RFC's example is accepted with the RFC's answer")
    func exampleKey() {
        #expect(Handshake.accept(key: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("The request has the fields that a server requires")
    func request() throws {
        let handshake = try handshake(["a.v1", "b.v1"])
        let lines = String(decoding: handshake.request, as: UTF8.self).components("\r\n")
        #expect(lines.first == "GET /a?b=c HTTP/1.1")
        #expect(lines.contains("Host: h.example:81"))
        #expect(lines.contains("Sec-WebSocket-Key: \(handshake.key)"))
        #expect(lines.contains("Sec-WebSocket-Protocol: a.v1, b.v1"))
        #expect(lines.suffix(2) == ["", ""])
        #expect(handshake.key.utf8.count == 24)
    }

    @Test("A valid answer is accepted, with an offered subprotocol or none")
    func accepted() throws {
        let handshake = try handshake(["a.v1"])
        #expect(try handshake.subprotocol(of: HandshakeAnswer(head: answer(handshake))) == "")
        let chosen = answer(handshake, ["sec-websocket-PROTOCOL": " a.v1 "])
        #expect(try handshake.subprotocol(of: HandshakeAnswer(head: chosen)) == "a.v1")
    }

    @Test(
        "A wrong answer is refused",
        arguments: [
            ["Upgrade": "h2c"], ["Upgrade": ""], ["Connection": "close"], ["Sec-WebSocket-Accept": "x"],
            ["Sec-WebSocket-Accept": ""], ["Sec-WebSocket-Protocol": "c.v1"], ["Sec-WebSocket-Protocol": "a.v1, b.v1"],
            ["Sec-WebSocket-Extensions": "permessage-deflate"], ["Bad Name": "x"], ["X": "a\rb"],
        ])
    func refused(changes: [String: String]) throws {
        let handshake = try handshake(["a.v1", "b.v1"])
        #expect(throws: TransportError.self) {
            try handshake.subprotocol(of: HandshakeAnswer(head: answer(handshake, changes)))
        }
    }

    @Test("A refusal names the status")
    func refusal() throws {
        let handshake = try handshake()
        #expect(throws: TransportError.unreachable("the server refused the WebSocket with 401 Who")) {
            try handshake.subprotocol(of: HandshakeAnswer(head: answer(handshake, status: "401 Who")))
        }
    }

    @Test(
        "What is not HTTP is refused",
        arguments: ["", "\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 1x1\r\n\r\n", "HTTP/1.1 101\n\n"])
    func noHTTP(head: String) {
        #expect(throws: TransportError.self) { try HandshakeAnswer(head: Array(head.utf8)) }
    }

    @Test("The head is found in chunks of any size, and later bytes are not used")
    func reader() throws {
        let head = answer(try handshake())
        for size in [1, 2, 3, 7, 1_000] {
            var reader = HandshakeReader()
            let bytes = head + [0x81, 0x00]
            var position = 0
            var used: Int?
            while used == nil, position < bytes.count {
                let chunk = Array(bytes[position..<min(position + size, bytes.count)])
                used = try chunk.withUnsafeBytes { try reader.feed($0) }
                position += used ?? chunk.count
            }
            #expect(position == head.count)
            #expect(reader.head == head)
        }
    }

    @Test("A head without an end is refused, and another protocol than HTTP at its first bytes")
    func endless() {
        var reader = HandshakeReader()
        let fields = Array("HTTP/1.1 101 Yes\r\n".utf8) + [UInt8](repeating: 0x61, count: HandshakeReader.maxBytes)
        #expect(throws: TransportError.self) { try fields.withUnsafeBytes { try reader.feed($0) } }
        var other = HandshakeReader()
        #expect(throws: TransportError.self) { try Array("SSH".utf8).withUnsafeBytes { try other.feed($0) } }
    }

    @Test("Random answers never trap the reader", arguments: 0..<50)
    func randomAnswers(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let handshake = try handshake(["a.v1"])
        for _ in 0..<40 {
            var bytes = answer(handshake)
            for _ in 0..<Int.random(in: 1...10, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes[place] = UInt8.random(in: .min ... .max, using: &random)
            }
            _ = try? handshake.subprotocol(of: HandshakeAnswer(head: bytes))
        }
    }
}

extension String {
    fileprivate func components(_ separator: Character) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
