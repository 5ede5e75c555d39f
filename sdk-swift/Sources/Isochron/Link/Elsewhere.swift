/// The scope of a refusal: the request alone, the node, or its whole region, which may be cut off.
enum Elsewhere: Sendable {
    case nowhere
    case node
    case region
}

/// Repeat the request after this many refusals of it, here or preferably elsewhere.
struct Retry: Sendable {
    /// Nil: only when it is resumed.
    let refusals: Int?
    let elsewhere: Elsewhere
}
