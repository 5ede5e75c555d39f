/// `values.json`.
struct ValueVectors: Decodable {
    struct Item: Decodable {
        let base64: String
        let bytes: [UInt8]?
    }

    struct Encoded: Decodable {
        let base64: String
        let bytes: [UInt8]
    }

    let encoded: [Encoded]
    let decoded: [Item]
}

/// The texts of `documents.json`.
struct DocumentVectors: Decodable {
    struct Text: Decodable {
        let text: String
        let stored: String?
        let path: String?
    }

    let texts: [Text]
}

/// `backoff.json`.
struct BackoffVectors: Decodable {
    struct Draws: Decodable {
        let seed: UInt64
        let uint32: [UInt32]
        let float: [Double]
    }

    struct Schedule: Decodable {
        let seed: UInt64
        let baseMs: Double
        let capMs: Double
        let pausesMs: [Double]
    }

    let random: [Draws]
    let schedules: [Schedule]
}

/// `keys.json`.
struct KeyVectors: Decodable {
    struct Name: Decodable {
        let keyspace: String
        let key: String
    }

    struct Qualified: Decodable {
        let keyspace: String
        let key: String
        let qualified: String
        let unqualified: Name
    }

    struct Order: Decodable {
        let a: String
        let b: String
        let order: Int
    }

    struct Prefix: Decodable {
        let text: String
        let prefix: String
        let has: Bool
    }

    struct Limit: Decodable {
        let key: String
        let maxKeyBytes: Int
        let problem: String?
    }

    struct Shape: Decodable {
        let text: String
        let isTxId: Bool
    }

    struct Made: Decodable {
        let session: String
        let counter: UInt64
        let id: String
    }

    struct Number: Decodable {
        let number: Int64
        let isTimestamp: Bool
    }

    struct Wall: Decodable {
        let timestamp: Int64
        let wallMs: Double
    }

    let qualified: [Qualified]
    let order: [Order]
    let prefixes: [Prefix]
    let limits: [Limit]
    let txIds: [Shape]
    let madeTxIds: [Made]
    let timestamps: [Number]
    let walls: [Wall]
}
