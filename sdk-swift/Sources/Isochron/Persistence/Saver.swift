import IsochronSession

/// Saves the session as it changes: at once after a write, a little later after anything else, and never twice at a
/// time.
@SessionActor
final class Saver {
    /// What is no write waits so long, together with what follows it.
    private static let lazyMs = 1000.0

    private let store: any SessionStore
    private let settings: Settings
    /// The session as it is; nil before a node has been met.
    var source: @SessionActor () -> ExportedSession? = { nil }
    /// Counts the changes: how many there were, how many are to be saved now, how many are.
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

    /// Something has changed that may be saved later.
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

    /// Ends once everything up to now is saved. Throws STORAGE_FAILED.
    func saved(_ committed: Committed) async throws {
        do {
            try await save()
        } catch {
            let what = "transaction \(committed.txId) is committed, but the session could not be saved"
            throw IsochronError(
                .storageFailed, "\(what): \(error)", retryable: false, cause: error, txId: committed.txId)
        }
    }

    /// Ends once everything up to now is saved. Throws what the store throws.
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

    /// Saves what is not saved yet.
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
                // Until something changes again, or somebody asks again.
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
