/// Writes JSON as UTF-8 bytes.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []

    /// The text so far.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package init() {}

    package mutating func raw(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func byte(_ character: Unicode.Scalar) {
        bytes.append(UInt8(truncatingIfNeeded: character.value))
    }

    package mutating func string(_ text: String) {
        byte("\"")
        var text = text
        text.withUTF8 { escaped($0) }
        byte("\"")
    }

    /// Ranges of characters without escapes are copied whole.
    private mutating func escaped(_ text: UnsafeBufferPointer<UInt8>) {
        var start = 0
        for (i, byte) in text.enumerated() where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
        {
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<i]))
            escape(byte)
            start = i + 1
        }
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start...]))
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0x08: raw("\\b")
        case 0x09: raw("\\t")
        case 0x0A: raw("\\n")
        case 0x0C: raw("\\f")
        case 0x0D: raw("\\r")
        case UInt8(ascii: "\""): raw("\\\"")
        case UInt8(ascii: "\\"): raw("\\\\")
        default:
            raw("\\u00")
            bytes.append(Self.hex(byte >> 4))
            bytes.append(Self.hex(byte & 0xF))
        }
    }

    private static func hex(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }

    package mutating func integer(_ value: Int64) {
        if value < 0 { byte("-") }
        var rest = value.magnitude
        let start = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    /// A finite number, as JavaScript writes it.
    package mutating func number(_ value: Double) {
        if let whole = Int64(exactly: value), whole.magnitude <= UInt64(Raw.maxSafeInteger) {
            integer(whole)
        } else {
            decimal(value)
        }
    }

    private mutating func decimal(_ value: Double) {
        if value < 0 { byte("-") }
        let (digits, point) = Self.decimals(of: value.magnitude)
        switch point {
        case digits.count...21: zeros(after: digits, point - digits.count)
        case 1...21:
            bytes.append(contentsOf: digits[..<point])
            byte(".")
            bytes.append(contentsOf: digits[point...])
        case -5...0:
            raw("0.")
            zeros(after: [], -point)
            bytes.append(contentsOf: digits)
        default: exponential(digits, point - 1)
        }
    }

    private mutating func zeros(after digits: [UInt8], _ count: Int) {
        bytes.append(contentsOf: digits)
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: count))
    }

    private mutating func exponential(_ digits: [UInt8], _ exponent: Int) {
        bytes.append(digits[0])
        if digits.count > 1 { byte(".") }
        bytes.append(contentsOf: digits[1...])
        byte("e")
        if exponent > 0 { byte("+") }
        integer(Int64(exponent))
    }

    /// The fewest digits that give the number, without zeros at the ends, and how many of them stand before its point.
    private static func decimals(of value: Double) -> (digits: [UInt8], point: Int) {
        let parts = value.description.utf8.split(separator: UInt8(ascii: "e"))
        let exponent = parts.count > 1 ? Int(String(decoding: parts[1], as: UTF8.self)) ?? 0 : 0
        let halves = parts[0].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        var digits = halves.flatMap { Array($0) }
        var point = halves[0].count + exponent
        let zero = UInt8(ascii: "0")
        let leading = digits.prefix { $0 == zero }.count
        digits.removeFirst(leading)
        point -= leading
        while digits.count > 1, digits.last == zero { digits.removeLast() }
        return (digits, point)
    }

    package mutating func value(_ value: Raw) {
        switch value {
        case .null: raw("null")
        case .bool(let bool): bool ? raw("true") : raw("false")
        case .integer(let integer): self.integer(integer)
        case .number(let number): self.number(number)
        case .string(let text): string(text)
        case .array(let items):
            list(items) { $0.value($1) }
        case .object(let members):
            byte("{")
            for (i, member) in members.all.enumerated() {
                if i > 0 { byte(",") }
                string(member.name)
                byte(":")
                self.value(member.value)
            }
            byte("}")
        }
    }

    package mutating func list<Item>(_ items: [Item], _ write: (inout JSONWriter, Item) -> Void) {
        byte("[")
        for (i, item) in items.enumerated() {
            if i > 0 { byte(",") }
            write(&self, item)
        }
        byte("]")
    }
}
