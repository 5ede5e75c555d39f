import IsochronSession

/// The owner of the feed: it has the scopes and their position.
@SessionActor
protocol LiveFeedOwner: AnyObject {
    var scopes: [ScopeId: LiveRange] { get }
    /// The lowest position of a scope; nil while no scope is to be fed.
    var after: Timestamp? { get }
    /// Whether a scope waits for the position to rise.
    var isBehind: Bool { get }
    /// The node does not know a scope any more.
    func unnamed(_ scope: ScopeId)
    /// The request of this number named these scopes.
    func named(_ scopes: [ScopeId], by request: Int)
    func answered(_ asked: LiveAsked, _ answer: LiveAnswer)
    /// The log does not go back to the position any more.
    func gone()
    /// These scopes cannot be watched.
    func refused(_ scopes: Set<ScopeId>, _ error: IsochronError)
}

/// The requests for changes of all scopes, one after the other: the newest one waits at the node, and a new one takes
/// its place there. The scopes belong to a connection: on another one, the first requests name all of them (LQ3).
@SessionActor
final class LiveFeed {
    /// How long a request waits for changes.
    private static let waitMs: Int64 = 60_000
    /// The same while a scope waits for the position to reach its first read, at a node that is behind it.
    private static let behindMs: Int64 = 100
    private static let retryBaseMs = 500.0
    private static let retryCapMs = 10_000.0
    /// What names of scopes may take of a message: JSON may double a text.
    private static let partOfMessage = 4

    /// It owns this object.
    private unowned let core: ClientCore
    private weak var owner: (any LiveFeedOwner)?
    private weak var connection: Connection?
    /// The number of each scope on this connection.
    private var numbers: [ScopeId: Int64] = [:]
    private var removed: Set<Int64> = []
    private var lastNumber: Int64 = 0
    private var lastRequest = 0
    /// Of the last request.
    private var lastWaitMs: Int64 = 0
    private var newest: LiveExchange?
    private var failures = 0
    private var pause: LoopTimer?

    init(_ core: ClientCore, _ owner: any LiveFeedOwner) {
        self.core = core
        self.owner = owner
    }

    /// Sends a request with this turn: scopes have changed, or the position has to move.
    func request() {
        let isIdle = owner?.after == nil && (hasScopes || removed.isEmpty)
        if isIdle || newest?.isUnsent == true { return }
        core.loop.cancel(pause)
        let exchange = LiveExchange(core, self)
        newest = exchange
        core.connector.dispatcher.submit(exchange)
    }

    /// A request that fits the present positions is to be under way.
    func ensure() {
        guard let owner else { return }
        let fits = newest.map { !$0.settled && ($0.isUnsent || $0.after <= owner.after ?? 0) } ?? false
        if !fits || owner.isBehind { request() }
    }

    /// The last answer has been applied: asks for the changes after it.
    func goOn(_ answer: LiveAnswer) {
        guard let newest, newest.settled else { return }
        // A node that waits for nothing, or is far behind, is not asked again at once.
        let isIdle = answer.to == newest.after && answer.changes.isEmpty && lastWaitMs > 0
        if isIdle { requestLater() } else { request() }
    }

    /// A scope is not watched any more.
    func remove(_ scope: ScopeId) {
        unname(scope)
        if !removed.isEmpty { request() }
    }

    func close() {
        core.loop.cancel(pause)
    }

    private var hasScopes: Bool { owner?.scopes.isEmpty == false }

    private func unname(_ scope: ScopeId) {
        if let number = numbers.removeValue(forKey: scope) { removed.insert(number) }
        owner?.unnamed(scope)
    }

    private func requestLater() {
        let jitterMs = fullJitterMs(
            core.loop.random, attempt: failures, baseMs: Self.retryBaseMs, capMs: Self.retryCapMs)
        failures += 1
        core.loop.cancel(pause)
        pause = core.loop.after(Self.retryBaseMs + jitterMs) { [weak self] in self?.request() }
    }

    /// After new scopes, the position moves at once to the time of their first read.
    private func patienceMs(_ add: [WatchedScope]) -> Int64 {
        if !add.isEmpty { return 0 }
        if owner?.isBehind != true { return Self.waitMs }
        return lastWaitMs == 0 ? Self.behindMs : 0
    }

    private func begin(_ connection: Connection) {
        self.connection = connection
        numbers = [:]
        removed = []
        for scope in owner?.scopes.keys.map({ $0 }) ?? [] { owner?.unnamed(scope) }
    }

    /// Names the scopes that the node does not have, as many as fit into a message.
    private func additions(_ exchange: LiveExchange) -> (add: [WatchedScope], isWhole: Bool) {
        let missing = (owner?.scopes ?? [:]).filter { numbers[$0.key] == nil }.sorted { $0.key < $1.key }
        var left = core.limits.get().maxRequestBytes / Self.partOfMessage
        var add: [WatchedScope] = []
        for (id, range) in missing {
            left -= range.bytes
            if left < 0, !add.isEmpty { return (add, false) }
            lastNumber += 1
            numbers[id] = lastNumber
            exchange.added[id] = lastNumber
            add.append(WatchedScope(watch: lastNumber, range: range))
        }
        return (add, true)
    }
}

extension LiveFeed: LiveRequests {
    func isNewest(_ exchange: LiveExchange) -> Bool { exchange === newest }

    func request(_ exchange: LiveExchange, on connection: Connection) -> LiveRequest {
        if connection !== self.connection { begin(connection) }
        lastRequest += 1
        exchange.number = lastRequest
        exchange.added = [:]
        let (add, isWhole) = additions(exchange)
        defer { removed = [] }
        if !isWhole { core.loop.atTurnsEnd { [weak self] in self?.request() } }
        lastWaitMs = patienceMs(add)
        let after = owner?.after ?? core.ust
        return LiveRequest(after: after, add: add, remove: removed.sorted(), waitMs: lastWaitMs)
    }

    func answered(_ exchange: LiveExchange, _ answer: LiveAnswer) {
        failures = 0
        // A request behind one that named a scope may be answered before that one is refused.
        let named = exchange.added.filter { numbers[$0.key] == $0.value }.map(\.key)
        owner?.named(named, by: exchange.number)
        for scope in answer.ended {
            owner?.refused(Set(numbers.filter { $0.value == scope.watch }.map(\.key)), scope.error)
        }
        owner?.answered(LiveAsked(number: exchange.number, after: exchange.after), answer)
    }

    /// The node may have dropped any of the scopes: all are named again, under new numbers.
    func refused(_ exchange: LiveExchange) {
        // It drops those of a client without scopes at the latest with the connection.
        guard hasScopes, let owner else { return }
        for id in owner.scopes.keys.sorted() { unname(id) }
        removed.formUnion(exchange.removed)
        if newest?.isUnsent != true { requestLater() }
    }

    func failed(_ exchange: LiveExchange, _ error: IsochronError) {
        guard let owner else { return }
        let isGone = error.code == .changesGone || error.code == .snapshotTooOld
        if isGone, exchange.after == owner.after { return owner.gone() }
        guard isNewest(exchange) else { return }
        if isGone {
            if owner.after != nil { request() }
        } else if error.retryable {
            requestLater()
        } else {
            refuse(exchange, error, owner)
        }
    }

    private func refuse(_ exchange: LiveExchange, _ error: IsochronError, _ owner: any LiveFeedOwner) {
        let scopes = Set(exchange.added.isEmpty ? owner.scopes.keys.map { $0 } : exchange.added.keys.map { $0 })
        owner.refused(scopes, error)
        if !owner.scopes.isEmpty { request() }
    }
}
