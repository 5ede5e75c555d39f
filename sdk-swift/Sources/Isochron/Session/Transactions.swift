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
        session.observe(welcome.ust)
    }

    func stable(_ ust: Timestamp) {
        session.stable(ust)
    }

    func read(_ keys: [QualifiedKey], for core: ClientCore, _ caller: @escaping Caller<[Value?]>) throws
        -> (any Cancellable)?
    {
        let handle = SnapshotHandle(core, self, .oneShot)
        return handle.read(keys) { result in
            handle.end()
            caller(result)
        }
    }

    func write(_ key: QualifiedKey, _ content: Content, for core: ClientCore, _ caller: @escaping Caller<Committed>)
        throws
        -> (any Cancellable)?
    {
        let begin: @SessionActor (Transactions) throws -> SessionTransaction = { transactions in
            var tx = transactions.session.begin()
            tx.write(key, content)
            return tx
        }
        return try core.commit(nil, [KeyWrite(key: key, content: content)], begin, caller)
    }

    func detach(in region: RegionId?, id: String) throws {
        try session.detach(id: id)
    }

    func export(token: String, protocolName: String) -> ExportedSession {
        ExportedSession(state: session.export(), token: token, protocolName: protocolName)
    }
}
