import IsochronSession

/// Saves the session after changes: at once after a write, a little later after other changes, and one save at a time.
@SessionActor
final class Saver {
    /// Delay of changes other than writes, together with those that follow.
    private static let lazyMs = 1000.0

    private let store: any SessionStore
    private let settings: Settings
    /// The present session; nil before the first welcome.
    var source: @SessionActor () -> ExportedSession? = { nil }
    /// Counters of changes: all, those to be saved now, and those saved.
    private var changes = 0
    private var wanted = 0
    private var saved = 0
    private var isSaving = false
    private var lazily: Alarm?
    private var waiters: [Waiter] = []

    @SessionActor
    private final class Waiter {
        let upTo: Int
        var alarm: Alarm?
        private var end: CheckedContinuation<Void, any Error>?

        init(upTo: Int, _ end: CheckedContinuation<Void, any Error>) {
            self.upTo = upTo
            self.end = end
        }

        func resume(_ result: Result<Void, any Error>) {
            alarm?.cancel()
            end?.resume(with: result)
            end = nil
        }
    }

    init(_ store: any SessionStore, _ settings: Settings) {
        self.store = store
        self.settings = settings
    }

    /// A change that may be saved later.
    func touched() {
        changes += 1
        if lazily != nil { return }
        lazily = settings.timing.after(Self.lazyMs) { [weak self] in self?.saveNow() }
    }

    /// A write has committed.
    func mustSave() {
        changes += 1
        saveNow()
    }

    /// Returns once all changes so far are saved. Throws STORAGE_FAILED.
    func saved(_ committed: Committed) async throws {
        do {
            try await save()
        } catch {
            let what = "transaction \(committed.txId) is committed, but the session could not be saved"
            throw IsochronError(
                .storageFailed, "\(what): \(error)", retryable: false, cause: error, txId: committed.txId)
        }
    }

    /// Returns once all changes so far are saved. Throws the store's errors.
    func save() async throws {
        saveNow()
        if saved >= changes { return }
        let upTo = changes
        try await withCheckedThrowingContinuation { continuation in
            let waiter = Waiter(upTo: upTo, continuation)
            waiters.append(waiter)
            waiter.alarm = settings.timing.after(settings.client.requestTimeoutMs) { [weak self] in
                self?.waiters.removeAll { $0 === waiter }
                waiter.resume(.failure(IsochronError(.storageFailed, "the session store took too long")))
            }
        }
    }

    /// Saves the changes that are not saved yet.
    func close() async {
        do {
            try await save()
        } catch {
            settings.log(.warning, "the session could not be saved: \(error)")
        }
        lazily?.cancel()
    }

    private func saveNow() {
        lazily?.cancel()
        lazily = nil
        wanted = changes
        if isSaving || saved >= wanted { return }
        isSaving = true
        Task { @SessionActor in await saveAll() }
    }

    private func saveAll() async {
        while saved < wanted, let session = source() {
            let upTo = changes
            do {
                try await store.save(session)
                saved = upTo
                resume(upTo: upTo, .success(()))
            } catch {
                settings.log(.warning, "the session could not be saved: \(error)")
                // Until the next change or the next request.
                wanted = saved
                resume(upTo: changes, .failure(error))
            }
        }
        isSaving = false
        if source() == nil { resume(upTo: changes, .success(())) }
    }

    private func resume(upTo: Int, _ result: Result<Void, any Error>) {
        let those = waiters.filter { $0.upTo <= upTo }
        waiters.removeAll { $0.upTo <= upTo }
        for waiter in those { waiter.resume(result) }
    }
}
