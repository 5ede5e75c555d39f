import IsochronSession

/// Reads one range through a snapshot handle, without own writes, within the limits of a watch.
@SessionActor
final class ScopeRead {
    private static let pageKeys = 1000

    private let handle: SnapshotHandle
    private let range: LiveRange
    private let caller: Caller<[ExactString: Value]>
    private var values: [ExactString: Value] = [:]
    private var bytes = 0
    private var calls: [any Cancellable] = []
    private var hasEnded = false

    init(_ handle: SnapshotHandle, _ range: LiveRange, _ caller: @escaping Caller<[ExactString: Value]>) {
        self.handle = handle
        self.range = range
        self.caller = caller
    }

    func begin() {
        switch range {
        case .keys(let keys): read(keys.map(\.text).sorted(by: keyPrecedes))
        case .range(let start, let end, let level): list(from: unqualify(start.text).key, start.text, end.text, level)
        }
    }

    /// The caller is not called any more.
    func cancel() {
        hasEnded = true
        for call in calls { call.cancel(CancellationError()) }
        calls = []
    }

    private func read(_ keys: [QualifiedKey]) {
        let most = max(1, handle.core.limits.get().maxKeysPerRequest)
        let parts = stride(from: 0, to: keys.count, by: most).map { keys[$0..<min($0 + most, keys.count)] }
        var left = parts.count
        for part in parts {
            calls.append(
                handle.readServed(Array(part)) { [self] result in
                    attempt {
                        for (key, value) in zip(part, try result.get()) { try take(key, value) }
                        left -= 1
                        if left == 0 { end(.success(values)) }
                    }
                })
        }
    }

    private func list(from next: String, _ start: QualifiedKey, _ end: QualifiedKey, _ level: Int?) {
        let keyspace = unqualify(start).keyspace
        let prefix = unqualify(prefixEnd(start) == end ? start : commonPrefix(start, end)).key
        let request = ListRequest(
            keyspace: keyspace, prefix: prefix, start: next, limit: Self.pageKeys, level: level)
        calls = [
            handle.list(request) { [self] result in
                attempt {
                    let page = try result.get()
                    for entry in page.entries {
                        let key = qualify(keyspace: keyspace, key: entry.key)
                        if keyPrecedes(entry.key, next) {
                            throw IsochronError.malformed("a page with keys before its own start")
                        }
                        if !keyPrecedes(key, end) { return self.end(.success(values)) }
                        try take(key, entry.value)
                    }
                    guard let following = page.next, keyPrecedes(qualify(keyspace: keyspace, key: following), end)
                    else { return self.end(.success(values)) }
                    if !keyPrecedes(next, following) {
                        throw IsochronError.malformed("a page that continues before itself")
                    }
                    list(from: following, start, end, level)
                }
            }
        ]
    }

    private func take(_ key: QualifiedKey, _ value: Value?) throws {
        guard let value else { return }
        let name = ExactString(key)
        values[name] = value
        bytes += LiveScope.size(name, value)
        if values.count > LiveRange.maxDocuments || bytes > LiveRange.maxBytes { throw LiveRange.tooLarge }
    }

    private func attempt(_ body: () throws -> Void) {
        if hasEnded { return }
        do {
            try body()
        } catch {
            end(.failure(error))
        }
    }

    private func end(_ result: Result<[ExactString: Value], any Error>) {
        if hasEnded { return }
        hasEnded = true
        caller(result)
    }
}

/// Reads some scopes at one snapshot, and begins anew at another one when that is gone.
@SessionActor
final class ScopesRead {
    typealias Done = @SessionActor (_ snapshot: Timestamp, _ values: [ExactString: Value]) -> Void

    private static let retryBaseMs = 50.0
    private static let retryCapMs = 5000.0
    /// The snapshot is gone, not the scope.
    private static let anotherSnapshot: Set<IsochronError.Code> = [
        .snapshotTooOld, .transactionExpired, .transactionUnknown,
    ]

    private let core: ClientCore
    private let transactions: Transactions
    private var ranges: [ScopeId: LiveRange]
    private let done: Done
    private let failed: @SessionActor (ScopeId, IsochronError) -> Void
    private var values: [ExactString: Value] = [:]
    private var reads: [ScopeId: ScopeRead] = [:]
    private var handle: SnapshotHandle?
    private var failures = 0
    private var pause: LoopTimer?

    init(
        _ core: ClientCore, _ transactions: Transactions, _ ranges: [ScopeId: LiveRange], done: @escaping Done,
        failed: @escaping @SessionActor (ScopeId, IsochronError) -> Void
    ) {
        self.core = core
        self.transactions = transactions
        self.ranges = ranges
        self.done = done
        self.failed = failed
    }

    func begin() {
        values = [:]
        let handle = SnapshotHandle(core, transactions, .snapshot)
        self.handle = handle
        for (id, range) in ranges {
            reads[id] = ScopeRead(handle, range) { [weak self] result in self?.ended(id, result) }
        }
        for id in ranges.keys.sorted() { reads[id]?.begin() }
    }

    /// A scope is not watched any more.
    func drop(_ id: ScopeId) {
        guard ranges.removeValue(forKey: id) != nil else { return }
        reads.removeValue(forKey: id)?.cancel()
        if ranges.isEmpty { end() } else { finish() }
    }

    func end() {
        core.loop.cancel(pause)
        ranges = [:]
        stop()
    }

    private func stop() {
        for read in reads.values { read.cancel() }
        reads = [:]
        handle?.end()
        handle = nil
    }

    private func ended(_ id: ScopeId, _ result: Result<[ExactString: Value], any Error>) {
        switch result {
        case .success(let read):
            values.merge(read) { $1 }
            reads[id] = nil
            finish()
        case .failure(let error): retry(id, IsochronError.of(error))
        }
    }

    private func finish() {
        guard reads.isEmpty, let handle, let snapshot = handle.tx.snapshot else { return }
        stop()
        done(snapshot, values)
    }

    /// Whether a later snapshot, with own writes that permit it, may have the scope (AR3).
    private func lacksOwnWrites(_ error: IsochronError) -> Bool {
        if error.code != .permissionDenied { return false }
        return !core.queue.undecided.isEmpty || !transactions.session.export().cache.isEmpty
    }

    private func retry(_ id: ScopeId, _ error: IsochronError) {
        guard error.retryable || Self.anotherSnapshot.contains(error.code) || lacksOwnWrites(error) else {
            reads[id] = nil
            return failed(id, error)
        }
        stop()
        let pauseMs = fullJitterMs(
            core.loop.random, attempt: failures, baseMs: Self.retryBaseMs, capMs: Self.retryCapMs)
        failures += 1
        pause = core.loop.after(pauseMs) { [weak self] in self?.begin() }
    }
}
