import IsochronSession

/// Chooses among endpoints that are tried at the same time: the connection with the shortest round trip.
///
/// After the first connection, the others have as long again: an endpoint that takes more than twice as long to open is
/// not nearer. The others are closed. Fails with a definite refusal, if any.
@SessionActor
final class Nearest: Cancellable {
    /// The others have at least this long, even after a very fast first one.
    private static let minGraceMs = 50.0

    private let loop: Loop
    private let startMs: Double
    private var attempts = 0
    private var urls: [String] = []
    private var found: [Connection] = []
    private var errors: [IsochronError] = []
    private var grace: LoopTimer?
    private var decide: Caller<Connection>?

    init(_ loop: Loop) {
        self.loop = loop
        startMs = loop.nowMs
    }

    /// Tries all of these; `probe` opens and measures one. Calls `decided` once.
    func choose(
        among endpoints: [Endpoint], _ probe: @SessionActor (Endpoint, @escaping Connection.Opened) -> Void,
        _ decided: @escaping Caller<Connection>
    ) {
        decide = decided
        attempts = endpoints.count
        urls = endpoints.map(\.url)
        for endpoint in endpoints { probe(endpoint) { [self] result in arrived(result) } }
    }

    func cancel(_ reason: any Error) {
        // A probe may end after the choice.
        if decide == nil { return }
        for connection in found { connection.close() }
        end(.failure(reason))
    }

    private func arrived(_ result: Result<Connection, IsochronError>) {
        switch result {
        case .success(let connection):
            if decide == nil { return connection.close() }
            found.append(connection)
        case .failure(let error): errors.append(error)
        }
        if found.count + errors.count == attempts {
            pick()
        } else if found.count == 1, grace == nil {
            grace = loop.after(max(Self.minGraceMs, loop.nowMs - startMs)) { [weak self] in self?.pick() }
        }
    }

    private func pick() {
        if decide == nil { return }
        let open = found.filter { !$0.isClosed }.sorted { ($0.rttMs ?? .infinity) < ($1.rttMs ?? .infinity) }
        for connection in open.dropFirst() { connection.close() }
        if let best = open.first { return end(.success(best)) }
        guard found.count + errors.count == attempts else { return }
        let definite = errors.first { !$0.retryable }
        let message = "no endpoint could be reached: \(urls.joined(separator: ", "))"
        let none = IsochronError(.connectionLost, message, cause: errors.first)
        end(.failure(definite ?? none))
    }

    private func end(_ result: Result<Connection, any Error>) {
        loop.cancel(grace)
        let decide = self.decide
        self.decide = nil
        decide?(result)
    }
}
