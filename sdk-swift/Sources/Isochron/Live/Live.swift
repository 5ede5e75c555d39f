import IsochronSession

/// Live queries of a client: the edge of `LiveState`, with its reads, its requests and its observers. The session has
/// seen the position (LQ5).
@SessionActor
final class Live {
    private static let rereadBaseMs = 100.0
    private static let rereadCapMs = 10_000.0

    /// It owns this object.
    private unowned let core: ClientCore
    private var watches = LiveWatches()
    /// Nil while nothing is watched.
    private var state: LiveState?
    private var reads: [Int: ScopesRead] = [:]
    private lazy var feed = LiveFeed(core, self)
    private var pause: LoopTimer?
    /// The greatest expected timestamp of an own write.
    private var expected: Timestamp = 0

    init(_ core: ClientCore) {
        self.core = core
    }

    /// Observes ranges from now on. The observer fails with the reason if they cannot be watched.
    func watch(_ observer: any LiveObserver, _ ranges: [LiveRange]) {
        do {
            let transactions = try check(ranges)
            if state == nil { state = begin(transactions) }
            let scopes = ranges.compactMap { state?.scope(of: $0) }
            watches.add(observer, scopes.map(\.id))
            let new = Set(scopes.filter(\.isNew).map(\.id))
            if new.isEmpty { return }
            read(new, transactions)
            feed.request()
        } catch {
            observer.failed(IsochronError.of(error))
        }
    }

    func unwatch(_ observer: any LiveObserver) {
        let scopes = watches.remove(observer)
        for id in scopes.sorted() {
            for useless in state?.drop(id) ?? [] { reads.removeValue(forKey: useless)?.end() }
            for read in reads.values { read.drop(id) }
            feed.remove(id)
        }
        if state?.scopes.isEmpty ?? false { end() }
    }

    /// At the end of a step: calls the observers.
    func flush() {
        guard let at = state?.at else { return }
        try? core.transactions.session.observe(Snapshot(ts: at))
        let changed = state?.takeChanges() ?? [:]
        let tooLarge = Set(changed.keys.filter { state?.scopes[$0]?.isTooLarge ?? false })
        if !tooLarge.isEmpty { refused(tooLarge, LiveRange.tooLarge) }
        watches.flush(at, state?.scopes ?? [:], changed)
    }

    func close() {
        end()
        let observers = watches.observers
        watches = LiveWatches()
        for observer in observers { observer.failed(.clientWasClosed) }
    }

    private func check(_ ranges: [LiveRange]) throws -> Transactions {
        if core.isClosing { throw IsochronError.clientWasClosed }
        if !core.can("live-queries") { throw core.unsupported("has no live queries: read again") }
        if let problem = ranges.lazy.compactMap(\.problem).first { throw problem }
        return try core.transactions
    }

    private func begin(_ transactions: Transactions) -> LiveState {
        var state = LiveState(OwnWrites(cache: transactions.session.export().cache))
        for (number, writes) in core.queue.undecided {
            state.called(number, writes, expected: expect(transactions, nil))
        }
        core.queue.follower = self
        return state
    }

    /// The timestamp that a write would get now, as far as the client knows: above all that it has seen.
    private func expect(_ transactions: Transactions, _ at: Timestamp?) -> Timestamp {
        let session = transactions.session
        let wall = packedWall(core.clock.nowMs(core.loop.steadyMs))
        expected = max(expected, wall, at ?? 0, session.ust, session.hwt)
        return expected
    }

    private func end() {
        core.queue.follower = nil
        core.loop.cancel(pause)
        endReads()
        state = nil
    }

    private func endReads() {
        for read in reads.values { read.end() }
        reads = [:]
    }

    /// Reads scopes at one snapshot.
    private func read(_ ids: Set<ScopeId>, _ transactions: Transactions) {
        guard let number = state?.read(ids, seen: transactions.session.ust) else { return }
        let read = ScopesRead(
            core, transactions, scopes.filter { ids.contains($0.key) },
            done: { [weak self] snapshot, values in self?.hasRead(number, at: snapshot, values) },
            failed: { [weak self] scope, error in self?.refused([scope], error) })
        reads[number] = read
        read.begin()
    }

    private func hasRead(_ number: Int, at snapshot: Timestamp, _ values: [ExactString: Value]) {
        reads[number] = nil
        state?.hasRead(number, at: snapshot, values, doubts: core.queue.inDoubt)
        feed.ensure()
    }

    private func readAll() {
        endReads()
        state?.endReadings()
        if let transactions = try? core.transactions { read(Set(scopes.keys), transactions) }
    }

    private func goOn(_ applied: [LiveAnswer]) {
        if let last = applied.last, state != nil { feed.goOn(last) }
    }
}

extension Live: LiveFeedOwner {
    var scopes: [ScopeId: LiveRange] { (state?.scopes ?? [:]).mapValues(\.range) }

    var after: Timestamp? { state?.after }

    var isBehind: Bool { state?.isBehind ?? false }

    func unnamed(_ scope: ScopeId) { state?.unnamed(scope) }

    func named(_ scopes: [ScopeId], by request: Int) {
        for id in scopes { state?.named(id, by: request) }
    }

    func answered(_ asked: LiveAsked, _ answer: LiveAnswer) {
        state?.isDeferred = isDeferred
        if state?.answered(asked, answer, doubts: core.queue.inDoubt) == true { goOn([answer]) }
    }

    func gone() {
        guard state?.after != nil else { return }
        let attempt = state?.timesGone ?? 0
        state?.gone()
        endReads()
        core.loop.cancel(pause)
        let pauseMs = fullJitterMs(
            core.loop.random, attempt: attempt, baseMs: Self.rereadBaseMs, capMs: Self.rereadCapMs)
        pause = core.loop.after(pauseMs) { [weak self] in self?.readAll() }
    }

    /// Ends all observers of some scopes.
    func refused(_ scopes: Set<ScopeId>, _ error: IsochronError) {
        for observer in watches.of(scopes) {
            unwatch(observer)
            observer.failed(error)
        }
    }
}

extension Live: WriteFollower {
    func called(_ number: WriteNumber, _ writes: [KeyWrite]) {
        guard let transactions = try? core.transactions else { return }
        let expected = expect(transactions, state?.at)
        state?.called(number, writes, expected: expected)
    }

    func committed(_ number: WriteNumber, _ version: Origin) {
        state?.isDeferred = isDeferred
        goOn(state?.committed(number, version) ?? [])
        decided()
    }

    func moved(_ version: Origin) { state?.moved(version) }

    func resumed() {
        state?.isDeferred = false
        goOn(state?.release() ?? [])
        decided()
    }

    func dropped(_ number: WriteNumber) {
        state?.isDeferred = isDeferred
        goOn(state?.dropped(number) ?? [])
        decided()
    }

    private var isDeferred: Bool { (try? core.transactions.session.isBehind) ?? false }

    /// A first read that has waited for the write may have joined.
    private func decided() {
        if state?.after != nil { feed.ensure() }
    }
}
