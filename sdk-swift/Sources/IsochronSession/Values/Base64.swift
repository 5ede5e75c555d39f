private let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
private let padding = UInt8(ascii: "=")

/// Bytes as base64 with padding.
public func toBase64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let bits = (0..<3).reduce(UInt32(0)) { bits, i in
            bits << 8 | (start + i < group.endIndex ? UInt32(group[start + i]) : 0)
        }
        for digit in 0..<4 {
            text.append(digit <= group.count ? alphabet[Int(bits >> UInt32(18 - 6 * digit) & 63)] : padding)
        }
    }
    return String(decoding: text, as: UTF8.self)
}

/// The bytes of base64, read like a browser's `atob`: white space is skipped, padding may be missing. Nil for other
/// text.
public func fromBase64(_ text: String) -> [UInt8]? {
    var digits = text.utf8.filter { !isSpace($0) }
    if digits.count % 4 == 0 {
        for _ in 0..<2 where digits.last == padding { digits.removeLast() }
    }
    if digits.count % 4 == 1 { return nil }
    var (bytes, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    bytes.reserveCapacity(digits.count / 4 * 3 + 2)
    for digit in digits {
        guard let six = sextet(of: digit) else { return nil }
        bits = (bits << 6 | six) & 0xffff
        count += 6
        guard count >= 8 else { continue }
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
    }
    return bytes
}

private func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0c || byte == 0x0d
}

private func sextet(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit) - 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit) - 71
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit) + 4
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
}

/// The name of a session: 128 random bits as 22 characters of base64url.
public func randomSessionId(using generator: inout some RandomNumberGenerator) -> String {
    let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let digits = toBase64(bytes).utf8.filter { $0 != padding }.map { digit in
        switch digit {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: digit
        }
    }
    return String(decoding: digits, as: UTF8.self)
}

/// The name of a session, from the system's generator.
public func randomSessionId() -> String {
    var generator = SystemRandomNumberGenerator()
    return randomSessionId(using: &generator)
}
