import IsochronSession

/// Storage for an app's session, so that the app continues it after a restart.
///
/// With `connect(store:)` the client loads the session when it connects, and saves its changes:
///
/// - A write (`set`, `update`, `delete`, a transaction's commit) is saved before the call returns. An app that is
///   killed at any moment after that, even by the system without notice, reads its own write on the next launch, in any
///   region, whether or not the write is visible everywhere yet.
/// - If a save fails, the call throws STORAGE_FAILED with the transaction's id in `txId`: the write is committed and
///   visible to this client, but the next launch may not see it until it is visible everywhere. Do not repeat it.
/// - A write whose call has not returned when the app is killed may have happened or not, and may not be in the saved
///   session.
/// - The effects of reads are saved within about a second, and by `close()` and `IsochronClient.save()`. An app that is
///   killed right after a read may, on the next launch, read an older snapshot than that one, but none older than the
///   saved one.
///
/// Only one client at a time may use a store: each of two would overwrite the other's writes.
public protocol SessionStore: Sendable {
    /// The session that was saved last; nil if there is none. Called once, by `connect`, which passes its errors on.
    func load() async throws -> ExportedSession?
    /// Replaces the stored session: completely or not at all, and durably when it returns. Calls do not overlap.
    func save(_ session: ExportedSession) async throws
}
