import IsochronSession

/// A node that the client knows.
@SessionActor
final class Endpoint {
    let url: String
    /// Whether the application named it. Learned endpoints serve for failover only, and are never chosen otherwise.
    let given: Bool
    var region: RegionId?
    /// Measured round trip, and the monotonic time of the measurement.
    var rttMs: Double?
    var measuredMs = 0.0
    /// Number of failures since its last success.
    var failures = 0
    /// Monotonic time before which it is not tried.
    var notBeforeMs = 0.0

    init(_ url: String, region: RegionId?, given: Bool) {
        self.url = url
        self.region = region
        self.given = given
    }
}

/// The nodes that the client knows, given and learned, in the order of attempts.
@SessionActor
final class Endpoints {
    /// Further than any measured endpoint.
    private static let unknownDistanceMs = 1e7
    /// Further endpoints of a welcome are ignored.
    private static let mostLearned = 1000

    private(set) var all: [Endpoint] = []
    /// Region of the last connection: its other nodes come first among those without a known distance.
    var region: RegionId?

    /// Throws INVALID_REQUEST.
    init(_ bases: [String]) throws {
        for base in bases {
            guard let url = SessionURL.of(base) else {
                throw IsochronError(.invalidRequest, "\(base.debugDescription) is no URL of http(s) or ws(s)")
            }
            add(url, region: nil, given: true)
        }
        if all.isEmpty { throw IsochronError(.invalidRequest, "connect needs at least one endpoint") }
    }

    func of(_ url: String) -> Endpoint? {
        all.first { $0.url == url }
    }

    /// Adds the endpoints of a welcome. Over an encrypted connection no unencrypted endpoint is learned.
    func learn(from: String, _ regions: [RegionEndpoints]) {
        let encrypted = from.hasPrefix("wss:")
        for region in regions {
            for base in region.endpoints where all.count < Self.mostLearned {
                guard let url = SessionURL.of(base), !encrypted || url.hasPrefix("wss:") else { continue }
                add(url, region: region.id, given: false)
            }
        }
    }

    /// Stores a measurement.
    func measured(_ url: String, _ rttMs: Double, _ nowMs: Double) {
        guard let endpoint = of(url) else { return }
        endpoint.rttMs = rttMs
        endpoint.measuredMs = nowMs
        endpoint.failures = 0
    }

    /// The endpoints that may be tried now: the last to fail comes last, then by distance.
    func candidates(_ nowMs: Double) -> [Endpoint] {
        let usable = all.enumerated().filter { $0.element.notBeforeMs <= nowMs }
        let order = usable.sorted { one, other in
            let (a, b) = (rank(one.element), rank(other.element))
            return a == b ? one.offset < other.offset : a < b
        }
        return order.map(\.element)
    }

    /// The given endpoints without a known distance: never measured, failed since, or measured long ago.
    func unmeasured(_ nowMs: Double, maxAgeMs: Double) -> [Endpoint] {
        candidates(nowMs).filter { endpoint in
            endpoint.given
                && (endpoint.rttMs == nil || endpoint.failures > 0 || endpoint.measuredMs + maxAgeMs <= nowMs)
        }
    }

    /// Time at which the next one may be tried.
    var nextMs: Double { all.map(\.notBeforeMs).min() ?? 0 }

    private func rank(_ endpoint: Endpoint) -> (Int, Double) {
        (endpoint.failures, distance(endpoint))
    }

    /// An unmeasured endpoint is as far away as its region; in a region without any measurement, further than all
    /// others. Never infinite.
    private func distance(_ endpoint: Endpoint) -> Double {
        if let rttMs = endpoint.rttMs { return rttMs }
        guard let its = endpoint.region else { return Self.unknownDistanceMs }
        let own = its == region ? Self.unknownDistanceMs / 2 : Self.unknownDistanceMs
        return all.filter { $0.region == its }.compactMap(\.rttMs).reduce(own, min)
    }

    private func add(_ url: String, region: RegionId?, given: Bool) {
        if let known = of(url) {
            known.region = known.region ?? region
        } else {
            all.append(Endpoint(url, region: region, given: given))
        }
    }
}

/// The candidates of a round of attempts, one after the other; given ones come again among many learned ones.
@SessionActor
final class AttemptRound {
    /// Learned endpoints that are tried in a row. Behind a load balancer they may all be addresses that the client does
    /// not reach, and each of them takes its time.
    private static let learnedInARow = 8

    private let endpoints: Endpoints
    private let loop: Loop
    private var left: ArraySlice<Endpoint>
    private var learned = 0
    private var last: Endpoint?

    init(_ endpoints: Endpoints, _ loop: Loop) {
        self.endpoints = endpoints
        self.loop = loop
        left = endpoints.candidates(loop.nowMs)[...]
    }

    func next() -> Endpoint? {
        if let given = givenAgain() { return given }
        last = left.popFirst()
        return last
    }

    private func givenAgain() -> Endpoint? {
        guard let last else { return nil }
        self.last = nil
        learned = last.given ? 0 : learned + 1
        guard learned == Self.learnedInARow, let given = endpoints.candidates(loop.nowMs).first(where: \.given) else {
            return nil
        }
        learned = 0
        return given
    }
}
