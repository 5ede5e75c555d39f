/// What keeps a JSON text from being a document (F8, a document has one form).
package struct DocumentFault: Error, Sendable, Hashable {
    /// The name of the whole, and the JSON Pointer (RFC 6901) of the part: one line.
    package let place: String
    package let what: String
}

/// The place of a part: a step further than the place of the whole.
package func placed(_ name: String, in place: String) -> String {
    var bytes = Array(place.utf8) + [UInt8(ascii: "/")]
    // By bytes: a slash and a combining accent are one character of Swift.
    for byte in name.utf8 {
        switch byte {
        case UInt8(ascii: "~"): bytes += Array("~0".utf8)
        case UInt8(ascii: "/"): bytes += Array("~1".utf8)
        default: bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// Keeps the place of a reader in a document, and the first fault that it finds.
struct FaultSearch {
    private(set) var fault: DocumentFault?
    private let name: String
    private var path: [String] = []

    init(name: String) {
        self.name = name
    }

    mutating func enter(_ step: String) {
        path.append(step)
    }

    mutating func leave() {
        path.removeLast()
    }

    mutating func found(_ what: String) {
        if fault != nil { return }
        fault = DocumentFault(place: shown(path.reduce(name) { placed($1, in: $0) }), what: what)
    }

    /// Most UTF-16 units of a place in a message.
    private static let maxLength = 200

    /// As in a JSON string, without its quotes.
    private func shown(_ place: String) -> String {
        var out = JSONWriter()
        out.string(place)
        let quoted = String(decoding: out.bytes.dropFirst().dropLast(), as: UTF8.self)
        if quoted.utf16.count <= Self.maxLength { return quoted }
        return String(decoding: quoted.utf16.prefix(Self.maxLength), as: UTF16.self) + "\u{2026}"
    }
}
