/// `queries.json`.
struct QueryVectors: Decodable {
    struct Condition: Decodable {
        let path: String
        let op: String
        /// JSON text.
        let value: String
    }

    struct Order: Decodable {
        let path: String
        let direction: String
    }

    struct State: Decodable {
        let key: String
        let value: VectorValue?
        let pending: Bool
    }

    struct Shown: Decodable, Equatable {
        let key: String
        let pending: Bool
    }

    struct Change: Decodable, Equatable {
        let type: String
        let key: String
        let oldIndex: Int?
        let newIndex: Int?
    }

    struct Step: Decodable {
        let set: [State]
        let hasChanged: Bool
        let result: [Shown]
        let changes: [Change]
    }

    struct Case: Decodable {
        let `where`: [Condition]
        let orderBy: [Order]
        let limit: Int?
        let reverse: Bool
        let named: [String]?
        let steps: [Step]
    }

    struct Fault: Decodable {
        let `where`: [Condition]
        let orderBy: [Order]
        let limit: Int?
        let why: String
    }

    let seed: UInt64
    let queries: [Case]
    let faults: [Fault]
}
