/// A decimal number without its sign: digits without zeros at the ends, times a power of ten.
struct DecimalNumber: Equatable {
    private let digits: [UInt8]
    private let exponent: Int

    /// The number of a JSON text.
    private init(_ text: String) {
        let parts = text.utf8.split { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
        let halves = parts[0].drop { $0 == UInt8(ascii: "-") }.split(separator: UInt8(ascii: "."))
        let all = halves.flatMap { Array($0) }
        let zero = UInt8(ascii: "0")
        let significant = all.lastIndex { $0 != zero }.map { all[...$0] } ?? []
        digits = Array(significant.drop { $0 == zero })
        let power = parts.count > 1 ? Int(String(decoding: parts[1], as: UTF8.self)) ?? 0 : 0
        exponent = power - (halves.count > 1 ? halves[1].count : 0) + all.count - significant.count
    }

    private static let asText = "Store it as text"

    /// Why no document has a number (F8); nil for a fraction, which is rounded, and for a number that its double names.
    static func fault(of text: String, _ value: Double) -> String? {
        let decimal = DecimalNumber(text)
        if value == 0, decimal.digits.isEmpty { return nil }
        if value == 0 || !value.isFinite {
            return "the number \(shown(text)) is beyond the range of a double. \(asText)"
        }
        if decimal.exponent < 0 { return nil }
        var out = JSONWriter()
        out.number(value)
        if decimal == DecimalNumber(out.text) { return nil }
        return "a double holds \(out.text), not the whole number \(shown(text)). \(asText)"
    }

    private static func shown(_ text: String) -> String {
        text.utf8.count > 40 ? "\(text.prefix(40))\u{2026}" : text
    }
}

extension Raw {
    /// Why no document has this number (F8); nil for anything else.
    package var numberFault: String? {
        switch self {
        case .integer(let value): DecimalNumber.fault(of: "\(value)", Double(value))
        case .number(let value): value.isFinite ? nil : "\(value) cannot be stored as JSON"
        default: nil
        }
    }
}
