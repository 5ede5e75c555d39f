import Foundation
import IsochronSession

/// Converts documents to stored values and back.
///
/// `Data` and `[UInt8]` are stored as bytes. All other types are stored as JSON: ``JSONValue`` and ``Document``
/// directly, the rest by `Codable`.
public struct DocumentCoding: Sendable {
    /// Makes the encoder of each document.
    public var encoder: @Sendable () -> JSONEncoder
    /// Makes the decoder of each document.
    public var decoder: @Sendable () -> JSONDecoder

    /// Foundation's own strategies, except for `Date`: ISO 8601 text in UTC with milliseconds, as JavaScript writes it
    /// (``ISODates``). Clients in other languages read these documents, so all must use the same format.
    public init(
        encoder: @escaping @Sendable () -> JSONEncoder = ISODates.encoder,
        decoder: @escaping @Sendable () -> JSONDecoder = ISODates.decoder
    ) {
        self.encoder = encoder
        self.decoder = decoder
    }

    /// The stored value of a document. Throws VALUE_INVALID, with the place of a part that JSON cannot hold, or
    /// VALUE_TOO_LARGE.
    func encode<T: Encodable>(_ document: T, _ limits: Limits) throws -> Value {
        let value = try value(of: document)
        if limits.allows(value) { return value }
        throw IsochronError(.valueTooLarge, "a value is above the limit of \(limits.maxValueBytes) bytes")
    }

    /// The document of a stored value; nil for nil. Throws VALUE_INVALID for a document of another type, FRAME_INVALID
    /// for a value that is not JSON.
    func decode<T: Decodable>(_ value: Value?, as type: T.Type) throws -> T? {
        switch value {
        case nil: return nil
        case .bytes(let bytes)?: return try Self.document(of: bytes, as: type)
        case .json(let text)?: return try decode(text, as: type)
        }
    }

    /// Like `decode`, with the thrown error as a result.
    func result<T: Decodable>(of value: Value?, as type: T.Type) throws -> Result<T, IsochronError>? {
        do {
            return try decode(value, as: type).map { .success($0) }
        } catch let error as IsochronError {
            return .failure(error)
        }
    }

    private func value<T: Encodable>(of document: T) throws -> Value {
        if T.self == [UInt8].self, let bytes = document as? [UInt8] { return .bytes(bytes) }
        if T.self == Data.self, let bytes = document as? Data { return .bytes([UInt8](bytes)) }
        if T.self == JSONValue.self, let json = document as? JSONValue { return .json(try Self.text(of: Raw(json))) }
        if T.self == Document.self, let any = document as? Document {
            switch any {
            case .bytes(let bytes): return .bytes(bytes)
            case .json(let json): return .json(try Self.text(of: Raw(json)))
            }
        }
        return .json(try text(of: document))
    }

    private func text<T: Encodable>(of document: T) throws -> String {
        let data: Data
        do {
            data = try encoder().encode(document)
        } catch EncodingError.invalidValue(let value, let context) {
            let what = value is any FloatingPoint ? "\(value)" : "\(type(of: value))"
            let cause = EncodingError.invalidValue(value, context)
            throw Self.cannotBeStored(Self.place(context.codingPath), what, cause)
        } catch {
            throw IsochronError(.valueInvalid, "the value is not a JSON document: \(error)", cause: error)
        }
        return try Self.normalForm(of: String(decoding: data, as: UTF8.self))
    }

    /// The stored form of a JSON text (F8). Throws VALUE_INVALID, with the place of the fault.
    static func normalForm(of text: String) throws -> String {
        do {
            return try JSONReader.document(text).documentText
        } catch let fault as DocumentFault {
            throw IsochronError(.valueInvalid, "\(fault.place): \(fault.what)")
        }
    }

    /// The place of a part: `document/items/2/price`.
    private static func place(_ keys: [any CodingKey]) -> String {
        keys.reduce("document") { place, key in
            placed(key.intValue.map { "\($0)" } ?? key.stringValue, in: place)
        }
    }

    /// JSON text of a list, whose items may have as many levels as a document. Throws VALUE_INVALID, with the place of a
    /// part that JSON cannot hold.
    static func text(ofItems items: [Raw]) throws -> String {
        for (i, item) in items.enumerated() { try check(item, "operations/\(i)", depth: -2) }
        return Raw.array(items).documentText
    }

    /// JSON text. Throws VALUE_INVALID, with the place of a part that JSON cannot hold.
    static func text(of raw: Raw) throws -> String {
        try check(raw, "document", depth: 0)
        return raw.documentText
    }

    private func decode<T: Decodable>(_ text: String, as type: T.Type) throws -> T {
        if type == JSONValue.self, let document = try JSONValue(Self.raw(of: text)) as? T { return document }
        if type == Document.self, let document = Document.json(try JSONValue(Self.raw(of: text))) as? T {
            return document
        }
        if type == Data.self || type == [UInt8].self { throw Self.isOther("bytes were asked for, JSON is stored", nil) }
        // Foundation would drop one of two names that it takes for equal: such names have characters beyond ASCII.
        if text.utf8.contains(where: { $0 > 0x7F }) { _ = try JSONValue(Self.raw(of: text)) }
        do {
            return try decoder().decode(type, from: Data(text.utf8))
        } catch {
            // A text that is not JSON at all is the server's fault.
            _ = try Self.raw(of: text)
            throw Self.isOther("the document is no \(type): \(error)", error)
        }
    }

    private static func document<T>(of bytes: [UInt8], as type: T.Type) throws -> T {
        if type == [UInt8].self, let document = bytes as? T { return document }
        if type == Data.self, let document = Data(bytes) as? T { return document }
        if type == Document.self, let document = Document.bytes(bytes) as? T { return document }
        throw isOther("bytes are stored, \(type) was asked for", nil)
    }

    /// Throws FRAME_INVALID.
    static func raw(of text: String) throws -> Raw {
        do {
            return try JSONReader.read(text)
        } catch {
            throw IsochronError(
                .frameInvalid, "the server sent a document that is not JSON", retryable: true, cause: error)
        }
    }

    /// Throws VALUE_INVALID, with the place of a part that JSON cannot hold.
    static func check(_ raw: Raw, _ place: String, depth: Int = 0) throws {
        switch raw {
        case .null, .bool, .string: return
        case .integer, .number:
            if let fault = raw.numberFault { throw IsochronError(.valueInvalid, "\(place): \(fault)") }
        case .array(let items):
            if depth >= JSONReader.maxDepth { throw tooDeep(place) }
            for (i, item) in items.enumerated() { try check(item, placed("\(i)", in: place), depth: depth + 1) }
        case .object(let members):
            if depth >= JSONReader.maxDepth { throw tooDeep(place) }
            for member in members.all { try check(member.value, placed(member.name, in: place), depth: depth + 1) }
        }
    }

    private static func cannotBeStored(_ place: String, _ what: String, _ cause: (any Error)?) -> IsochronError {
        IsochronError(.valueInvalid, "\(place): \(what) cannot be stored as JSON", cause: cause)
    }

    private static func tooDeep(_ place: String) -> IsochronError {
        cannotBeStored(place, "more than \(JSONReader.maxDepth) levels", nil)
    }

    private static func isOther(_ why: String, _ cause: (any Error)?) -> IsochronError {
        IsochronError(.valueInvalid, why, cause: cause)
    }
}
