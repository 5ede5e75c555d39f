import IsochronSession

/// Where an app keeps its session, so that it goes on with it after a restart.
///
/// With `connect(store:)` the client loads the session when it connects and saves it as it changes. What that promises:
///
/// - A write (`set`, `update`, `delete`, a transaction's commit) is saved before the call returns. An app that is
///   killed at any moment after that, even by the system without a word, reads its own write on the next launch, in any
///   region, whether or not the write has become visible everywhere.
/// - Where saving fails, the call throws STORAGE_FAILED with the transaction's id in `txId`: the write is committed and
///   visible to this client, only the next launch may not see it until it is visible everywhere. Do not repeat it.
/// - A write whose call has not returned yet may or may not have happened when the app is killed, and may not be in the
///   saved session.
/// - What was only read is saved within a second or so, and by `close()` and `IsochronClient.save()`. An app that is
///   killed right after a read may, on the next launch, read a snapshot older than that one, never one older than what
///   was saved.
///
/// One client at a time uses a store: two that save into one would take turns in losing each other's writes from it.
public protocol SessionStore: Sendable {
    /// The session that was saved last; nil where there is none. Called once, by `connect`, which throws what this
    /// throws.
    func load() async throws -> ExportedSession?
    /// Keeps a session in place of the one before: all of it or nothing, and for good when it returns. Calls do not
    /// overlap.
    func save(_ session: ExportedSession) async throws
}
