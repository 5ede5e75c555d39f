import IsochronSession

/// The changes of one key, in their order.
struct KeyChanges: Sendable {
    let key: ExactString
    let changes: [CachedWrite]

    /// The document after the changes above a timestamp; nil if there are none.
    func applied(to value: Value?, above ts: Timestamp) -> Value?? {
        let later = changes.filter { $0.ct > ts }
        if later.isEmpty { return nil }
        let writes = later.map { OwnWrite(content: $0.content, version: Origin(ts: $0.ct, txId: $0.txId)) }
        return laidOver(.some(value), writes)
    }
}

/// The first read of some scopes, at one snapshot, and the changes that the feed brings for them meanwhile.
///
/// `fed` is the position of the feed for these scopes: an answer counts when its request names a time at or below it. It
/// begins at what the session has seen: no snapshot of the read lies below, so no change between the two is missed.
/// Where the log may not go back that far, it begins at the snapshot. Changes at or below the snapshot are part of the
/// read, and are dropped (LQ1).
struct LiveReading: Sendable {
    var scopes: Set<ScopeId>
    private var fed: Timestamp?
    /// Its snapshot, once all scopes are read.
    private(set) var snapshot: Timestamp?
    /// Own writes that the snapshot may contain: their timestamps are to be known before it is shown.
    private(set) var doubts: Set<WriteNumber> = []
    private var values: [ExactString: Value] = [:]
    private var changes: [ExactString: [CachedWrite]] = [:]

    /// - Parameter fed: nil if the feed begins at the snapshot
    init(_ scopes: Set<ScopeId>, fed: Timestamp?) {
        self.scopes = scopes
        self.fed = fed
    }

    /// The time up to which it has all changes; nil while the feed has not begun.
    var position: Timestamp? { fed.map { max($0, snapshot ?? 0) } }

    /// All scopes have been read.
    mutating func complete(_ snapshot: Timestamp, _ values: [ExactString: Value], doubts: Set<WriteNumber>) {
        self.snapshot = snapshot
        self.values = values
        self.doubts = doubts
        fed = fed ?? snapshot
    }

    /// Takes the changes after a time up to another one.
    ///
    /// - Parameter isIts: whether a key is one of its scopes'
    mutating func take(_ all: [KeyChanges], after: Timestamp, to: Timestamp, isIts: (ExactString) -> Bool) {
        guard let begin = position, after <= begin else { return }
        for one in all where isIts(one.key) {
            changes[one.key, default: []] += one.changes.filter { $0.ct > begin }
        }
        fed = max(begin, to)
    }

    /// The documents at its position.
    func documents() -> [ExactString: Value] {
        guard let snapshot else { return [:] }
        var values = values
        for (key, all) in changes {
            let all = KeyChanges(key: key, changes: all)
            if let value = all.applied(to: values[key], above: snapshot) { values[key] = value }
        }
        return values
    }
}
