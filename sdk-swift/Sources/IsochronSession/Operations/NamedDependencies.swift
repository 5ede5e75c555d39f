/// One version that another one depends on, under protocols whose dependencies name keys.
public struct Dependency: Hashable, Sendable {
    /// Its key.
    public let key: QualifiedKey
    /// Position of the region that wrote it in the cluster file.
    public let source: Int64
    /// Its timestamp.
    public let ts: Timestamp
    /// No other dependency is known to depend on it: the nearest dependencies imply all others.
    public let near: Bool

    /// A dependency on a version.
    public init(key: QualifiedKey, source: Int64, ts: Timestamp, near: Bool = false) {
        self.key = key
        self.source = source
        self.ts = ts
        self.near = near
    }

    public static func == (left: Dependency, right: Dependency) -> Bool {
        isSameText(left.key, right.key) && left.source == right.source && left.ts == right.ts && left.near == right.near
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactString(key))
        hasher.combine(source)
        hasher.combine(ts)
        hasher.combine(near)
    }

    /// The same dependency, when another one depends on it.
    var far: Dependency { Dependency(key: key, source: source, ts: ts) }
}

/// For each key and region only the newest version is a dependency of its own.
private struct DependencyName: Hashable, Sendable {
    let source: Int64
    let key: ExactString
}

/// Both lists without duplicates: for each key and region the newest version. An older one of the same region arrives
/// before it, in the same stream. A dependency is a nearest one only if both lists mark it so.
func mergedDependencies(_ one: [Dependency], _ other: [Dependency]) -> [Dependency] {
    var merged = OrderedMap<DependencyName, Dependency>()
    for dependency in one + other {
        let name = DependencyName(source: dependency.source, key: ExactString(dependency.key))
        guard let before = merged[name] else {
            merged[name] = dependency
            continue
        }
        let isFarther = before.ts == dependency.ts && !dependency.near
        if before.ts < dependency.ts || isFarther { merged[name] = dependency }
    }
    return merged.entries.map { $0.element }
}

/// The dependencies that the horizon of the seen entries, `[highest, horizon, clock]`, has not passed: every region has
/// the others.
func aboveHorizon(_ depends: [Dependency], _ seen: [Timestamp]) -> [Dependency] {
    let horizon = seen.count > 1 ? seen[1] : 0
    return depends.filter { $0.ts > horizon }
}
