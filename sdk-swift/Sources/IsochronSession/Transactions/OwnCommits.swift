/// A map that has suspended nodes: a session judges its own writes by it (M10).
public struct SessionCut: Hashable, Sendable {
    /// Version of the map.
    public let map: Int64
    /// The map defers commits above this timestamp.
    public let horizon: Timestamp
    /// Numbers of the nodes that it has suspended.
    public let nodes: [Int64]

    /// A cut.
    public init(map: Int64, horizon: Timestamp, nodes: [Int64]) {
        self.map = map
        self.horizon = horizon
        self.nodes = nodes
    }
}

/// What a commit follows: an unstable write of its session (M4).
public struct CommitNeed: Hashable, Sendable {
    /// Timestamp of the write.
    public let ct: Timestamp
    /// Number of a node that the write needs; nil: it may need any node.
    public let node: Int64?

    /// A write, and a node that it needs.
    public init(ct: Timestamp, node: Int64? = nil) {
        self.ct = ct
        self.node = node
    }
}

/// The fields that fix the cohorts of an attempt (D4): unchanged from its first send on.
public struct AttemptCohorts: Hashable, Sendable {
    /// Region of the node that the attempt was sent to.
    public let home: RegionId
    /// Regions that did not answer the node when the attempt was made.
    public let avoid: [RegionId]
    /// Version of the node's map at that time.
    public let map: Int64

    /// The cohorts of an attempt.
    public init(home: RegionId, avoid: [RegionId], map: Int64) {
        self.home = home
        self.avoid = avoid
        self.map = map
    }
}

/// Where a commit has taken effect.
public struct CommitPlace: Hashable, Sendable {
    /// Version of the map of its attempt; nil for map 0.
    public let map: Int64?
    /// Numbers of the nodes with slices; nil where they are not known.
    public let nodes: [Int64]?

    /// The map and the nodes of a commit.
    public init(map: Int64?, nodes: [Int64]?) {
        self.map = map
        self.nodes = nodes
    }
}

/// A commit of the session that may not be stable. Its writes in the cache have its id.
public struct OwnCommit: Hashable, Sendable {
    /// The content of every send: the commit may have to be sent again.
    public let sent: CommitAttempt
    /// All attempts that were sent.
    public internal(set) var attempts: [AttemptCohorts]
    /// The first timestamp that its caller got.
    public let acknowledged: Timestamp
    /// The last timestamp at which it has committed.
    public internal(set) var ct: Timestamp
    /// Where that was.
    public internal(set) var place: CommitPlace
    /// Whether a cut defers it, and it is not committed again yet.
    public internal(set) var isDeferred: Bool

    /// A commit from its parts.
    public init(
        sent: CommitAttempt, attempts: [AttemptCohorts], acknowledged: Timestamp, ct: Timestamp, place: CommitPlace,
        isDeferred: Bool = false
    ) {
        self.sent = sent
        self.attempts = attempts
        self.acknowledged = acknowledged
        self.ct = ct
        self.place = place
        self.isDeferred = isDeferred
    }
}

/// The commits of a session that may not be stable, in their order, as the session judges them by the cuts that it
/// knows (M10). A commit that a cut has deferred lies above every snapshot until it is committed again. Meanwhile the
/// session sees nothing newer than what it has seen, which is below the horizon: so no snapshot of it contains the
/// commit.
public struct OwnCommits: Sendable {
    private struct KnownCut: Sendable {
        let cut: SessionCut
        /// Whether it has deferred a commit of the session: what the session wrote after that is deferred, too.
        var hits = false

        /// M4: it has a slice on a suspended node, or follows a write that the cut has deferred.
        func defers(_ ct: Timestamp, _ place: CommitPlace) -> Bool {
            if place.map ?? 0 >= cut.map || ct <= cut.horizon { return false }
            return hits || place.nodes?.contains(where: cut.nodes.contains) ?? true
        }
    }

    private var commits: [OwnCommit] = []
    private var cuts: [KnownCut] = []
    /// The commits that were made again, also once they are stable: the first and the last timestamp of each.
    private var moved: [(first: Timestamp, last: Timestamp)] = []
    /// The latest unstable write on each node; nil for a write whose nodes are not known.
    private var needs = OrderedMap<Int64?, Timestamp>()

    /// Commits in their order.
    public init(_ commits: [OwnCommit] = []) {
        for commit in commits { add(commit) }
    }

    /// The first commit that is deferred: the session commits it again before anything else.
    public var deferred: OwnCommit? { commits.first(where: \.isDeferred) }

    /// Number of deferred commits.
    public var deferredCount: Int { commits.filter(\.isDeferred).count }

    /// Version of the map before the first cut that has deferred something; nil while nothing is deferred, and where the
    /// cut is not known, as after an import.
    public var mapBefore: Int64? {
        deferred.flatMap { first in
            cuts.first { $0.hits && $0.cut.map > first.place.map ?? 0 }.map { $0.cut.map - 1 }
        }
    }

    /// Whether a map above a version has suspended nodes.
    public func hasCut(after version: Int64) -> Bool {
        cuts.contains { $0.cut.map > version }
    }

    /// Version of the newest map of which a cut is known.
    public var newestCut: Int64? { cuts.last?.cut.map }

    /// The commits whose nodes are known, to continue elsewhere.
    public var exported: [OwnCommit] { commits.filter { $0.place.nodes != nil } }

    /// What the next commit follows: nothing that is deferred, which is committed again before. Nothing either where the
    /// nodes of a write are not known: the highest write may then need any node.
    public var behind: [CommitNeed] {
        let all = needs.entries
        return all.contains { $0.key == nil } ? [] : all.map { CommitNeed(ct: $0.element, node: $0.key) }
    }

    /// The timestamp up to which stable time has to rise for all that the session had written by `timestamp`; nil while
    /// some of that is deferred.
    public func final(of timestamp: Timestamp) -> Timestamp? {
        if commits.contains(where: { $0.isDeferred && $0.acknowledged <= timestamp }) { return nil }
        return moved.filter { $0.first <= timestamp }.map(\.last).reduce(timestamp, max)
    }

    /// Adds the session's next commit.
    public mutating func add(_ commit: OwnCommit) {
        commits.append(commit)
        if commit.ct > commit.acknowledged { moved.append((commit.acknowledged, commit.ct)) }
        if !commit.isDeferred { follow(commit) }
    }

    /// Takes a cut, and returns whether it defers something.
    public mutating func take(_ cut: SessionCut) -> Bool {
        if cuts.contains(where: { $0.cut.map == cut.map }) { return false }
        var known = KnownCut(cut: cut)
        for at in commits.indices where known.defers(commits[at].ct, commits[at].place) {
            known.hits = true
            commits[at].isDeferred = true
        }
        cuts.append(known)
        if known.hits { followAll() }
        return known.hits
    }

    /// Whether a cut defers a commit with this answer, which is older than the cut.
    public mutating func isOvertaken(_ ct: Timestamp, _ place: CommitPlace) -> Bool {
        guard let at = cuts.firstIndex(where: { $0.defers(ct, place) }) else { return false }
        cuts[at].hits = true
        return true
    }

    /// The session goes on without these commits. Returns the ids.
    @discardableResult
    public mutating func drop(where isDropped: (OwnCommit) -> Bool) -> [TxId] {
        let dropped = commits.filter(isDropped)
        commits.removeAll(where: isDropped)
        return dropped.map(\.sent.txId)
    }

    /// A deferred commit is committed again. A commit that was dropped stays so.
    mutating func again(_ own: OwnCommit, _ ct: Timestamp, _ place: CommitPlace, _ attempts: [AttemptCohorts]) {
        moved.append((own.acknowledged, ct))
        if let at = commits.firstIndex(where: { isSameText($0.sent.txId, own.sent.txId) }) {
            commits[at].ct = ct
            commits[at].place = place
            commits[at].attempts = attempts
            commits[at].isDeferred = false
        }
        followAll()
    }

    /// Up to here everything is stable.
    mutating func prune(upTo stable: Timestamp) {
        commits.removeFirst(commits.prefix { !$0.isDeferred && $0.ct <= stable }.count)
        for (node, ct) in needs.entries where ct <= stable { needs[node] = nil }
    }

    private mutating func follow(_ commit: OwnCommit) {
        for node in commit.place.nodes.map({ $0.map(Optional.some) }) ?? [nil] { needs[node] = commit.ct }
    }

    private mutating func followAll() {
        needs = OrderedMap()
        for commit in commits where !commit.isDeferred { follow(commit) }
    }
}
