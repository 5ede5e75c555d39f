import IsochronSession

/// The ordered work of a session. If nodes chain commits, a write is sent behind earlier ones, and begins above them
/// once they have committed; else it is not sent until the outcome of the one before is known, because it might be
/// ordered before that.
@SessionActor
final class CommitQueue {
    /// Makes the exchange when its turn has come. `ended` has to be called once its outcome is known, or cannot be
    /// determined any more.
    typealias Begin<Outcome: Sendable> = @SessionActor (_ ended: @escaping Ended) throws -> QueuedExchange<Outcome>
    /// Called with the timestamp of a commit; nil for a read, and for a write that is not known to have committed.
    typealias Ended = @SessionActor (_ committedAt: Timestamp?) -> Void

    /// Largest number of writes under way.
    private static let maxChained = 128

    private let loop: Loop
    private let requestTimeoutMs: Double
    private let dispatcher: Dispatcher
    /// Whether nodes chain commits.
    private let chains: @SessionActor () -> Bool
    /// The session's commits that are made again, before anything that waits here.
    private let recommits: Recommits
    /// Called when `writes` may have changed.
    private let changed: @SessionActor () -> Void
    private var queue: [any Queued] = []
    /// The exchanges under way, in order. Only the first one may have had an effect without those behind it.
    private var chain: [any Queued] = []
    /// Writes that their session does not wait for any more. Their outcomes are still asked for.
    private var detached: [any Queued] = []
    private var isClosed = false
    private var lastNumber: WriteNumber = 0
    /// Live queries, while there are any.
    weak var follower: (any WriteFollower)?

    init(
        _ loop: Loop, requestTimeoutMs: Double, _ dispatcher: Dispatcher, _ recommits: Recommits,
        chains: @escaping @SessionActor () -> Bool, changed: @escaping @SessionActor () -> Void
    ) {
        self.loop = loop
        self.requestTimeoutMs = requestTimeoutMs
        self.dispatcher = dispatcher
        self.recommits = recommits
        self.chains = chains
        self.changed = changed
    }

    /// Number of writes without a known outcome, including those that wait for their turn.
    var writes: Int { pending.count }

    /// The states of these writes, of detached ones first; nil before a write's turn.
    var states: [[CommitState]?] { pending.map(\.states) }

    /// Time since the oldest of them was requested; nil without one.
    func oldestWriteMs(_ nowMs: Double) -> Double? {
        pending.map(\.queuedMs).min().map { max(0, nowMs - $0) }
    }

    /// The undecided writes of the session, in their order.
    var undecided: [(number: WriteNumber, writes: [KeyWrite])] {
        (chain + queue).filter(\.isWrite).map { ($0.number, $0.writes ?? []) }
    }

    /// The session's writes that may have had an effect, and are not decided.
    var inDoubt: Set<WriteNumber> { Set(chain.filter(\.isInDoubt).map(\.number)) }

    /// Whether this write has been sent, and is repeated until its outcome is known.
    func isUnderWay(_ txId: TxId) -> Bool {
        (detached + chain).contains { job in
            job.txId.map { isSameText($0, txId) } ?? false
        }
    }

    /// The transaction before this one, while that is not decided.
    func before(_ exchange: Exchange) -> TxId? {
        guard let at = chain.firstIndex(where: { $0.exchange === exchange }), at > 0 else { return nil }
        return chain[at - 1].txId
    }

    /// Gives up the order behind the first write under way, if its outcome is not known, so that later ones continue.
    /// Returns its id.
    ///
    /// - Parameter renew: replaces the session by another one
    func detach(_ renew: @SessionActor () throws -> Void) rethrows -> TxId? {
        guard let head = chain.first, head.isInDoubt else { return nil }
        try renew()
        head.detach()
        follower?.dropped(head.number)
        detached.append(head)
        leave(head, committed: false)
        return head.txId
    }

    /// Begins when its turn has come. A cancellation before that leaves no effect; later it goes to the exchange.
    ///
    /// - Parameters:
    ///   - writes: what it writes; nil for a read
    ///   - drop: called when it is withdrawn before its turn
    func enqueue<Outcome: Sendable>(
        writes: [KeyWrite]?, drop: @escaping @SessionActor () -> Void = {}, begin: @escaping Begin<Outcome>,
        _ caller: @escaping Caller<Outcome>
    ) -> (any Cancellable)? {
        if isClosed {
            caller(.failure(IsochronError.clientWasClosed))
            return nil
        }
        lastNumber += 1
        let job = QueueEntry(
            number: lastNumber, writes: writes, queuedMs: loop.nowMs, begin: begin, drop: drop, caller)
        job.withdrawn = { [weak self] job, reason in self?.withdraw([job], reason) }
        queue.append(job)
        if let writes { follower?.called(job.number, writes) }
        changed()
        next()
        return job
    }

    /// Rejects entries that have waited too long without being sent, and all writes behind them. Returns whether any
    /// entry waits.
    func sweep(_ nowMs: Double) -> Bool {
        let behind = chain.dropFirst().filter { !$0.isInDoubt }
        if queue.isEmpty, behind.isEmpty { return false }
        let isStuck = isHeadOverdue
        let offlineSinceMs = dispatcher.offlineSinceMs
        if !isStuck, offlineSinceMs == nil { return true }
        let sinceMs = isStuck ? 0 : offlineSinceMs ?? 0
        let isLate = { [requestTimeoutMs] (job: any Queued) in
            max(job.queuedMs, sinceMs) + requestTimeoutMs <= nowMs
        }
        if let turn = behind.first(where: isLate)?.exchange {
            rejectFrom(turn, lateError)
        } else {
            rejectWaiting(isLate, lateError)
        }
        return true
    }

    /// A write is rejected without an effect because its time is over. None of the writes behind it has had one, and
    /// none will: a reader must not see a later write of the session without an earlier one.
    func rejectFrom(_ turn: Exchange, _ reason: any Error) {
        guard let at = chain.firstIndex(where: { $0.exchange === turn }) else { return turn.failed(reason) }
        rejectWaiting({ $0.isWrite }, reason)
        // The last one first, or each would move up only to be rejected.
        for job in Array(chain[at...]).reversed() { job.endsWithout(reason) }
    }

    /// Rejects the waiting entries that are late, and the writes behind the first late write.
    private func rejectWaiting(_ isLate: (any Queued) -> Bool, _ reason: any Error) {
        let first = queue.firstIndex { $0.isWrite && isLate($0) } ?? queue.count
        let those = queue.enumerated().filter { at, job in isLate(job) || (at >= first && job.isWrite) }
        withdraw(those.map(\.element), reason)
    }

    /// Takes no further entries, and ends those that wait to read.
    func drain() {
        isClosed = true
        withdraw(queue.filter { !$0.isWrite }, IsochronError.clientWasClosed)
    }

    /// Whether nothing waits or is under way.
    var isEmpty: Bool { queue.isEmpty && chain.isEmpty && detached.isEmpty }

    /// Rejects all waiting entries; the writes under way are given up next.
    func close() -> CloseReport {
        let begun = (detached + chain).filter { $0.txId != nil }
        // The session goes on without the detached ones.
        let dropped = chain.filter { $0.txId != nil && !$0.isInDoubt } + queue
        let undecided = begun.filter(\.isInDoubt).compactMap { job in
            job.txId.map { CloseReport.UndecidedWrite(txId: $0, sentAfter: job.sentAfter) }
        }
        let report = CloseReport(dropped: dropped.compactMap(\.writes).map { $0.map(\.key) }, undecided: undecided)
        withdraw(queue, IsochronError.clientWasClosed)
        return report
    }

    /// All exchanges have ended: releases writes whose outcome will not be known.
    func forget() {
        chain = []
        detached = []
    }

    private var pending: [any Queued] {
        (detached + chain + queue).filter(\.isWrite)
    }

    /// The error of entries that were not sent in time.
    private var lateError: IsochronError {
        guard isHeadOverdue, let txId = recommits.current?.txIdOfWrite ?? chain.first?.txId,
            let sentAfter = recommits.current?.sentAfterOfWrite ?? chain.first?.sentAfter
        else { return .late(isOffline: true) }
        return .sessionBlocked(by: txId, sentAfter)
    }

    /// Whether the caller of the first write, which all others wait for, has got OUTCOME_UNKNOWN.
    private var isHeadOverdue: Bool {
        recommits.current?.isOverdue ?? chain.first?.isOverdue ?? false
    }

    /// Begins waiting entries, as far as those under way allow it.
    private func next() {
        while !queue.isEmpty, takesMore {
            let job = queue.removeFirst()
            guard job.make({ [weak self, weak job] committedAt in self?.ended(job, committedAt) }) else {
                follower?.dropped(job.number)
                continue
            }
            chain.append(job)
            if chain.count == 1 { lead() }
            job.start(dispatcher)
        }
    }

    private var takesMore: Bool {
        if recommits.isNeeded { return false }
        guard let head = chain.first, let last = chain.last else { return true }
        return chain.count < Self.maxChained && !head.isOverdue && !last.isHeld && chains()
    }

    /// All entries before the first one are decided: it may take as long as a request may.
    private func lead() {
        guard let head = chain.first else { return }
        let sinceMs = dispatcher.offlineSinceMs.map { max(head.queuedMs, $0) } ?? loop.nowMs
        head.lead(deadlineMs: sinceMs + requestTimeoutMs)
    }

    /// The exchange has ended, with or without a commit.
    private func ended(_ job: (any Queued)?, _ committedAt: Timestamp?) {
        if let at = detached.firstIndex(where: { $0 === job }) {
            detached.remove(at: at)
            changed()
        } else if let job {
            if let committedAt, let txId = job.txId {
                follower?.committed(job.number, Origin(ts: committedAt, txId: txId))
            } else {
                follower?.dropped(job.number)
            }
            leave(job, committed: committedAt != nil)
        }
    }

    /// Removes an entry, and begins the next one.
    private func leave(_ job: any Queued, committed: Bool) {
        guard let at = chain.firstIndex(where: { $0 === job }) else { return }
        chain.remove(at: at)
        if at < chain.count {
            if !committed { chain[at].orphan() }
            if at == 0 {
                lead()
                resumeHeld()
            }
        }
        changed()
        next()
    }

    /// Nothing that was written before is deferred any more: the session's writes go on.
    func resume() {
        follower?.resumed()
        resumeHeld()
        changed()
        next()
    }

    /// A write that was refused for another reason comes again at its time.
    private func resumeHeld() {
        for one in chain where one.isHeld { one.exchange.map(dispatcher.resume) }
    }

    private func withdraw(_ those: [any Queued], _ error: any Error) {
        let gone = those.filter { one in queue.contains { $0 === one } }
        if gone.isEmpty { return }
        queue.removeAll { queued in gone.contains { $0 === queued } }
        for job in gone {
            follower?.dropped(job.number)
            job.withdraw(error)
        }
        changed()
    }
}

/// What a client left undone when it closed.
public struct CloseReport: Hashable, Sendable {
    /// A write that may have had an effect.
    public struct UndecidedWrite: Hashable, Sendable {
        /// Its transaction.
        public let txId: TxId
        /// The stable time when it was made.
        public let sentAfter: Timestamp?
    }

    /// The keys, with their keyspaces, of each write that had no effect; in the order of the calls.
    public let dropped: [[String]]
    /// The writes that may have had an effect: `transactionStatus` of another client has their outcomes.
    public let undecided: [UndecidedWrite]
}

/// Follows the writes of a session from their calls to their ends.
@SessionActor
protocol WriteFollower: AnyObject {
    func called(_ number: WriteNumber, _ writes: [KeyWrite])
    func committed(_ number: WriteNumber, _ version: Origin)
    /// A commit that was deferred is committed again, as this version.
    func moved(_ version: Origin)
    /// Nothing is deferred any more.
    func resumed()
    /// It has had no effect, or its session goes on without it.
    func dropped(_ number: WriteNumber)
}

/// An exchange that has its turn.
@SessionActor
class QueuedExchange<Outcome: Sendable>: AwaitedExchange<Outcome> {
    /// Its caller got OUTCOME_UNKNOWN; it continues in the background.
    var isOverdue: Bool { false }
    /// Transaction id of a write; nil for a read.
    var txIdOfWrite: TxId? { nil }
    /// Stable time when it was made; nil for a read.
    var sentAfterOfWrite: Timestamp? { nil }
    /// The states of a write; nil for a read.
    var statesOfWrite: [CommitState]? { nil }
    /// Whether it may have had an effect, and its outcome is not known.
    var isInDoubt: Bool { false }
    /// Waits until the one before it is decided: it was refused behind that one.
    var isHeld: Bool { false }
    /// Its session continues without it.
    func detach() {}
    /// The one before it has ended, and is not known to have committed.
    func orphan() {}
    /// All before it are decided.
    func lead() {}
    /// It is known to have had no effect: rejects, whatever its own exchange knows.
    func endsWithout(_ reason: any Error) { failed(reason) }
}

/// An entry that waits for its turn, or has it.
@SessionActor
private protocol Queued: AnyObject {
    var number: WriteNumber { get }
    /// Nil for a read.
    var writes: [KeyWrite]? { get }
    var queuedMs: Double { get }
    var txId: TxId? { get }
    var sentAfter: Timestamp? { get }
    /// Nil before its turn, and for a read.
    var states: [CommitState]? { get }
    var isOverdue: Bool { get }
    var isInDoubt: Bool { get }
    var isHeld: Bool { get }
    /// Nil before its turn.
    var exchange: Exchange? { get }
    /// Its session continues without it.
    func detach()
    /// The one before it has ended, and is not known to have committed.
    func orphan()
    /// All before it are decided.
    func lead(deadlineMs: Double)
    /// Its turn has come. False if it has failed at once.
    func make(_ ended: @escaping CommitQueue.Ended) -> Bool
    func start(_ dispatcher: Dispatcher)
    /// Fails an entry that has had no effect.
    func endsWithout(_ error: any Error)
    /// Withdraws the entry.
    func withdraw(_ error: any Error)
}

extension Queued {
    fileprivate var isWrite: Bool { writes != nil }
}

@SessionActor
private final class QueueEntry<Outcome: Sendable>: Queued, Cancellable {
    let number: WriteNumber
    let writes: [KeyWrite]?
    let queuedMs: Double
    /// Takes it out of the queue, if it is still there.
    var withdrawn: @SessionActor (any Queued, any Error) -> Void = { _, _ in }
    private var caller: Caller<Outcome>?
    private let begin: CommitQueue.Begin<Outcome>
    private let drop: @SessionActor () -> Void
    private var turn: QueuedExchange<Outcome>?

    init(
        number: WriteNumber, writes: [KeyWrite]?, queuedMs: Double, begin: @escaping CommitQueue.Begin<Outcome>,
        drop: @escaping @SessionActor () -> Void, _ caller: @escaping Caller<Outcome>
    ) {
        self.number = number
        self.writes = writes
        self.queuedMs = queuedMs
        self.begin = begin
        self.drop = drop
        self.caller = caller
    }

    var txId: TxId? { turn?.txIdOfWrite }

    var sentAfter: Timestamp? { turn?.sentAfterOfWrite }

    var states: [CommitState]? { turn?.statesOfWrite }

    var isOverdue: Bool { turn?.isOverdue ?? false }

    var isInDoubt: Bool { turn?.isInDoubt ?? false }

    var isHeld: Bool { turn?.isHeld ?? false }

    var exchange: Exchange? { turn }

    func detach() { turn?.detach() }

    func orphan() { turn?.orphan() }

    func endsWithout(_ error: any Error) { turn?.endsWithout(error) }

    func lead(deadlineMs: Double) {
        turn?.deadlineMs = deadlineMs
        turn?.lead()
    }

    func make(_ ended: @escaping CommitQueue.Ended) -> Bool {
        do {
            turn = try begin(ended)
            return true
        } catch {
            withdraw(IsochronError.of(error))
            return false
        }
    }

    func start(_ dispatcher: Dispatcher) {
        turn?.run({ dispatcher.submit($0) }, { [self] result in end(result) })
    }

    func cancel(_ reason: any Error) {
        if let turn { turn.cancel(reason) } else { withdrawn(self, reason) }
    }

    func withdraw(_ error: any Error) {
        drop()
        end(.failure(error))
    }

    private func end(_ result: Result<Outcome, any Error>) {
        let caller = self.caller
        self.caller = nil
        caller?(result)
    }
}
