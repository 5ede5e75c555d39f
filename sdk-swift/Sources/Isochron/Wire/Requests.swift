/// Options of a listing, in keys without their keyspace.
struct ListRequest: Sendable {
    let keyspace: String
    let prefix: String
    let start: String
    let limit: Int
    /// Only keys with this many segments; nil: all.
    var level: Int?
}
