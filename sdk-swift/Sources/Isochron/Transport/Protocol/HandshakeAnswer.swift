/// The head of a server's answer to the opening handshake.
struct HandshakeAnswer: Sendable {
    let status: Int
    /// The reason phrase; may be empty.
    let phrase: String
    private let fields: [(name: String, value: String)]

    /// Reads a head with its empty last line.
    init(head: [UInt8]) throws(TransportError) {
        var lines: [String] = []
        for line in head.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true) {
            guard line.last == carriageReturn, !line.dropLast().contains(carriageReturn) else { throw .noHTTP }
            if line.count > 1 { lines.append(String(decoding: line.dropLast(), as: UTF8.self)) }
        }
        guard let first = lines.first else { throw .noHTTP }
        let parts = first.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[1].utf8.count == 3, let status = Int(parts[1]), status >= 100 else {
            throw .noHTTP
        }
        self.status = status
        phrase = parts.count == 3 ? String(parts[2]) : ""
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() { fields.append(try Self.field(line)) }
        self.fields = fields
    }

    /// All values of a field, in order.
    func values(_ name: String) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }

    /// The values of a list field, in lower case.
    func tokens(_ name: String) -> [String] {
        values(name).flatMap { $0.split(separator: ",") }.map { trim($0).lowercased() }
    }

    /// A line that begins with a space continues the one before: obsolete, and refused for its name.
    private static func field(_ line: String) throws(TransportError) -> (name: String, value: String) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, isToken(String(parts[0])) else { throw .noHTTP }
        return (parts[0].lowercased(), trim(parts[1]))
    }
}

/// Collects the head of an answer from the received bytes.
struct HandshakeReader: Sendable {
    /// A longer head is refused.
    static let maxBytes = 16_384

    private(set) var head: [UInt8] = []

    /// Takes bytes until the head is complete. Returns the number of used bytes; nil if it needs more.
    mutating func feed(_ input: UnsafeRawBufferPointer) throws(TransportError) -> Int? {
        for (offset, byte) in input.enumerated() {
            guard head.count < Self.maxBytes else { throw .unreachable("the answer to the handshake has no end") }
            // An answer that is not HTTP is detected by its first bytes, not by a timeout.
            if head.count < httpStart.count, byte != httpStart[head.count] { throw .noHTTP }
            head.append(byte)
            if byte == endOfHead.last, head.suffix(endOfHead.count) == endOfHead[...] { return offset + 1 }
        }
        return nil
    }
}

private let httpStart = Array("HTTP/1.".utf8)
private let endOfHead = Array("\r\n\r\n".utf8)
private let carriageReturn = UInt8(ascii: "\r")

private func trim(_ text: Substring) -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    guard let first = text.firstIndex(where: { !isBlank($0) }), let last = text.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(text[first...last])
}

extension TransportError {
    fileprivate static let noHTTP = TransportError.unreachable("the server does not use HTTP")
}
