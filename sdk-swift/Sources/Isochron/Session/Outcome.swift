import IsochronSession

/// A state of a write: of its effect, of its order, or of its audience. The table with the meanings of all states, and
/// the reasons of their moves, is that of the TypeScript client (`outcome.ts`).
enum CommitState: String, CaseIterable {
    case chained
    case sent
    case inDoubt
    case held
    case heldInDoubt
    case ordered
    case orphaned
    case awaited
    case overdue
    case detached

    /// The states that can follow.
    var next: [CommitState] {
        switch self {
        case .chained: [.sent, .held]
        case .sent: [.chained, .inDoubt]
        case .inDoubt: [.chained, .inDoubt, .heldInDoubt]
        case .held: [.sent]
        case .heldInDoubt: [.inDoubt]
        case .ordered: [.orphaned]
        case .orphaned: [.ordered]
        case .awaited: [.overdue, .detached]
        case .overdue: [.detached]
        case .detached: []
        }
    }
}

/// A write: repeated, unchanged, until its outcome is known.
@SessionActor
class OutcomeExchange: QueuedExchange<Committed> {
    /// Answers after which nothing can have happened: the node refused before it began.
    private static let notStarted: Set<IsochronError.Code> = [
        .notReady, .creditsExhausted, .rateLimited, .snapshotUnavailable, .sessionGap, .sessionBlocked,
        .credentialsUnavailable,
    ]
    /// A cohort has recorded that this attempt never commits: nothing of it has happened, and another attempt may
    /// commit.
    private static let attemptAborted: Set<IsochronError.Code> = [
        .transactionAborted, .overloaded, .storageFull, .clockDrift,
    ]
    /// Aborted attempts, as after the crash of a node, before the caller gets the error.
    private static let maxAbortedAttempts = 4
    /// The wire's limit.
    private static let maxAttempts = 16
    /// Number of times that the limit of an answer's delay doubles.
    private static let maxDoublings = 5

    let core: ClientCore
    let txId: TxId
    private let sentAfter: Timestamp
    private let ended: CommitQueue.Ended
    /// The attempts in their order.
    private(set) var attempts: [AttemptCohorts]
    /// The states of the effect, the order and the audience.
    private(set) var states: [CommitState] = [.chained, .ordered, .awaited]
    private var aborted = 0
    private var refusals = 0
    /// Number of sends whose answers were overdue.
    private var unanswered = 0
    private var outcomeDeadlineMs = Double.infinity
    private var lastError: IsochronError?
    /// The eventual status in its caller's OUTCOME_UNKNOWN.
    private var outcome: EventualStatus?

    /// - Parameters:
    ///   - attempts: sent before
    ///   - ended: called when the outcome is known, or cannot be determined any more
    init(
        _ core: ClientCore, txId: TxId, sentAfter: Timestamp, attempts: [AttemptCohorts] = [],
        ended: @escaping CommitQueue.Ended
    ) {
        self.core = core
        self.txId = txId
        self.sentAfter = sentAfter
        self.attempts = attempts
        self.ended = ended
    }

    final override var isWrite: Bool { true }

    final override var isOverdue: Bool { isIn(.overdue) }

    final override var txIdOfWrite: TxId? { txId }

    final override var sentAfterOfWrite: Timestamp? { sentAfter }

    final override var statesOfWrite: [CommitState]? { states }

    /// Whether the write may have had an effect, and that is not decided.
    final override var isInDoubt: Bool { !settled && isIn(.sent, .inDoubt, .heldInDoubt) }

    final override var isHeld: Bool { isIn(.held, .heldInDoubt) }

    final var isDetached: Bool { isIn(.detached) }

    final override func detach() { move(to: .detached) }

    final override func orphan() {
        if isIn(.ordered) { move(to: .orphaned) }
    }

    /// Whether the write is in one of these states.
    private func isIn(_ those: CommitState...) -> Bool {
        those.contains(where: states.contains)
    }

    /// Whether it waits until the session's deferred commits are committed again (M10).
    var isBehindDeferred: Bool { core.isBehind }

    /// A write that is settled does not move any more.
    final func move(to state: CommitState) {
        guard !settled, let at = states.firstIndex(where: { $0.next.contains(state) }) else {
            return assertionFailure("no move to \(state) from \(states)")
        }
        states[at] = state
    }

    override func lead() {
        if isInDoubt { deadlineMs = answerDueMs(core.loop.nowMs) }
    }

    /// The write before this one in the chain, while that one is not decided.
    final var before: TxId? { core.queue.before(self) }

    /// The session continues without it: it has had no effect, or its outcome cannot be determined.
    func gaveUp() {}

    final func committed(_ timestamp: Timestamp) {
        if !isDetached { core.loop.out?.touched(written: true) }
        done(Committed(timestamp: timestamp, txId: txId))
        outcome?.settle(TransactionStatus(state: .committed, timestamp: timestamp))
        ended(timestamp)
    }

    /// Whether the last attempt is known to be aborted. A node without memory refuses with `OVERLOADED` what it has not
    /// looked at: that decides nothing about an earlier sending, whose cohorts are asked again.
    private func isAborted(_ error: IsochronError) -> Bool {
        Self.attemptAborted.contains(error.code) && !(error.retryable && isIn(.inDoubt))
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        lastError = error
        refusals += 1
        if Self.notStarted.contains(error.code) { notBegun() }
        let isDeferred = isBehindDeferred && (error.retryable || Self.attemptAborted.contains(error.code))
        if isDeferred, isIn(.sent) { move(to: .inDoubt) }
        if isDeferred || (error.code == .sessionBlocked && before != nil) {
            if !isInDoubt { outcomeDeadlineMs = .infinity }
            deadlineMs = outcomeDeadlineMs
            move(to: isInDoubt ? .heldInDoubt : .held)
            return Retry(refusals: nil, elsewhere: .nowhere)
        }
        if error.code == .attemptMismatch, attempts.count > 1 {
            attempts.removeLast()
            return retry(.nowhere)
        }
        if isAborted(error) { return nextAttempt(error, connection) }
        if !error.retryable {
            withoutLast()
            return nil
        }
        if error.code == .outcomePending { return retry(isStuck(at: connection) ? .region : .nowhere) }
        if error.code == .rateLimited { return retry(.nowhere) }
        return retry(error.code == .notReady || refusals % 3 == 0 ? .node : .nowhere)
    }

    /// No answer in time: a write that was not refused may have happened.
    final override func expired(_ late: IsochronError) -> Bool {
        let now = core.loop.nowMs
        if !isInDoubt {
            core.queue.rejectFrom(self, lastError ?? late)
            return true
        }
        if now >= outcomeDeadlineMs { unknown("no answer before the deadline", lastError) }
        // The connection is alive but owes this answer for too long: ask on another one.
        if before == nil, core.connector.suspect(self) { unanswered += 1 }
        deadlineMs = answerDueMs(now)
        return false
    }

    final override func clientRefused(_ error: IsochronError) -> Bool {
        if isInDoubt { unknown(error.message, error) } else { failed(error) }
        return settled
    }

    final override func cancel(_ reason: any Error) {
        if isInDoubt { unknown("the caller gave up waiting", reason) } else { failed(reason) }
    }

    /// A write that it was sent behind has never begun, so neither has this one.
    final override func endsWithout(_ reason: any Error) {
        failed(reason, neverBegan: true)
    }

    /// It is known to have had no effect, or its outcome cannot be determined any more.
    final override func failed(_ error: any Error) {
        failed(error, neverBegan: false)
    }

    private func failed(_ error: any Error, neverBegan: Bool) {
        if settled { return }
        let reason = error as? IsochronError
        // A too large send never left, but an earlier one may have been smaller.
        if reason?.code == .requestTooLarge { notBegun() }
        let inDoubt = isInDoubt && !neverBegan
        if inDoubt, let reason, Self.isOfSending(reason) { unknown(reason.message, reason) }
        super.failed(error)
        outcome?.settle(TransactionStatus(state: Self.end(error) ?? (inDoubt ? .unknown : .aborted), timestamp: nil))
        gaveUp()
        ended(nil)
    }

    /// The status of a write that is refused because its outcome cannot be known any more.
    private static func end(_ error: any Error) -> TransactionStatus.State? {
        switch (error as? IsochronError)?.code {
        case .outcomeForgotten, .outcomeLost: .forgotten
        default: nil
        }
    }

    /// Whether a refusal concerns the last send only, while an earlier one may have had an effect.
    private static func isOfSending(_ reason: IsochronError) -> Bool {
        !reason.code.rawValue.hasPrefix("OUTCOME_")
    }

    /// Whether a node does not pass it on to its last home: then the node's own region has to be the next home (D4).
    func mustMove(from home: RegionId, on connection: Connection) -> Bool { false }

    /// Called before a send: returns its attempts.
    final func sending(on connection: Connection) -> [AttemptCohorts] {
        let home = attempts.last?.home
        // The lower bound of the attempt before is not known: the next one waits until that one is given up.
        let isOrphaned = isIn(.orphaned)
        let isNext = home.map { isOrphaned || mustMove(from: $0, on: connection) } ?? true
        if isNext { addAttempt(cohorts(on: connection)) }
        if isOrphaned { move(to: .ordered) }
        move(to: isInDoubt ? .inDoubt : .sent)
        let now = core.loop.nowMs
        if !outcomeDeadlineMs.isFinite { outcomeDeadlineMs = now + core.settings.commitTimeoutMs }
        deadlineMs = answerDueMs(now)
        return attempts
    }

    /// Limit of the next answer's delay: doubles with each repetition, because repetitions would never end if every
    /// node needed longer than the request timeout. Behind another write, that one has to be answered first.
    private func answerDueMs(_ now: Double) -> Double {
        if before != nil { return nextDeadlineMs(now) }
        let dueMs = now + core.settings.requestTimeoutMs * Double(1 << min(unanswered, Self.maxDoublings))
        return min(dueMs, nextDeadlineMs(now))
    }

    /// The last send had no effect: an earlier one may still have had one.
    private func withoutLast() {
        if isIn(.sent) { move(to: .chained) }
    }

    /// The node refused the last send before it began. If it was the only one, the next send may still choose the
    /// commit's home.
    final func notBegun() {
        withoutLast()
        if !isInDoubt, attempts.count == 1 { attempts = [] }
    }

    private func retry(_ elsewhere: Elsewhere) -> Retry {
        Retry(refusals: refusals, elsewhere: elsewhere)
    }

    private func nextDeadlineMs(_ now: Double) -> Double {
        outcomeDeadlineMs > now ? outcomeDeadlineMs : .infinity
    }

    /// Repeats the writes under the same id as the next attempt, up to a limit. A lasting fault is retried for a while,
    /// also elsewhere; a crash between prepares happens once.
    private func nextAttempt(_ error: IsochronError, _ connection: Connection) -> Retry? {
        if !mayBeDeferred {
            move(to: .chained)
        } else if isIn(.sent) {
            move(to: .inDoubt)
        }
        aborted += 1
        let most = error.retryable ? Self.maxAttempts : Self.maxAbortedAttempts
        if aborted > most || attempts.count >= Self.maxAttempts { return nil }
        attempts.append(cohorts(on: connection))
        return retry(error.retryable && refusals % 3 == 0 ? .node : .nowhere)
    }

    /// The cohorts do not decide. At home the region may be cut off from one of them, unlike another region: returns
    /// whether to ask there. Elsewhere, under another map, or if other regions have to be avoided by now, other cohorts
    /// become the next attempt; it begins only when a cohort of the old one has durably given that up, so an early
    /// request is harmless.
    private func isStuck(at connection: Connection) -> Bool {
        let next = cohorts(on: connection)
        if attempts.last == next { return attempts.count == 1 }
        addAttempt(next)
        return false
    }

    private func unknown(_ why: String, _ cause: (any Error)?) {
        if self.outcome != nil { return }
        let outcome = EventualStatus()
        self.outcome = outcome
        if !isDetached { move(to: .overdue) }
        settleCaller(.failure(IsochronError.outcomeUnknown(txId, sentAfter, why, cause, outcome)))
    }

    /// Whether an earlier attempt may be deferred: then the end of the last attempt decides nothing about that (M7).
    private var mayBeDeferred: Bool {
        guard attempts.count > 1, let first = attempts.first else { return false }
        return core.own?.hasCut(after: first.map) == true
    }

    /// The cohorts of a new attempt. Behind deferred commits, it belongs to a map before the cut: the cut defers the
    /// attempt, too (M4).
    private func cohorts(on connection: Connection) -> AttemptCohorts {
        let before = isBehindDeferred ? core.own?.mapBefore : nil
        let map = before.map { min(connection.map, $0) } ?? connection.map
        return AttemptCohorts(home: connection.region, avoid: connection.avoid, map: map)
    }

    private func addAttempt(_ cohorts: AttemptCohorts) {
        if attempts.count < Self.maxAttempts { attempts.append(cohorts) }
    }
}
