import IsochronSession

@testable import Isochron

/// The state that all scripted servers of one cluster share. Timestamps become stable only when the test stabilises.
@SessionActor
final class FakeStore {
    struct Version {
        let ts: Int64
        let tx: String
        let value: JSONValue
    }

    private(set) var versions: [String: [Version]] = [:]
    private(set) var outcomes: [String: Int64] = [:]
    var clock: Int64 = 1000
    var ust: Int64 = 1000
    /// The entries of snapshots and commits beside their timestamps.
    var deps: [Int64]?

    nonisolated init() {}

    init(deps: [Int64]) { self.deps = deps }

    /// Makes all commits so far stable.
    func stabilise() { ust = clock }

    @discardableResult
    func commit(_ tx: String, hwt: Int64 = 0, sentAfter: Int64 = 0, _ writes: [(key: String, value: JSONValue)])
        -> Int64
    {
        if let known = outcomes[tx] { return known }
        clock = max(clock, hwt, sentAfter) + 1
        for write in writes { versions[write.key, default: []].append(Version(ts: clock, tx: tx, value: write.value)) }
        outcomes[tx] = clock
        return clock
    }

    /// A write of another client, stable at once.
    func seed(_ key: String, _ json: String) {
        commit("seed\(clock)", [(key, .string(json))])
        stabilise()
    }

    func read(_ key: String, at snapshot: Int64) -> JSONValue {
        let version = versions[key]?.last { $0.ts <= snapshot }
        guard let version, version.value != .null else { return .null }
        return [.integer(version.ts), version.value]
    }

    var keys: [String] { versions.keys.sorted { keyPrecedes($0, $1) } }
}
