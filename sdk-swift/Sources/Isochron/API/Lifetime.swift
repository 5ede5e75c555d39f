/// Closes a client that nobody holds any more: neither itself nor anything that was made from it.
final class Lifetime: Sendable {
    let core: SessionCore

    init(_ core: SessionCore) {
        self.core = core
    }

    deinit {
        let core = core
        Task { @SessionActor in await core.close() }
    }
}
