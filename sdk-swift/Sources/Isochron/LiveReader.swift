import IsochronSession

/// What a query watches, and how its result is made.
struct WatchPlan: Sendable {
    let range: LiveRange
    let query: Query
    /// Named keys in the order of the query.
    var named: [ExactString]?
}

/// The state of some watches that an application takes.
struct TakenState: Sendable {
    let snapshot: Timestamp
    let staleness: Duration?
    /// The documents of each watch.
    let rows: [[QueryRows.Row]]
}

/// One reader of some watches: it has at most one state that is not taken, the newest.
@SessionActor
final class LiveReader: LiveObserver {
    /// Where a watch is, and the reasons why it is none.
    typealias Plans = @Sendable (Limits) throws -> [WatchPlan]

    /// How it has ended. An error is thrown once.
    private enum End {
        case failed(any Error)
        case over
    }

    private let driver: Driver
    private let plans: Plans
    private var queries: [QueryRows] = []
    private var snapshot: Timestamp?
    private var isFresh = false
    private var hasBegun = false
    private var end: End?
    private var waiting: [CheckedContinuation<TakenState?, any Error>] = []

    nonisolated init(_ driver: Driver, _ plans: @escaping Plans) {
        self.driver = driver
        self.plans = plans
    }

    /// The newest state, once that is not taken. Nil after the end.
    func next() async throws -> TakenState? {
        begin()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                waiting.append(continuation)
                if Task.isCancelled { finish(CancellationError()) }
                serve()
            }
        } onCancel: {
            Task { @SessionActor in finish(CancellationError()) }
        }
    }

    func next(_ snapshot: Timestamp, _ views: [LiveView]) {
        let isFirst = self.snapshot == nil
        self.snapshot = snapshot
        do {
            var hasChanged = isFirst
            for (i, view) in views.enumerated() { if try queries[i].update(rows(view)) { hasChanged = true } }
            if hasChanged { isFresh = true }
            serve()
        } catch {
            let cause = "the server sent a document that is not JSON"
            finish(IsochronError(.frameInvalid, cause, retryable: true, cause: error))
        }
    }

    func failed(_ error: IsochronError) {
        finish(error)
    }

    /// It is not read any more.
    func close() {
        finish(nil)
    }

    private func begin() {
        if hasBegun { return }
        hasBegun = true
        do {
            let plans = try plans(driver.limits.get())
            queries = plans.map { QueryRows($0.query, named: $0.named) }
            driver.step(.watch(self, plans.map(\.range)))
        } catch {
            finish(error)
        }
    }

    private func rows(_ view: LiveView) -> [ExactString: QueryRows.Row?] {
        var rows: [ExactString: QueryRows.Row?] = [:]
        for (key, document) in view {
            let row = document.map { QueryRows.Row(key: key, value: $0.value, isPending: $0.isPending) }
            rows.updateValue(row, forKey: key)
        }
        return rows
    }

    private func serve() {
        if end != nil {
            serveEnd()
        } else if isFresh, let snapshot, !waiting.isEmpty {
            isFresh = false
            let state = TakenState(
                snapshot: snapshot, staleness: driver.age(of: snapshot), rows: queries.map(\.rows))
            waiting.removeFirst().resume(returning: state)
        }
    }

    private func serveEnd() {
        let those = waiting
        waiting = []
        for continuation in those {
            if case .failed(let error)? = end {
                end = .over
                continuation.resume(throwing: error)
            } else {
                continuation.resume(returning: nil)
            }
        }
    }

    private func finish(_ error: (any Error)?) {
        if end != nil { return }
        end = error.map { .failed($0) } ?? .over
        queries = []
        serve()
        // Perhaps from within a step of the machine.
        if hasBegun { Task { @SessionActor in driver.step(.unwatch(self)) } }
    }
}
