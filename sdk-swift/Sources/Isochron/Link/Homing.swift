import IsochronSession

/// Homing's requests to the connector.
@SessionActor
protocol HomingPorts: AnyObject {
    /// The connection in use.
    var current: Connection? { get }
    var isClosed: Bool { get }
    func open(_ endpoint: Endpoint, _ opened: @escaping Connection.Opened)
    /// Changes to a connection; requests on the present one end there.
    func adopt(_ connection: Connection)
}

/// Returns to a nearer endpoint after a failover, and detects when another endpoint has become the nearest.
@SessionActor
final class Homing {
    /// Looks follow at doubling intervals, up to this one. A measurement is valid for as long.
    private static let maxPauseMs = 600_000.0
    /// A round trip is shorter if it is so by more than chance: by this factor, and by this many ms.
    private static let nearerFactor = 1.5
    private static let nearerByMs = 2.0
    /// A node whose stable time is further than this behind the session's has not caught up.
    private static let caughtUpMs = 1000.0

    private struct Probe {
        let connection: Connection
        let rttMs: Double
    }

    /// One look at the other endpoints.
    @SessionActor
    private final class Look {
        let present: Connection
        var presentMs = Double.infinity
        var found: [Probe] = []
        /// Number of missing answers.
        var left: Int

        init(from present: Connection, left: Int) {
            self.present = present
            self.left = left
        }
    }

    private let endpoints: Endpoints
    private let loop: Loop
    private let returnAfterMs: Double
    weak var ports: (any HomingPorts)?
    private var timer: LoopTimer?
    private var pauseMs = 0.0

    /// - Parameter returnAfterMs: time to the first look
    init(_ loop: Loop, _ endpoints: Endpoints, returnAfterMs: Double) {
        self.loop = loop
        self.endpoints = endpoints
        self.returnAfterMs = returnAfterMs
    }

    /// A connection is in use: there may be a nearer one.
    func start() {
        pauseMs = returnAfterMs
        schedule()
    }

    private var present: Connection? {
        guard let ports, !ports.isClosed else { return nil }
        return ports.current
    }

    private func schedule() {
        loop.cancel(timer)
        let url = present?.url
        guard pauseMs.isFinite, endpoints.all.contains(where: { $0.given && $0.url != url }) else { return }
        // Without the jitter all clients of a region that comes back would return at once.
        let pauseMs = self.pauseMs * (0.75 + loop.random() / 2)
        self.pauseMs = min(Self.maxPauseMs, 2 * self.pauseMs)
        timer = loop.after(pauseMs) { [weak self] in self?.look() }
    }

    private func look() {
        // Without a connection a search is under way; its end starts this anew.
        guard let present else { return }
        let unsure = endpoints.unmeasured(loop.nowMs, maxAgeMs: Self.maxPauseMs)
            .filter { $0.url != present.url }
        // While all credits are in use the present distance cannot be measured.
        if unsure.isEmpty || present.free <= 0 { return schedule() }
        let look = Look(from: present, left: unsure.count + 1)
        roundTrip(present) { [self] rttMs in
            look.presentMs = rttMs
            arrived(look)
        }
        for endpoint in unsure {
            probe(endpoint) { [self] probe in
                if let probe { look.found.append(probe) }
                arrived(look)
            }
        }
    }

    private func arrived(_ look: Look) {
        look.left -= 1
        if look.left > 0 { return }
        let found = look.found.sorted { $0.rttMs < $1.rttMs }
        let best = found.first
        let isNearer = best.map { $0.rttMs * Self.nearerFactor + Self.nearerByMs < look.presentMs } ?? false
        let moves = isNearer && present === look.present && best?.connection.isClosed == false
        for probe in found where !moves || probe.connection !== best?.connection { probe.connection.close() }
        if moves, let best {
            ports?.adopt(best.connection)
        } else if present === look.present {
            schedule()
        }
    }

    /// A healthy endpoint, and its distance.
    private func probe(_ endpoint: Endpoint, _ end: @escaping @SessionActor (Probe?) -> Void) {
        guard let ports else { return end(nil) }
        ports.open(endpoint) { [self] result in
            guard case .success(let connection) = result else { return end(nil) }
            guard isHealthy(connection) else {
                connection.close()
                return end(nil)
            }
            roundTrip(connection) { [self] rttMs in
                if !rttMs.isFinite {
                    connection.close()
                    return end(nil)
                }
                endpoints.measured(endpoint.url, rttMs, loop.nowMs)
                end(Probe(connection: connection, rttMs: rttMs))
            }
        }
    }

    /// It has caught up, and its region does not hold stable time back at the present node: such a region may be cut
    /// off from the others.
    private func isHealthy(_ connection: Connection) -> Bool {
        let heldBackBy = present?.freshness.heldBackBy
        return lagMs(connection.welcome) <= Self.caughtUpMs && heldBackBy?.region != connection.region
    }

    /// The distance of the node's stable time behind the session's, which the welcome returns.
    private func lagMs(_ welcome: Welcome) -> Double {
        let nodeMs = Double(welcome.freshness.now) - Double(welcome.freshness.stalenessMs)
        return wallMs(of: welcome.stable ?? welcome.ust.ts) - nodeMs
    }

    /// The shorter of two measurements; infinite if the connection is lost meanwhile.
    private func roundTrip(_ connection: Connection, _ end: @escaping @SessionActor (Double) -> Void) {
        connection.ping { first in
            guard let first else { return end(.infinity) }
            connection.ping { second in end(second.map { min(first, $0) } ?? .infinity) }
        }
    }
}
