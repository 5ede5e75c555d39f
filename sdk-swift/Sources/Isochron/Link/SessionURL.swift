/// The address of `/v1/session` on a node.
enum SessionURL {
    private static let path = "/v1/session"
    private static let schemes = ["http": "ws", "https": "wss", "ws": "ws", "wss": "wss"]

    /// The WebSocket address of a node's base URL; nil if that is not an `http(s)` or `ws(s)` URL. Query and user are
    /// dropped.
    static func of(_ base: String) -> String? {
        let scalars = base.unicodeScalars
        guard let colon = scalars.firstIndex(of: ":"), scalars[colon...].starts(with: "://".unicodeScalars),
            let scheme = schemes[String(scalars[..<colon]).lowercased()]
        else { return nil }
        let rest = scalars[colon...].dropFirst(3)
        let end = rest.firstIndex { "/?#".unicodeScalars.contains($0) } ?? rest.endIndex
        guard let host = host(String(rest[..<end])) else { return nil }
        var folder = String(rest[end...].prefix { $0 != "?" && $0 != "#" })
        while folder.hasSuffix("/") { folder.removeLast() }
        return "\(scheme)://\(host)\(folder)\(folder.hasSuffix(path) ? "" : path)"
    }

    /// Host and port; nil if they are invalid.
    private static func host(_ authority: String) -> String? {
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        let isPlain = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }
        let parts = host.split(separator: "]", omittingEmptySubsequences: false)
        let port = (parts.last ?? "").split(separator: ":", omittingEmptySubsequences: false)
        guard isPlain, port.count <= 2, !host.isEmpty, !host.hasPrefix(":") else { return nil }
        if port.count == 2, let digits = port.last, UInt16(digits) == nil { return nil }
        return host.lowercased()
    }
}
