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

    /// The stored value of a document. Throws VALUE_INVALID, with the path of a part that JSON cannot hold, or
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
            throw Self.cannotBeStored(Self.path(context.codingPath), what, cause)
        } catch {
            throw IsochronError(.valueInvalid, "the value is not a JSON document: \(error)", cause: error)
        }
        if Self.isTooDeep(data) { throw Self.tooDeep("document") }
        return String(decoding: data, as: UTF8.self)
    }

    /// Whether a JSON text is nested deeper than its readers accept.
    private static func isTooDeep(_ text: Data) -> Bool {
        var (depth, isInString, isEscaped) = (0, false, false)
        for byte in text {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = isInString
            case UInt8(ascii: "\""): isInString.toggle()
            case _ where isInString: break
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
            if depth > JSONReader.maxDepth { return true }
        }
        return false
    }

    /// The path as JavaScript writes it: `document.items[2].price`.
    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce("document") { path, key in
            key.intValue.map { "\(path)[\($0)]" } ?? "\(path).\(key.stringValue)"
        }
    }

    /// JSON text. Throws VALUE_INVALID, with the path of a part that JSON cannot hold.
    /// JSON text of a list, whose items may have as many levels as a document.
    static func text(ofItems items: [Raw]) throws -> String {
        for (i, item) in items.enumerated() { try check(item, "operations[\(i)]", depth: -2) }
        var out = JSONWriter()
        out.value(.array(items))
        return out.text
    }

    static func text(of raw: Raw) throws -> String {
        try check(raw, "document", depth: 0)
        var out = JSONWriter()
        out.value(raw)
        return out.text
    }

    private func decode<T: Decodable>(_ text: String, as type: T.Type) throws -> T {
        if type == JSONValue.self, let document = JSONValue(try Self.raw(of: text)) as? T { return document }
        if type == Document.self, let document = Document.json(JSONValue(try Self.raw(of: text))) as? T {
            return document
        }
        if type == Data.self || type == [UInt8].self { throw Self.isOther("bytes were asked for, JSON is stored", nil) }
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

    /// Throws VALUE_INVALID, with the path of a part that JSON cannot hold.
    static func check(_ raw: Raw, _ path: String, depth: Int = 0) throws {
        switch raw {
        case .null, .bool, .integer, .string: return
        case .number(let value):
            if !value.isFinite { throw cannotBeStored(path, "\(value)", nil) }
        case .array(let items):
            if depth >= JSONReader.maxDepth { throw tooDeep(path) }
            for (i, item) in items.enumerated() { try check(item, "\(path)[\(i)]", depth: depth + 1) }
        case .object(let members):
            if depth >= JSONReader.maxDepth { throw tooDeep(path) }
            for member in members.all { try check(member.value, "\(path).\(member.name)", depth: depth + 1) }
        }
    }

    private static func cannotBeStored(_ path: String, _ what: String, _ cause: (any Error)?) -> IsochronError {
        IsochronError(.valueInvalid, "\(path): \(what) cannot be stored as JSON", cause: cause)
    }

    private static func tooDeep(_ path: String) -> IsochronError {
        cannotBeStored(path, "more than \(JSONReader.maxDepth) levels", nil)
    }

    private static func isOther(_ why: String, _ cause: (any Error)?) -> IsochronError {
        IsochronError(.valueInvalid, why, cause: cause)
    }
}
