import IsochronSession

/// A client of a protocol with transactions: one-shot reads and writes are transactions, too.
@SessionActor
final class Transactions: Engine {
    var session: Session

    init(_ session: Session) {
        self.session = session
    }

    var ust: Timestamp { session.ust }

    func welcomed(_ welcome: Welcome) {
        session.observe(welcome.seenSnapshot)
    }

    func stable(_ ust: Timestamp) {
        session.stable(ust)
    }

    func read(_ keys: [QualifiedKey], for core: SessionCore) async throws -> [Value?] {
        let handle = SnapshotHandle(core, self, .oneShot)
        defer { handle.end() }
        return try await handle.read(keys)
    }

    func write(_ key: QualifiedKey, _ value: Value?, for core: SessionCore) async throws -> Committed {
        try await core.commit(nil) { transactions in
            var tx = transactions.session.begin()
            tx.write(key, value)
            return tx
        }
    }

    func detach(in region: RegionId?) throws {
        try session.detach(id: randomSessionId())
    }

    func export(token: String, protocolName: String) -> ExportedSession {
        ExportedSession(state: session.export(), token: token, protocolName: protocolName)
    }
}
