import IsochronSession

/// A document as a watch shows it: with the client's own writes laid over.
struct LiveDocument: Hashable, Sendable {
    let value: Value
    /// Whether an own write of it is not part of the snapshot yet.
    let isPending: Bool
}

/// The number of a scope.
typealias ScopeId = Int

/// One range with its documents as watches show them. Watches of equal ranges share it.
///
/// | phase     | documents                     | the feed                                  | leaves it                  |
/// | --------- | ----------------------------- | ----------------------------------------- | -------------------------- |
/// | `reading` | none yet                      | its changes are kept with its first read  | joins the position: `live` |
/// | `live`    | at the position               | its changes move the documents            | CHANGES_GONE: `stale`      |
/// | `stale`   | at the position, shown as ever | goes on with the read that replaces them | they are replaced: `live`  |
struct LiveScope: Sendable {
    enum Phase: Sendable {
        case reading
        case live
        case stale
    }

    let range: LiveRange
    var phase = Phase.reading
    /// Number of the request of the present connection that named it; above all numbers before that is answered.
    var since = Int.max
    private(set) var documents: [ExactString: LiveDocument] = [:]
    /// Documents before the changes that watches have not got.
    private var before: [ExactString: LiveDocument?] = [:]
    private var bytes = 0

    init(_ range: LiveRange) {
        self.range = range
    }

    var isTooLarge: Bool { documents.count > LiveRange.maxDocuments || bytes > LiveRange.maxBytes }

    /// Takes the document of a key, or its absence. Returns whether that is a change.
    mutating func show(_ key: ExactString, _ document: LiveDocument?) -> Bool {
        let old = documents[key]
        if old == document { return false }
        bytes += Self.size(key, document?.value) - Self.size(key, old?.value)
        documents[key] = document
        if before[key] == nil { before[key] = .some(old) }
        return true
    }

    /// The keys that have changed since the last call.
    mutating func takeChanged() -> Set<ExactString> {
        defer { before = [:] }
        return Set(before.keys.filter { key in before[key] != .some(documents[key]) })
    }

    /// What a document counts for the limit of a watch.
    static func size(_ key: ExactString, _ value: Value?) -> Int {
        switch value {
        case nil: 0
        case .json(let text)?: key.text.utf8.count + text.utf8.count
        case .bytes(let bytes)?: key.text.utf8.count + bytes.count
        }
    }
}
