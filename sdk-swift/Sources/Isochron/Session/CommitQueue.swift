import IsochronSession

/// What a session does in order. Where nodes chain commits, a write is sent behind the ones before it, and begins above
/// them once they have committed; else it is not sent until the outcome of the one before is known, or it might be
/// ordered before it.
@SessionActor
final class CommitQueue {
    /// Makes the exchange when its turn has come. `ended` is to be called once its outcome is known, or nothing can
    /// find it out any more.
    typealias Begin<Outcome: Sendable> = @SessionActor (_ ended: @escaping Ended) throws -> QueuedExchange<Outcome>
    typealias Ended = @SessionActor (_ committed: Bool) -> Void

    /// Writes that are under way at a time.
    private static let maxChained = 128

    private let loop: Loop
    private let requestTimeoutMs: Double
    private let dispatcher: Dispatcher
    /// Whether nodes chain commits.
    private let chains: @SessionActor () -> Bool
    /// Called when `writes` may have changed.
    private let changed: @SessionActor () -> Void
    private var queue: [any Queued] = []
    /// What is under way, in order. Only the first one may have had an effect that those behind it have not had.
    private var chain: [any Queued] = []
    /// Writes whose session goes on without them. Their outcomes are still asked for.
    private var detached: [any Queued] = []
    private var isClosed = false

    init(
        _ loop: Loop, requestTimeoutMs: Double, _ dispatcher: Dispatcher,
        chains: @escaping @SessionActor () -> Bool, changed: @escaping @SessionActor () -> Void
    ) {
        self.loop = loop
        self.requestTimeoutMs = requestTimeoutMs
        self.dispatcher = dispatcher
        self.chains = chains
        self.changed = changed
    }

    /// Writes whose outcome is not known yet, or that wait for their turn.
    var writes: Int { pending.count }

    /// How long ago the oldest of them was asked for; nil where there is none.
    func oldestWriteMs(_ nowMs: Double) -> Double? {
        pending.map(\.queuedMs).min().map { max(0, nowMs - $0) }
    }

    /// Whether this write has been sent, and is repeated until its outcome is known.
    func isUnderWay(_ txId: TxId) -> Bool {
        (detached + chain).contains { job in
            job.txId.map { isSameText($0, txId) } ?? false
        }
    }

    /// What this one follows: the one before it, while that is not decided.
    func before(_ exchange: Exchange) -> TxId? {
        guard let at = chain.firstIndex(where: { $0.exchange === exchange }), at > 0 else { return nil }
        return chain[at - 1].txId
    }

    /// Gives up the order behind the first write under way, where its outcome is not known: what is behind it goes on.
    /// Returns its id.
    ///
    /// - Parameter renew: makes the session another one
    func detach(_ renew: @SessionActor () throws -> Void) rethrows -> TxId? {
        guard let head = chain.first, head.isInDoubt else { return nil }
        try renew()
        head.detach()
        detached.append(head)
        leave(head, committed: false)
        return head.txId
    }

    /// Begins it when its turn has come. What is taken back before that has no effect; later its exchange is.
    ///
    /// - Parameter drop: it has been taken back
    func enqueue<Outcome: Sendable>(
        writes: Bool, drop: @escaping @SessionActor () -> Void = {}, begin: @escaping Begin<Outcome>,
        _ caller: @escaping Caller<Outcome>
    ) -> (any Cancellable)? {
        if isClosed {
            caller(.failure(IsochronError.clientWasClosed))
            return nil
        }
        let job = QueueEntry(writes: writes, queuedMs: loop.nowMs, begin: begin, drop: drop, caller)
        job.withdrawn = { [weak self] job, reason in self?.withdraw([job], reason) }
        queue.append(job)
        changed()
        next()
        return job
    }

    /// Rejects what has waited too long without being sent. Returns whether anything waits.
    func sweep(_ nowMs: Double) -> Bool {
        let behind = chain.dropFirst().filter { !$0.isInDoubt }
        if queue.isEmpty, behind.isEmpty { return false }
        let isStuck = chain.first?.isOverdue ?? false
        let offlineSinceMs = dispatcher.offlineSinceMs
        if !isStuck, offlineSinceMs == nil { return true }
        let sinceMs = isStuck ? 0 : offlineSinceMs ?? 0
        let isLate = { [requestTimeoutMs] (job: any Queued) in
            max(job.queuedMs, sinceMs) + requestTimeoutMs <= nowMs
        }
        withdraw(queue.filter(isLate), lateError)
        for job in behind.filter(isLate) { job.fail(lateError) }
        return true
    }

    func close() {
        isClosed = true
        withdraw(queue, IsochronError.clientWasClosed)
    }

    /// Everything has ended that will: lets go of writes whose outcome will not be known.
    func forget() {
        chain = []
        detached = []
    }

    private var pending: [any Queued] {
        (detached + chain + queue).filter(\.writes)
    }

    /// Why what waits for its turn was not sent.
    private var lateError: IsochronError {
        if let head = chain.first, head.isOverdue, let txId = head.txId, let sentAfter = head.sentAfter {
            return .sessionBlocked(by: txId, sentAfter)
        }
        return .late(isOffline: true)
    }

    /// Begins what may be under way behind what is.
    private func next() {
        while !queue.isEmpty, takesMore {
            let job = queue.removeFirst()
            guard job.make({ [weak self, weak job] committed in self?.ended(job, committed) }) else { continue }
            chain.append(job)
            if chain.count == 1 { lead() }
            job.start(dispatcher)
        }
    }

    private var takesMore: Bool {
        guard let head = chain.first, let last = chain.last else { return true }
        return chain.count < Self.maxChained && !head.isOverdue && !last.isHeld && chains()
    }

    /// All before the first one are decided: it may take as long as a request may.
    private func lead() {
        guard let head = chain.first else { return }
        let sinceMs = dispatcher.offlineSinceMs.map { max(head.queuedMs, $0) } ?? loop.nowMs
        head.lead(deadlineMs: sinceMs + requestTimeoutMs)
    }

    /// It has ended, one way or the other.
    private func ended(_ job: (any Queued)?, _ committed: Bool) {
        if let at = detached.firstIndex(where: { $0 === job }) {
            detached.remove(at: at)
            changed()
        } else if let job {
            leave(job, committed: committed)
        }
    }

    /// It is the next one's turn.
    private func leave(_ job: any Queued, committed: Bool) {
        guard let at = chain.firstIndex(where: { $0 === job }) else { return }
        chain.remove(at: at)
        if at < chain.count {
            if !committed { chain[at].orphan() }
            if at == 0 {
                lead()
                for one in chain { one.exchange.map(dispatcher.resume) }
            }
        }
        changed()
        next()
    }

    private func withdraw(_ those: [any Queued], _ error: any Error) {
        let gone = those.filter { one in queue.contains { $0 === one } }
        if gone.isEmpty { return }
        queue.removeAll { queued in gone.contains { $0 === queued } }
        for job in gone { job.withdraw(error) }
        changed()
    }
}

/// Whose turn it is.
@SessionActor
class QueuedExchange<Outcome: Sendable>: AwaitedExchange<Outcome> {
    /// Its caller got OUTCOME_UNKNOWN; it goes on in the background.
    var isOverdue: Bool { false }
    /// The id that it writes under; nil for a read.
    var txIdOfWrite: TxId? { nil }
    /// Stable time when it was made; nil for a read.
    var sentAfterOfWrite: Timestamp? { nil }
    /// Whether it may have had an effect, and it is not known whether it has.
    var isInDoubt: Bool { false }
    /// It waits until the one before it is decided: it was refused behind that one.
    var isHeld: Bool { false }
    /// Its session goes on without it.
    func detach() {}
    /// The one before it has ended, and is not known to have committed.
    func orphan() {}
    /// All before it are decided.
    func lead() {}
}

/// What waits for its turn, or has it.
@SessionActor
private protocol Queued: AnyObject {
    var writes: Bool { get }
    var queuedMs: Double { get }
    var txId: TxId? { get }
    var sentAfter: Timestamp? { get }
    var isOverdue: Bool { get }
    var isInDoubt: Bool { get }
    var isHeld: Bool { get }
    /// Nil while it waits for its turn.
    var exchange: Exchange? { get }
    /// Its session goes on without it.
    func detach()
    /// The one before it has ended, and is not known to have committed.
    func orphan()
    /// All before it are decided.
    func lead(deadlineMs: Double)
    /// Its turn has come. False where it has failed at once.
    func make(_ ended: @escaping CommitQueue.Ended) -> Bool
    func start(_ dispatcher: Dispatcher)
    /// It has waited too long.
    func fail(_ error: any Error)
    /// It is taken back.
    func withdraw(_ error: any Error)
}

@SessionActor
private final class QueueEntry<Outcome: Sendable>: Queued, Cancellable {
    let writes: Bool
    let queuedMs: Double
    /// Takes it out of the queue, where it still is in it.
    var withdrawn: @SessionActor (any Queued, any Error) -> Void = { _, _ in }
    private var caller: Caller<Outcome>?
    private let begin: CommitQueue.Begin<Outcome>
    private let drop: @SessionActor () -> Void
    private var turn: QueuedExchange<Outcome>?

    init(
        writes: Bool, queuedMs: Double, begin: @escaping CommitQueue.Begin<Outcome>,
        drop: @escaping @SessionActor () -> Void, _ caller: @escaping Caller<Outcome>
    ) {
        self.writes = writes
        self.queuedMs = queuedMs
        self.begin = begin
        self.drop = drop
        self.caller = caller
    }

    var txId: TxId? { turn?.txIdOfWrite }

    var sentAfter: Timestamp? { turn?.sentAfterOfWrite }

    var isOverdue: Bool { turn?.isOverdue ?? false }

    var isInDoubt: Bool { turn?.isInDoubt ?? false }

    var isHeld: Bool { turn?.isHeld ?? false }

    var exchange: Exchange? { turn }

    func detach() { turn?.detach() }

    func orphan() { turn?.orphan() }

    func fail(_ error: any Error) { turn?.failed(error) }

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
