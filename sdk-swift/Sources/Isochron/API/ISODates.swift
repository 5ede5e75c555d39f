import Foundation

/// `Date` in documents as ISO 8601 text in UTC with milliseconds, `2025-03-01T12:00:00.250Z`, like a `Date` of
/// JavaScript in JSON. A base for your own coders.
public enum ISODates {
    /// An encoder for such dates. Fractions of a millisecond are rounded.
    @Sendable
    public static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            guard let text = text(of: date) else {
                let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "no date")
                throw EncodingError.invalidValue(date, context)
            }
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
        return encoder
    }

    /// A decoder for dates with and without fractions of a second, in UTC or with an offset.
    @Sendable
    public static func decoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            if let date = date(of: text) { return date }
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text) is no ISO 8601 date")
        }
        return decoder
    }

    /// The years 1 to 9999, in seconds since 1970.
    private static let writable = -62_135_596_800.0..<253_402_300_800.0
    /// The calendar repeats after 400 years, here in seconds. Foundation uses Julian days for old dates, JavaScript and
    /// ISO 8601 do not: dates are moved to years from 1970 on.
    private static let cycle = 146_097.0 * 86_400
    private static let cycleYears = 400

    /// Nil for years of more than four digits.
    private static func text(of date: Date) -> String? {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        guard writable.contains(milliseconds / 1000) else { return nil }
        let seconds = (milliseconds / 1000).rounded(.down)
        let cycles = max(0, (-seconds / cycle).rounded(.up))
        let whole = Date(timeIntervalSince1970: seconds + cycles * cycle).formatted(Date.ISO8601FormatStyle())
        guard let year = Int(whole.prefix(4)) else { return nil }
        let part = Int(milliseconds - seconds * 1000)
        return padded(year - Int(cycles) * cycleYears, 4) + whole.dropFirst(4).dropLast() + "." + padded(part, 3) + "Z"
    }

    /// Nil for text that is not a date.
    private static func date(of text: String) -> Date? {
        guard let year = Int(text.prefix(4)), year > 0 else { return nil }
        let cycles = max(0, (1970 - year + cycleYears - 1) / cycleYears)
        let late = padded(year + cycles * cycleYears, 4) + text.dropFirst(4)
        let date =
            (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(late))
            ?? (try? Date.ISO8601FormatStyle().parse(late))
        return date?.addingTimeInterval(-Double(cycles) * cycle)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
