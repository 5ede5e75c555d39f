/// Any document as it is stored: JSON, or bytes. For keys that may hold either.
public enum Document: Hashable, Sendable {
    /// A JSON document.
    case json(JSONValue)
    /// Bytes.
    case bytes([UInt8])
}

extension Document: Codable {
    /// Reads JSON: bytes can only be a whole document.
    public init(from decoder: any Decoder) throws {
        self = .json(try JSONValue(from: decoder))
    }

    /// Writes JSON. Throws `EncodingError` for bytes inside another document.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .json(let value): try value.encode(to: encoder)
        case .bytes:
            let why = "bytes can be a document, not a part of one"
            throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: why))
        }
    }
}
