import Testing

@testable import Isochron

@Suite("WebSocket URLs")
struct WebSocketURLTests {
    @Test("The parts of a URL are found")
    func parts() throws {
        let url = try WebSocketURL("ws://node-1.example:7101/v1/sessions?x=%20")
        #expect(url.host == "node-1.example" && url.port == 7101 && url.target == "/v1/sessions?x=%20")
        #expect(url.hostField == "node-1.example:7101" && !url.isSecure)
    }

    @Test("Path and port may be absent")
    func defaults() throws {
        #expect(try WebSocketURL("ws://h").target == "/")
        #expect(try WebSocketURL("ws://h?q").target == "/?q")
        #expect(try WebSocketURL("ws://h:").port == 80)
        #expect(try WebSocketURL("wss://h/").port == 443)
        #expect(try WebSocketURL("ws://h:80/").hostField == "h")
        #expect(try WebSocketURL("wss://h:80/").hostField == "h:80")
    }

    @Test("http and https are aliases of ws and wss")
    func schemes() throws {
        #expect(try !WebSocketURL("http://h").isSecure)
        #expect(try WebSocketURL("HTTPS://h").isSecure)
    }

    @Test("An IPv6 address is written in brackets")
    func addresses() throws {
        let url = try WebSocketURL("ws://[::1]:8080/x")
        #expect(url.host == "::1" && url.port == 8080 && url.hostField == "[::1]:8080")
        #expect(try WebSocketURL("ws://[::ffff:1.2.3.4]").hostField == "[::ffff:1.2.3.4]")
    }

    @Test(
        "What is no WebSocket URL is refused",
        arguments: [
            "", "h", "ws:", "ws:/h", "ws://", "ws:///x", "ws://:80", "ftp://h", "ws://h:0", "ws://h:65536",
            "ws://h:+80", "ws://h:8a", "ws://h:80:80",
            "ws://u@h", "ws://u:p@h", "ws://h/#f", "ws://h#f", "ws://h /", "ws://h/a b",
            "ws://h/\r\nX: y", "ws://h/é", "ws://ü.example", "ws://[::1", "ws://::1", "ws://[]", "ws://[::1]x",
            "ws://[h]", "ws://a,b", "ws://h\u{0}",
        ])
    func refused(text: String) {
        #expect(throws: TransportError.self) { try WebSocketURL(text) }
    }
}
