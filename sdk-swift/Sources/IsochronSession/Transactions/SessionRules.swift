/// The rules in which the sessions of protocols differ.
public struct SessionRules: Sendable {
    /// The seen snapshot after the session has seen both.
    public let merge: @Sendable (_ seen: Snapshot, _ more: Snapshot) -> Snapshot
    /// The seen snapshot after its transaction, which read from `snapshot`, has committed at `commit.ts`.
    public let committed: @Sendable (_ seen: Snapshot, _ commit: Snapshot, _ snapshot: Snapshot) -> Snapshot
    /// Own writes that committed up to this timestamp are part of a snapshot; later ones come from the session's cache.
    public let covers: @Sendable (_ snapshot: Snapshot) -> Timestamp
    /// The seen snapshot once everything up to `ust` is known to be in every region. Nil if stable times have no effect
    /// on it.
    public let stable: (@Sendable (_ seen: Snapshot, _ ust: Timestamp) -> Snapshot)?
    /// What the commit of its transaction, which read from `snapshot`, depends on once the session has seen `seen`, with
    /// the commits before it. Nil: on the snapshot, because `hwt` orders it behind those commits in every region.
    public let depending: (@Sendable (_ snapshot: Snapshot, _ seen: Snapshot) -> Snapshot)?

    /// Rules of a protocol.
    public init(
        merge: @escaping @Sendable (_ seen: Snapshot, _ more: Snapshot) -> Snapshot,
        committed: @escaping @Sendable (_ seen: Snapshot, _ commit: Snapshot, _ snapshot: Snapshot) -> Snapshot,
        covers: @escaping @Sendable (_ snapshot: Snapshot) -> Timestamp,
        stable: (@Sendable (_ seen: Snapshot, _ ust: Timestamp) -> Snapshot)? = nil,
        depending: (@Sendable (_ snapshot: Snapshot, _ seen: Snapshot) -> Snapshot)? = nil
    ) {
        self.merge = merge
        self.committed = committed
        self.covers = covers
        self.stable = stable
        self.depending = depending
    }
}

/// Of two snapshots of one timestamp each, the later one, which contains the other.
func newer(_ seen: Snapshot, _ more: Snapshot) -> Snapshot {
    more.ts > seen.ts ? more : seen
}

extension SessionRules {
    /// PaRiS: a session has seen a stable time, and keeps its own writes above it. A commit is not stable yet: it is
    /// stored as `hwt`, and its writes in the cache. A stable time is a snapshot itself.
    public static let paris = SessionRules(
        merge: newer,
        committed: { seen, _, _ in seen },
        covers: { $0.ts },
        stable: { seen, ust in newer(seen, Snapshot(ts: ust)) }
    )

    /// BPR: a session has seen a snapshot, including its own commits. It needs no cache, because its reads wait for
    /// them.
    public static let bpr = SessionRules(
        merge: newer,
        committed: { seen, commit, _ in newer(seen, commit) },
        covers: { _ in .max }
    )

    /// NoCC: a session stores no reads and writes; only the stable time before its commits.
    public static let nocc = SessionRules(
        merge: newer,
        committed: { seen, _, _ in seen },
        covers: { _ in .max }
    )

    /// Cure: a session has seen a vector, one entry for each region. Its next snapshot contains its own writes, and the
    /// replicas wait for them: it keeps none of them.
    public static let cure = vectors

    /// H-Cure: like ``cure``.
    public static let hCure = vectors

    /// For a snapshot of the past, which is read without own writes.
    public static let withoutCache = SessionRules(
        merge: newer,
        committed: { seen, _, _ in seen },
        covers: { $0.ts }
    )

    private static let vectors = SessionRules(
        merge: mergedVectors,
        committed: { seen, commit, _ in mergedVectors(seen, commit) },
        covers: { _ in .max },
        depending: { snapshot, seen in isPart(seen, of: snapshot) ? snapshot : mergedVectors(snapshot, seen) }
    )
}

/// Whether no entry of a vector lies above the other's.
private func isPart(_ one: Snapshot, of other: Snapshot) -> Bool {
    one.ts <= other.ts && (one.deps ?? []).indices.allSatisfy { one.entry(at: $0) <= other.entry(at: $0) }
}

/// The greater entry of both, everywhere. A timestamp without entries stands for the vector with it in every entry.
private func mergedVectors(_ one: Snapshot, _ other: Snapshot) -> Snapshot {
    let ts = max(one.ts, other.ts)
    guard let entries = one.deps ?? other.deps else { return Snapshot(ts: ts) }
    let merged = entries.indices.map { i in max(one.entry(at: i), other.entry(at: i)) }
    return Snapshot(ts: ts, deps: merged)
}

extension Snapshot {
    fileprivate func entry(at i: Int) -> Timestamp {
        guard let deps, deps.indices.contains(i) else { return ts }
        return deps[i]
    }
}
