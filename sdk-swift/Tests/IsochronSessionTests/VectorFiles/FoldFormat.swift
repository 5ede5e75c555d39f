/// `folds.json`.
struct FoldVectors: Decodable {
    struct Version: Decodable, Equatable {
        let ts: Int64
        let txId: String
    }

    struct Step: Decodable {
        let operations: FoldText
        let at: Version?
        let valid: Bool
        let result: FoldText?
        let origin: Version?
    }

    struct Case: Decodable {
        let base: FoldText?
        let updates: [Step]
        let composed: FoldText?
    }

    let seed: UInt64
    let folds: [Case]
}

/// A text, perhaps in parts that repeat, or bytes.
struct FoldText: Decodable {
    let value: VectorValue

    private enum CodingKeys: String, CodingKey {
        case parts
    }

    private struct Part: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            let part = try container.decode(String.self)
            text = String(repeating: part, count: try container.decode(Int.self))
        }
    }

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: CodingKeys.self), container.contains(.parts) {
            value = .json(try container.decode([Part].self, forKey: .parts).map(\.text).joined())
        } else {
            value = try VectorValue(from: decoder)
        }
    }
}
