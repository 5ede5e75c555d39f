/// The parts of a WebSocket URL that a client needs. ASCII only: hosts in Punycode, paths percent-encoded.
struct WebSocketURL: Hashable, Sendable {
    /// `wss:` or `https:`.
    let isSecure: Bool
    /// The name or address, an IPv6 address without its brackets.
    let host: String
    let port: UInt16
    /// Path and query, never empty.
    let target: String

    init(_ text: String) throws(TransportError) {
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw .invalidURL("a URL has no spaces, control characters or letters beyond ASCII")
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].hasPrefix("//") else { throw .invalidURL("\(text) is no WebSocket URL") }
        isSecure = try Self.isSecure(scheme: parts[0].lowercased())
        let rest = parts[1].dropFirst(2)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        target = try Self.target(rest[end...])
        let (host, port) = try Self.split(authority: rest[..<end])
        self.host = host
        self.port = try Self.parse(port: port) ?? (isSecure ? 443 : 80)
    }

    /// The value of the `Host` field: the port only if it is not the default.
    var hostField: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    private static func isSecure(scheme: String) throws(TransportError) -> Bool {
        switch scheme {
        case "ws", "http": return false
        case "wss", "https": return true
        default: throw .invalidURL("\(scheme): is no scheme of a WebSocket URL")
        }
    }

    private static func target(_ text: Substring) throws(TransportError) -> String {
        guard !text.contains("#") else { throw .invalidURL("a WebSocket URL has no fragment") }
        return text.hasPrefix("/") ? String(text) : "/" + text
    }

    private static func split(authority: Substring) throws(TransportError) -> (host: String, port: Substring?) {
        guard !authority.contains("@") else { throw .invalidURL("a WebSocket URL has no user name") }
        if authority.hasPrefix("[") {
            let parts = authority.dropFirst().split(separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
            let isAddress = parts[0].contains(":") && parts[0].allSatisfy { $0.isHexDigit || ":.".contains($0) }
            guard parts.count == 2, isAddress, parts[1].isEmpty || parts[1].hasPrefix(":") else {
                throw .invalidURL("\(authority) is no IPv6 address")
            }
            return (String(parts[0]), parts[1].isEmpty ? nil : parts[1].dropFirst())
        }
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts.first ?? "")
        guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || "-._".contains($0) }) else {
            throw .invalidURL("\"\(name)\" is no host")
        }
        return (name, parts.count == 2 ? parts[1] : nil)
    }

    /// Nil for an absent or empty port, as in RFC 3986.
    private static func parse(port: Substring?) throws(TransportError) -> UInt16? {
        guard let port, !port.isEmpty else { return nil }
        guard port.allSatisfy(\.isNumber), let number = UInt16(port), number > 0 else {
            throw .invalidURL("\(port) is no port")
        }
        return number
    }
}
