import IsochronSession

/// The inputs that fix the cohorts of an attempt: unchanged from its first send on.
struct Cohorts: Hashable, Sendable {
    let home: RegionId
    /// Regions that did not answer the node when the attempt was made.
    let avoid: [RegionId]
}

extension Connection {
    /// The inputs of a new attempt on this connection.
    fileprivate var cohorts: Cohorts { Cohorts(home: region, avoid: avoid) }
}

/// A write: repeated, unchanged, until its outcome is known.
@SessionActor
class OutcomeExchange: QueuedExchange<Committed> {
    /// Answers after which nothing can have happened: the node refused before it began.
    private static let notStarted: Set<IsochronError.Code> = [
        .notReady, .creditsExhausted, .rateLimited, .snapshotUnavailable, .sessionBlocked, .credentialsUnavailable,
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
    private var attempts: [Cohorts] = []
    /// It may have had an effect.
    private var inDoubt = false
    private var wasInDoubt = false
    /// Whether it has been sent before.
    private(set) var sent = false
    private var overdue = false
    /// Its session continues without it, and does not receive its outcome.
    private(set) var isDetached = false
    /// It was refused behind the one before it, and waits until that one is decided.
    private var held = false
    /// The write before it has ended, and is not known to have committed.
    private var orphaned = false
    private var aborted = 0
    private var refusals = 0
    /// Number of sends whose answers were overdue.
    private var unanswered = 0
    private var outcomeDeadlineMs = Double.infinity
    private var lastError: IsochronError?
    /// The eventual status in its caller's OUTCOME_UNKNOWN.
    private var outcome: EventualStatus?

    /// - Parameter ended: called when the outcome is known, or cannot be determined any more
    init(_ core: ClientCore, txId: TxId, sentAfter: Timestamp, ended: @escaping CommitQueue.Ended) {
        self.core = core
        self.txId = txId
        self.sentAfter = sentAfter
        self.ended = ended
    }

    final override var isWrite: Bool { true }

    final override var isOverdue: Bool { overdue }

    final override var txIdOfWrite: TxId? { txId }

    final override var sentAfterOfWrite: Timestamp? { sentAfter }

    final override var isInDoubt: Bool { inDoubt && !settled }

    final override var isHeld: Bool { held }

    final override func detach() {
        isDetached = true
    }

    final override func orphan() {
        orphaned = true
    }

    override func lead() {
        if inDoubt { deadlineMs = answerDueMs(core.loop.nowMs) }
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
        Self.attemptAborted.contains(error.code) && !(error.retryable && wasInDoubt)
    }

    override func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        lastError = error
        refusals += 1
        if Self.notStarted.contains(error.code) { notBegun() }
        if error.code == .sessionBlocked, before != nil {
            if !inDoubt { outcomeDeadlineMs = .infinity }
            deadlineMs = outcomeDeadlineMs
            held = true
            return Retry(refusals: nil, elsewhere: .nowhere)
        }
        if error.code == .attemptMismatch, attempts.count > 1 {
            attempts.removeLast()
            return retry(.nowhere)
        }
        if isAborted(error) { return nextAttempt(error, connection) }
        if !error.retryable {
            // It is about this send alone: an earlier one may have had an effect.
            inDoubt = wasInDoubt
            return nil
        }
        if error.code == .outcomePending { return retry(isStuck(at: connection) ? .region : .nowhere) }
        if error.code == .rateLimited { return retry(.nowhere) }
        return retry(error.code == .notReady || refusals % 3 == 0 ? .node : .nowhere)
    }

    /// No answer in time: a write that was not refused may have happened.
    final override func expired(_ late: IsochronError) -> Bool {
        let now = core.loop.nowMs
        if !inDoubt {
            core.queue.rejectFrom(self, lastError ?? late)
            return true
        }
        if now >= outcomeDeadlineMs, !overdue { unknown("no answer before the deadline", lastError) }
        // The connection is alive but owes this answer for too long: ask on another one.
        if before == nil, core.connector.suspect(self) { unanswered += 1 }
        deadlineMs = answerDueMs(now)
        return false
    }

    final override func clientRefused(_ error: IsochronError) -> Bool {
        if inDoubt { unknown(error.message, error) } else { failed(error) }
        return !inDoubt
    }

    final override func cancel(_ reason: any Error) {
        // Once the outcome is known, nothing is in doubt any more.
        if settled { return }
        if inDoubt { unknown("the caller gave up waiting", reason) } else { failed(reason) }
    }

    /// A write that it was sent behind has never begun, so neither has this one.
    final override func endsWithout(_ reason: any Error) {
        inDoubt = false
        failed(reason)
    }

    /// It is known to have had no effect, or its outcome cannot be determined any more.
    final override func failed(_ error: any Error) {
        if settled { return }
        // A too large send never left, but an earlier one may have been smaller.
        if let reason = error as? IsochronError, reason.code == .requestTooLarge { inDoubt = wasInDoubt }
        if inDoubt, let reason = error as? IsochronError, Self.isOfSending(reason) { unknown(reason.message, reason) }
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
    final func sending(on connection: Connection) -> [Cohorts] {
        let home = attempts.last?.home
        // The lower bound of the attempt before is not known: the next one waits until that one is given up.
        if home.map({ orphaned || mustMove(from: $0, on: connection) }) ?? true { addAttempt(connection.cohorts) }
        held = false
        orphaned = false
        wasInDoubt = inDoubt
        inDoubt = true
        let now = core.loop.nowMs
        if !outcomeDeadlineMs.isFinite { outcomeDeadlineMs = now + core.settings.commitTimeoutMs }
        sent = true
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

    /// The last send had no effect. If it was the only one, the next send may still choose the commit's home.
    final func notBegun() {
        inDoubt = wasInDoubt
        if !inDoubt, attempts.count == 1 { attempts = [] }
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
        inDoubt = false
        aborted += 1
        let most = error.retryable ? Self.maxAttempts : Self.maxAbortedAttempts
        if aborted > most || attempts.count >= Self.maxAttempts { return nil }
        attempts.append(connection.cohorts)
        return retry(error.retryable && refusals % 3 == 0 ? .node : .nowhere)
    }

    /// The cohorts do not decide. At home the region may be cut off from one of them, unlike another region: returns
    /// whether to ask there. Elsewhere, or if other regions have to be avoided by now, other cohorts become the next
    /// attempt; it begins only when a cohort of the old one has durably given that up, so an early request is harmless.
    private func isStuck(at connection: Connection) -> Bool {
        let next = connection.cohorts
        if next == attempts.last { return attempts.count == 1 }
        addAttempt(next)
        return false
    }

    private func unknown(_ why: String, _ cause: (any Error)?) {
        if overdue { return }
        overdue = true
        let outcome = EventualStatus()
        self.outcome = outcome
        settleCaller(.failure(IsochronError.outcomeUnknown(txId, sentAfter, why, cause, outcome)))
    }

    private func addAttempt(_ cohorts: Cohorts) {
        if attempts.count < Self.maxAttempts { attempts.append(cohorts) }
    }
}
