/// A snapshot of Wren: everything that one region, its *place*, sourced up to `lt`, and everything that the others
/// sourced up to `rt`.
///
/// On the wire it is `{ ts: lt, deps: [rt, place, hwt] }`. The place is the region's position in the cluster file plus
/// one, because `lt` is specific to its region; zero stands for no region: such a snapshot has everything up to `lt`,
/// from every region. `hwt` is the commit timestamp of a session's last write; it is zero in a transaction's snapshot.
struct WrenParts {
    /// Number of entries beside the timestamp.
    static let entries = 3
    /// The place of a snapshot that belongs to no region.
    static let nowhere: Timestamp = 0

    var lt: Timestamp
    var rt: Timestamp
    var place: Timestamp
    var hwt: Timestamp

    /// Everything up to one timestamp, from every region.
    init(everythingUpTo timestamp: Timestamp) {
        (lt, rt, place, hwt) = (timestamp, timestamp, Self.nowhere, timestamp)
    }

    init(lt: Timestamp, rt: Timestamp, place: Timestamp, hwt: Timestamp) {
        (self.lt, self.rt, self.place, self.hwt) = (lt, rt, place, hwt)
    }

    /// Reads a received snapshot; a timestamp alone belongs to no region. Without a place, both times are the greater
    /// one.
    init(_ snapshot: Snapshot) {
        let deps = snapshot.deps ?? []
        (lt, rt) = (snapshot.ts, deps.first ?? snapshot.ts)
        place = deps.count > 1 ? deps[1] : Self.nowhere
        hwt = deps.count > 2 ? deps[2] : 0
        if place == Self.nowhere { (lt, rt) = (max(lt, rt), max(lt, rt)) }
    }

    var snapshot: Snapshot { Snapshot(ts: lt, deps: [rt, place, hwt]) }

    /// The snapshot is complete in every region that has everything up to this timestamp.
    var reach: Timestamp { max(lt, rt, hwt) }

    /// Entry by entry, within one region. Nil across regions, whose entries do not compare.
    func merged(_ other: WrenParts) -> WrenParts? {
        guard place == other.place else { return nil }
        return WrenParts(lt: max(lt, other.lt), rt: max(rt, other.rt), place: place, hwt: max(hwt, other.hwt))
    }
}

extension SessionRules {
    /// Wren: a session has seen a snapshot of one region, and keeps its own writes above the snapshot's `lt`.
    ///
    /// After a commit whose home was another region than its snapshot's, the seen snapshot belongs to no region: the
    /// session has seen everything up to one timestamp, and its next start waits for that in any region. The snapshot's
    /// `rt` is not above its `lt`, so no version from elsewhere can be newer than an own write that the snapshot lacks.
    public static let wren = SessionRules(
        merge: mergedInWren,
        committed: committedInWren,
        covers: { WrenParts($0).lt },
        stable: stableInWren,
        depending: dependingInWren
    )
}

/// Across regions, the snapshot that contains the other.
private func mergedInWren(_ seen: Snapshot, _ more: Snapshot) -> Snapshot {
    let (a, b) = (WrenParts(seen), WrenParts(more))
    if let both = a.merged(b) { return both.snapshot }
    if min(b.lt, b.rt) >= a.reach { return more }
    if min(a.lt, a.rt) >= b.reach { return seen }
    return WrenParts(everythingUpTo: max(a.reach, b.reach)).snapshot
}

private func committedInWren(_ seen: Snapshot, _ commit: Snapshot, _ snapshot: Snapshot) -> Snapshot {
    if commit.deps?.count == WrenParts.entries { return mergedInWren(seen, commit) }  // nothing was written
    let home = homeOf(commit, snapshot)
    var parts = WrenParts(seen)
    if parts.reach == 0 {
        parts.place = home
    } else if home != parts.place || home == WrenParts.nowhere || dependsOnMore(commit, than: parts.rt) {
        return WrenParts(everythingUpTo: max(parts.reach, commit.ts)).snapshot
    }
    parts.hwt = max(parts.hwt, commit.ts)
    return parts.snapshot
}

/// In its region a commit depends on `rt`, and on earlier own commits by `hwt`. One that had another home is remote
/// there, above `rt`: the seen snapshot belongs to no region then, and the commit depends on all of it.
private func dependingInWren(_ snapshot: Snapshot, _ seen: Snapshot) -> Snapshot {
    let (a, b) = (WrenParts(snapshot), WrenParts(seen))
    return a.place == b.place && b.rt <= a.rt ? snapshot : mergedInWren(snapshot, seen)
}

/// A commit with a snapshot of no region depends on more than its session has seen from other regions: a snapshot of
/// this region at its timestamp may lack it.
private func dependsOnMore(_ commit: Snapshot, than rt: Timestamp) -> Bool {
    guard let deps = commit.deps, deps.count == 2 else { return false }
    return deps[0] > rt
}

/// A commit without a home has that of its snapshot; one without entries may have any.
private func homeOf(_ commit: Snapshot, _ snapshot: Snapshot) -> Timestamp {
    guard let deps = commit.deps else { return WrenParts.nowhere }
    return deps.count > 1 ? deps[1] : WrenParts(snapshot).place
}

/// A stable time is installed in the region, too, so a session that only writes need not keep its own writes forever.
private func stableInWren(_ seen: Snapshot, _ ust: Timestamp) -> Snapshot {
    var parts = WrenParts(seen)
    guard parts.place != WrenParts.nowhere else { return seen }
    parts.lt = max(parts.lt, ust)
    return parts.snapshot
}
