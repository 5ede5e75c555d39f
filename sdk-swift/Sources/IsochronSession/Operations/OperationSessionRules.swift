/// How a session of single operations remembers.
public struct OperationSessionRules: Sendable {
    /// What was seen before, and what an answer says.
    public let merge: @Sendable (_ seen: [Timestamp], _ more: [Timestamp]) -> [Timestamp]
    /// The same after a PUT.
    public let wrote: @Sendable (_ seen: [Timestamp], _ more: [Timestamp]) -> [Timestamp]
    /// Under protocols whose dependencies name keys: what the session depends on, in the light of what it has seen.
    public let depends: DependsRules?
    /// Whether read-only transactions have ids, under protocols that remember who has read.
    public let rotsHaveIds: Bool

    /// Rules of a protocol.
    public init(
        merge: @escaping @Sendable (_ seen: [Timestamp], _ more: [Timestamp]) -> [Timestamp],
        wrote: @escaping @Sendable (_ seen: [Timestamp], _ more: [Timestamp]) -> [Timestamp],
        depends: DependsRules? = nil,
        rotsHaveIds: Bool = false
    ) {
        self.merge = merge
        self.wrote = wrote
        self.depends = depends
        self.rotsHaveIds = rotsHaveIds
    }
}

/// How a session remembers dependencies that name keys.
public struct DependsRules: Sendable {
    /// A function of what the session depended on, what an answer adds, and what it has seen by then.
    public typealias Rule =
        @Sendable (_ depends: [Dependency], _ more: [Dependency], _ seen: [Timestamp]) -> [Dependency]

    /// What it depends on after a read.
    public let merge: Rule
    /// What it depends on after a PUT.
    public let wrote: Rule

    /// Rules of a protocol.
    public init(merge: @escaping Rule, wrote: @escaping Rule) {
        self.merge = merge
        self.wrote = wrote
    }
}

extension OperationSessionRules {
    /// For vectors and scalars: the highest, entry by entry.
    public static let highest = OperationSessionRules(merge: entrywiseMax, wrote: entrywiseMax)

    /// Orbe: reads add elements, a PUT leaves itself alone: what came before it, it depends on.
    public static let matrices = OperationSessionRules(merge: mergedMatrices, wrote: { _, more in more })

    /// COPS-GT: the context holds every version that the session depends on, directly or not, until that has been in
    /// every region for a while. What was written depends on all that came before.
    public static let copsGt = OperationSessionRules(
        merge: entrywiseMax,
        wrote: entrywiseMax,
        depends: DependsRules(
            merge: { depends, more, seen in aboveHorizon(mergedDependencies(depends, more), seen) },
            wrote: { depends, more, seen in aboveHorizon(mergedDependencies(depends.map(\.far), more), seen) }
        )
    )

    /// CC-LO: a session depends on what it has read since it wrote, and on what it wrote, which alone is nearest
    /// then. Its read-only transactions have ids.
    public static let ccLo = OperationSessionRules(
        merge: entrywiseMax,
        wrote: entrywiseMax,
        depends: DependsRules(
            merge: { depends, more, seen in aboveHorizon(mergedDependencies(depends, more), seen) },
            wrote: { _, more, _ in more }
        ),
        rotsHaveIds: true
    )
}

/// The highest of both, entry by entry; nothing seen is an empty vector.
private func entrywiseMax(_ one: [Timestamp], _ other: [Timestamp]) -> [Timestamp] {
    if one.isEmpty { return other }
    return one.enumerated().map { i, ts in other.indices.contains(i) ? max(ts, other[i]) : max(ts, 0) }
}
