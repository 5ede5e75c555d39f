import IsochronSession

/// The transaction whose function runs in this task, also in child tasks of the function.
enum RunningTransaction {
    @TaskLocal static var state: TransactionState?
}

/// The state that the views of one transaction share.
@SessionActor
final class TransactionState: HandleSource {
    nonisolated let lifetime: Lifetime
    nonisolated let id: TxId
    let handle: Handle
    /// Writes from outside of the actor. Nil after the end of the transaction.
    private nonisolated let written = Locked<NewWrites?>(NewWrites())
    /// Updates that the function may not have awaited.
    private var updates = 0
    private var onUpdated: CheckedContinuation<Void, Never>?
    /// Error of a failed update, awaited or not: the commit must not happen.
    private var failedUpdate: (any Error)?

    init(_ lifetime: Lifetime, at: Timestamp?) throws {
        self.lifetime = lifetime
        if let at, !isTimestamp(at) { throw IsochronError(.invalidRequest, "\(at) is no timestamp") }
        handle = try lifetime.driver.begin(.transaction, at: at)
        id = handle.snapshot.tx.id
    }

    /// Throws INVALID_REQUEST inside the function of a transaction of this client: an outside write is not part of it.
    nonisolated static func checkOutside(_ lifetime: Lifetime) throws {
        guard let current = RunningTransaction.state, current.lifetime.driver === lifetime.driver,
            current.written.get() != nil
        else { return }
        throw IsochronError(.invalidRequest, "in a transaction, write with tx.set")
    }

    /// Writes, from any thread. Throws TRANSACTION_FINISHED, and UPDATE_INVALID for the update that exceeds the limit of
    /// operations of its key.
    nonisolated func write(_ key: QualifiedKey, _ content: Content) throws {
        try written.change { writes in
            if writes == nil { throw Self.finished }
            try writes?.append(KeyWrite(key: key, content: content))
        }
    }

    /// The handle, with all writes so far.
    func borrow() throws -> Handle {
        try take { $0?.take() }
    }

    /// Like `borrow`, and later writes are refused.
    private func close() throws -> Handle {
        try take { writes in
            defer { writes = nil }
            return writes?.take()
        }
    }

    private func take(_ writes: (inout NewWrites?) -> [KeyWrite]?) throws -> Handle {
        guard let writes = written.change(writes) else { throw Self.finished }
        for write in writes { handle.snapshot.tx.write(write.key, write.content) }
        return handle
    }

    func read(_ keys: [QualifiedKey]) async throws -> [Value?] {
        try await driver.read(try borrow(), keys)
    }

    func giveBack(_ handle: Handle) {}

    func update(_ key: QualifiedKey, _ change: @Sendable (Value?, Limits) throws -> Value) async throws {
        updates += 1
        defer {
            updates -= 1
            if updates == 0 {
                onUpdated?.resume()
                onUpdated = nil
            }
        }
        do {
            let current = try await read([key]).first ?? nil
            try write(key, .put(try change(current, lifetime.driver.limits.get())))
        } catch {
            failedUpdate = failedUpdate ?? error
            throw error
        }
    }

    /// The function has returned: later writes are refused. Returns the handle if there is something to commit.
    func finish() async throws -> Handle? {
        do {
            if updates > 0 { await withCheckedContinuation { onUpdated = $0 } }
            if let failedUpdate { throw failedUpdate }
            try Task.checkCancellation()
            let handle = try close()
            try Scope.check(count: handle.snapshot.tx.writes.count, lifetime.driver.limits.get())
            if handle.snapshot.tx.hasWrites { return handle }
            driver.end(handle)
            return nil
        } catch {
            abort()
            throw error
        }
    }

    /// Aborts the transaction.
    func abort() {
        written.set(nil)
        driver.end(handle)
    }

    private nonisolated static var finished: IsochronError {
        IsochronError(.transactionFinished, "the transaction has ended")
    }
}

/// The writes of a transaction that are not yet in its handle.
private struct NewWrites: Sendable {
    private var writes: [KeyWrite] = []
    /// The operations of each key, of writes in the handle too: those of a key are one update.
    private var counts: [ExactString: Int] = [:]

    /// Throws UPDATE_INVALID.
    mutating func append(_ write: KeyWrite) throws {
        let name = ExactString(write.key)
        var count = write.content.operationCount
        if case .update = write.content { count += counts[name] ?? 0 }
        if let problem = Update.problem(ofCount: count) { throw IsochronError(.updateInvalid, problem) }
        counts[name] = count
        writes.append(write)
    }

    mutating func take() -> [KeyWrite] {
        defer { writes = [] }
        return writes
    }
}

/// The result of a transaction.
private struct Ran<Output: Sendable>: Sendable {
    let result: Output
    let write: Write?
}

/// Runs a function once in a transaction, and commits its writes.
func runTransaction<Output: Sendable>(
    _ lifetime: Lifetime, _ scope: Scope, _ at: Timestamp?, _ id: String?,
    _ run: (CausalTransaction) async throws -> Output,
    isolation: isolated (any Actor)? = #isolation
) async throws -> (result: Output, write: Write?) {
    try Task.checkCancellation()
    let returned = Locked<Output?>(nil)
    let write: () async throws -> Ran<Output> = {
        let state = try await TransactionState(lifetime, at: at)
        let result: Output
        do {
            result = try await RunningTransaction.$state.withValue(state) {
                try await run(CausalTransaction(state, scope))
            }
        } catch {
            await state.abort()
            throw error
        }
        returned.set(result)
        guard let handle = try await state.finish() else { return Ran(result: result, write: nil) }
        return Ran(result: result, write: Write(lifetime, try await lifetime.driver.commit(handle)))
    }
    let ran = try await once(id, in: lifetime.driver.named, write) { commit in
        returned.get().map { Ran(result: $0, write: Write(lifetime, commit)) }
    }
    return (ran.result, ran.write)
}
