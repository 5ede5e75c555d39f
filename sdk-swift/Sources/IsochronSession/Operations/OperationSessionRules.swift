/// How a protocol maintains the state of a session of single operations.
public struct OperationSessionRules: Sendable {
    /// The seen entries after an answer with the entries `more`.
    public let merge: @Sendable (_ seen: [Timestamp], _ more: [Timestamp]) -> [Timestamp]
    /// The same after a PUT.
    public let wrote: @Sendable (_ seen: [Timestamp], _ more: [Timestamp]) -> [Timestamp]
    /// Under protocols whose dependencies name keys: the session's dependencies.
    public let depends: DependsRules?
    /// Whether read-only transactions have ids, under protocols that record readers.
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

/// How a protocol maintains dependencies that name keys.
public struct DependsRules: Sendable {
    /// A function of the session's dependencies, those that an answer adds, and the new seen entries.
    public typealias Rule =
        @Sendable (_ depends: [Dependency], _ more: [Dependency], _ seen: [Timestamp]) -> [Dependency]

    /// The dependencies after a read.
    public let merge: Rule
    /// The dependencies after a PUT.
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

    /// Orbe: reads add elements; a PUT leaves only itself, because it depends on everything before it.
    public static let matrices = OperationSessionRules(merge: mergedMatrices, wrote: { _, more in more })

    /// COPS-GT: the context holds every version that the session depends on, directly or not, until that has been in
    /// every region for a while. A write depends on everything before it.
    public static let copsGt = OperationSessionRules(
        merge: entrywiseMax,
        wrote: entrywiseMax,
        depends: DependsRules(
            merge: { depends, more, seen in aboveHorizon(mergedDependencies(depends, more), seen) },
            wrote: { depends, more, seen in aboveHorizon(mergedDependencies(depends.map(\.far), more), seen) }
        )
    )

    /// CC-LO: a session depends on its reads since its last write, and on that write, which alone is nearest then. Its
    /// read-only transactions have ids.
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

/// The greater entry of both, everywhere; an empty vector has seen nothing.
private func entrywiseMax(_ one: [Timestamp], _ other: [Timestamp]) -> [Timestamp] {
    if one.isEmpty { return other }
    return one.enumerated().map { i, ts in other.indices.contains(i) ? max(ts, other[i]) : max(ts, 0) }
}
