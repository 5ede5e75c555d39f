/// What a refusal speaks against: nothing, the node, or its whole region, which may be cut off.
enum Elsewhere: Sendable {
    case nowhere
    case node
    case region
}

/// Repeat the request after this many refusals of it, here or rather elsewhere.
struct Retry: Sendable {
    /// Nil: not until it is resumed.
    let refusals: Int?
    let elsewhere: Elsewhere
}
