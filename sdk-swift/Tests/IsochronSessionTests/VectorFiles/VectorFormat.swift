import Foundation

/// The files, as described by `test/vectors/format.ts`. An absent member is nil; infinity is null.
struct VectorFile<Event: Decodable>: Decodable {
    let format: Int
    let `protocol`: String
    let kind: String
    let sequences: [VectorSequence<Event>]
}

struct VectorSequence<Event: Decodable>: Decodable {
    let name: String
    let id: String
    let region: String?
    let events: [Event]
}

/// The error of a malformed file.
enum VectorError: Error {
    case missing(String)
    case unknown(String)
}

/// JSON text, or bytes as base64.
enum VectorValue: Decodable {
    case json(String)
    case bytes([UInt8])

    private enum CodingKeys: String, CodingKey {
        case bytes
    }

    init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            self = .json(text)
            return
        }
        let base64 = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .bytes)
        guard let data = Data(base64Encoded: base64) else { throw VectorError.unknown(base64) }
        self = .bytes([UInt8](data))
    }
}

/// What a write stores: a value, the operations of an update, or null.
enum VectorContent: Decodable {
    case value(VectorValue?)
    case update(String)

    private enum CodingKeys: String, CodingKey {
        case operations
    }

    init(from decoder: any Decoder) throws {
        if let update = try? decoder.container(keyedBy: CodingKeys.self), update.contains(.operations) {
            self = .update(try update.decode(String.self, forKey: .operations))
        } else {
            let container = try decoder.singleValueContainer()
            self = .value(container.decodeNil() ? nil : try VectorValue(from: decoder))
        }
    }
}

struct VectorSnapshot: Decodable {
    let ts: Int64
    let deps: [Int64]?
}

struct VectorCacheEntry: Decodable {
    let key: String
    let ct: Int64
    let txId: String
    let value: VectorContent?
}

struct VectorState: Decodable {
    let ust: Int64
    let deps: [Int64]?
    let hwt: Int64
    let cache: [VectorCacheEntry]
}

struct VectorWrite: Decodable {
    let key: String
    let value: VectorContent?
}

struct VectorView: Decodable {
    let id: String
    let floor: Int64
    let snapshot: Int64?
    let deps: [Int64]?
    let covered: Int64?
    let hasWrites: Bool
    let writes: [VectorWrite]
}

struct VectorRead: Decodable {
    let value: VectorValue?
    let ts: Int64?
}

struct VectorVersion: Decodable {
    let ts: Int64
    let value: VectorValue?
}

struct VectorOverlay: Decodable {
    let key: String
    let value: VectorValue?
    let ts: Int64?
}

struct VectorAttempt: Decodable {
    let txId: String
    let snapshot: Int64
    let deps: [Int64]?
    let hwt: Int64
    let sentAfter: Int64
    let writes: [VectorWrite]
}

struct TransactionEvent: Decodable {
    let `do`: String
    let tx: String?
    let at: Int64?
    let key: String?
    let value: VectorContent?
    let snapshot: VectorSnapshot?
    let version: VectorVersion?
    let ust: Int64?
    let count: Int?
    let id: String?
    let from: VectorState?

    let refused: String?
    let view: VectorView?
    let read: VectorRead?
    let overlay: [VectorOverlay]?
    let attempt: VectorAttempt?
    let state: VectorState?
}

struct VectorDependency: Decodable {
    let key: String
    let source: Int64
    let ts: Int64
    let near: Bool?
}

struct VectorSeen: Decodable {
    let seen: [Int64]
    let region: String
    let ust: Int64
    let depends: [VectorDependency]?
}

struct VectorAnswer: Decodable {
    let to: String
    let seen: [Int64]
    let ust: Int64
    let region: String?
    let depends: [VectorDependency]?
}

struct VectorGet: Decodable {
    let key: String
    let seen: [Int64]
    let region: String
}

struct VectorRot: Decodable {
    let keys: [String]
    let seen: [Int64]
    let region: String
    let id: String?
}

struct VectorPut: Decodable {
    let txId: String
    let key: String
    let value: VectorValue?
    let seen: [Int64]
    let region: String
    let sentAfter: Int64
    let attemptRegions: [String]
    let depends: [VectorDependency]?
}

struct OperationEvent: Decodable {
    let `do`: String
    let key: String?
    let keys: [String]?
    let value: VectorValue?
    let tx: String?
    let answer: VectorAnswer?
    let region: String?
    let ust: Int64?
    let count: Int?
    let id: String?
    let from: VectorSeen?

    let refused: String?
    let get: VectorGet?
    let rot: VectorRot?
    let put: VectorPut?
    let state: VectorSeen?
}

/// A field that every event of its kind has.
func required<T>(_ field: T?, _ name: String) throws -> T {
    guard let field else { throw VectorError.missing(name) }
    return field
}
