/// The reason why a text is not JSON.
package struct JSONSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    package let what: String
    /// In bytes from the start.
    package let position: Int

    package var description: String { "\(what) at byte \(position)" }
}

/// Reads JSON (RFC 8259) from UTF-8 bytes. Any input ends with a value or an error.
package struct JSONReader: ~Copyable {
    /// Deeper text is refused: the reader calls itself once for each level.
    package static let maxDepth = 128

    private let bytes: UnsafeBufferPointer<UInt8>
    private let maxDepth: Int
    /// Of a document: it refuses more than JSON does.
    private var search: FaultSearch?
    private var at = 0

    private init(_ bytes: UnsafeBufferPointer<UInt8>, _ maxDepth: Int, _ search: FaultSearch? = nil) {
        self.bytes = bytes
        self.maxDepth = maxDepth
        self.search = search
    }

    /// The value of a whole text.
    package static func read(_ text: String, maxDepth: Int = JSONReader.maxDepth) throws -> Raw {
        var text = text
        return try text.withUTF8 { try read($0, maxDepth: maxDepth) }
    }

    /// The value of all the bytes; invalid UTF-8 in a string becomes U+FFFD.
    package static func read(_ bytes: UnsafeBufferPointer<UInt8>, maxDepth: Int = JSONReader.maxDepth) throws -> Raw {
        var reader = JSONReader(bytes, maxDepth)
        return try reader.whole()
    }

    /// The value of a text that is I-JSON (F8, a document has one form). Throws ``DocumentFault``: the first one, or that
    /// the text is not JSON.
    package static func document(_ text: String, name: String = "document") throws -> Raw {
        var text = text
        return try text.withUTF8 { bytes in
            var reader = JSONReader(bytes, maxDepth, FaultSearch(name: name))
            do {
                let value = try reader.whole()
                if let fault = reader.search?.fault { throw fault }
                return value
            } catch let error as JSONSyntaxError {
                throw DocumentFault(place: name, what: "it is not JSON: \(error)")
            }
        }
    }

    private mutating func whole() throws -> Raw {
        let value = try value(depth: 0)
        skipSpace()
        if at < bytes.count { throw error("text after the value") }
        return value
    }

    private func error(_ what: String) -> JSONSyntaxError { JSONSyntaxError(what: what, position: at) }

    /// The next byte; nil at the end.
    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
    }

    private mutating func value(depth: Int) throws -> Raw {
        skipSpace()
        guard let byte = next else { throw error("the text ends where a value is due") }
        switch byte {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: throw error("no value")
        }
    }

    private mutating func word(_ text: StaticString, _ value: Raw) throws -> Raw {
        let length = text.utf8CodeUnitCount
        guard bytes.count - at >= length else { throw error("no value") }
        for i in 0..<length where bytes[at + i] != text.utf8Start[i] { throw error("no value") }
        at += length
        return value
    }

    private mutating func array(depth: Int) throws -> Raw {
        if depth >= maxDepth { throw error("too deep") }
        at += 1
        var items: [Raw] = []
        skipSpace()
        if next == UInt8(ascii: "]") {
            at += 1
            return .array(items)
        }
        while true {
            search?.enter("\(items.count)")
            items.append(try value(depth: depth + 1))
            search?.leave()
            if try ends(with: UInt8(ascii: "]")) { return .array(items) }
        }
    }

    private mutating func object(depth: Int) throws -> Raw {
        if depth >= maxDepth { throw error("too deep") }
        at += 1
        var members: [Raw.Members.Member] = []
        var names: Set<ExactString> = []
        skipSpace()
        if next == UInt8(ascii: "}") {
            at += 1
            return .object(Raw.Members())
        }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw error("no member name") }
            let name = try string()
            skipSpace()
            guard next == UInt8(ascii: ":") else { throw error("no colon") }
            at += 1
            search?.enter(name)
            if search != nil, !names.insert(ExactString(name)).inserted {
                search?.found("a member of this name is there twice")
            }
            members.append(Raw.Members.Member(name: name, value: try value(depth: depth + 1)))
            search?.leave()
            if try ends(with: UInt8(ascii: "}")) { return .object(Raw.Members(members)) }
        }
    }

    /// Skips a comma, or the end of the list: then it returns true.
    private mutating func ends(with end: UInt8) throws -> Bool {
        skipSpace()
        guard let byte = next, byte == end || byte == UInt8(ascii: ",") else { throw error("no comma and no end") }
        at += 1
        return byte == end
    }

    private mutating func number() throws -> Raw {
        let start = at
        if next == UInt8(ascii: "-") { at += 1 }
        let firstDigit = at
        let digits = skipDigits()
        if digits == 0 || (digits > 1 && bytes[firstDigit] == UInt8(ascii: "0")) { throw error("no number") }
        var whole = true
        if next == UInt8(ascii: ".") {
            whole = false
            at += 1
            if skipDigits() == 0 { throw error("no number") }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            whole = false
            at += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { at += 1 }
            if skipDigits() == 0 { throw error("no number") }
        }
        if whole, digits <= 15 { return .integer(integer(from: firstDigit, negative: firstDigit > start)) }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        guard let value = Double(text) else { throw error("no number") }
        if let fault = DecimalNumber.fault(of: text, value) { search?.found(fault) }
        if whole, digits <= 18 { return .integer(integer(from: firstDigit, negative: firstDigit > start)) }
        if value.isFinite { return .number(value) }
        if search == nil { throw error("a number out of range") }
        return .null
    }

    /// At most 18 digits, which fit.
    private func integer(from first: Int, negative: Bool) -> Int64 {
        var value: Int64 = 0
        for i in first..<at { value = value &* 10 &+ Int64(bytes[i] &- UInt8(ascii: "0")) }
        return negative ? 0 &- value : value
    }

    private mutating func skipDigits() -> Int {
        let start = at
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { at += 1 }
        return at - start
    }

    private mutating func string() throws -> String {
        at += 1
        let start = at
        while let byte = next {
            if byte == UInt8(ascii: "\"") {
                let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<at]), as: UTF8.self)
                at += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
            if byte < 0x20 { throw error("a control character in a string") }
            at += 1
        }
        throw error("a string without end")
    }

    /// The slow way, from the first escape on.
    private mutating func escapedString(from start: Int) throws -> String {
        var text = Array(bytes[start..<at])
        while let byte = next {
            at += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            if byte < 0x20 { throw error("a control character in a string") }
            if byte == UInt8(ascii: "\\") {
                try escape(into: &text)
            } else {
                text.append(byte)
            }
        }
        throw error("a string without end")
    }

    private mutating func escape(into text: inout [UInt8]) throws {
        guard let byte = next else { throw error("a string without end") }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: Array(Character(try scalar()).utf8))
        default: throw error("an unknown escape")
        }
    }

    /// The character of `\uXXXX`, or of a surrogate pair of them.
    private mutating func scalar() throws -> Unicode.Scalar {
        let first = try hex()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let afterFirst = at
        if first < 0xDC00, let second = try secondHalf() {
            return Unicode.Scalar(0x10000 &+ ((first &- 0xD800) << 10) &+ (second &- 0xDC00)) ?? "\u{FFFD}"
        }
        if search == nil { throw error("half a surrogate pair") }
        search?.found("a text has half a surrogate pair. Store bytes, or whole characters")
        // What follows is read again, as a character of its own.
        at = afterFirst
        return "\u{FFFD}"
    }

    private mutating func secondHalf() throws -> UInt32? {
        guard next == UInt8(ascii: "\\") else { return nil }
        at += 1
        guard next == UInt8(ascii: "u") else { return nil }
        at += 1
        let second = try hex()
        return (0xDC00..<0xE000).contains(second) ? second : nil
    }

    private mutating func hex() throws -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error("an escape that is not hexadecimal")
            }
            value = value << 4 | UInt32(digit)
            at += 1
        }
        return value
    }
}
