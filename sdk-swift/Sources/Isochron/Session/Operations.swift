import IsochronSession

/// A client of a protocol of single operations: it runs one at a time, as the papers' clients do.
@SessionActor
final class Operations: Engine {
    var session: OperationSession

    init(_ session: OperationSession) {
        self.session = session
    }

    var ust: Timestamp { session.ust }

    func welcomed(_ welcome: Welcome) {
        session.observe(welcome.stable ?? 0)
    }

    func stable(_ ust: Timestamp) {
        session.observe(ust)
    }

    func read(_ keys: [QualifiedKey], for core: ClientCore, _ caller: @escaping Caller<[Value?]>) throws
        -> (any Cancellable)?
    {
        if keys.count > 1, !core.can("rot") { throw core.unsupported("reads one key at a time: get each of them") }
        let begin: CommitQueue.Begin<[Value?]> = { [self] ended in OperationReadExchange(self, keys, ended) }
        return core.queue.enqueue(writes: nil, begin: begin, caller)
    }

    func write(_ key: QualifiedKey, _ content: Content, for core: ClientCore, _ caller: @escaping Caller<Committed>)
        throws
        -> (any Cancellable)?
    {
        let begin: CommitQueue.Begin<Committed> = { [self] ended in
            PutExchange(core, self, try session.put(key, value(of: content)), ended)
        }
        return core.queue.enqueue(writes: [KeyWrite(key: key, content: content)], begin: begin, caller)
    }

    private func value(of content: Content) throws -> Value? {
        switch content {
        case .put(let value): return value
        case .delete: return nil
        case .update: throw IsochronError.noUpdates
        }
    }

    /// The write under way keeps the session state that it was sent with.
    func detach(in region: RegionId?, id: String) {
        let state = session.export()
        session = OperationSession(id: id, region: region ?? state.region, rules: session.rules, state: state)
    }

    func export(token: String, protocolName: String) -> ExportedSession {
        ExportedSession(state: session.export(), token: token, protocolName: protocolName)
    }
}

/// A GET, or a read-only transaction. It is made anew for each send, because the session may have moved.
private final class OperationReadExchange: QueuedExchange<[Value?]> {
    private let operations: Operations
    private let keys: [QualifiedKey]
    private let ended: CommitQueue.Ended

    init(_ operations: Operations, _ keys: [QualifiedKey], _ ended: @escaping CommitQueue.Ended) {
        self.operations = operations
        self.keys = keys
        self.ended = ended
    }

    /// Its token covers the session at the time of the send: a late one lacks the later operations.
    override var takesToken: Bool { !settled }

    override func request(on connection: Connection) throws -> Request {
        operations.session.refused()
        operations.session.move(to: connection.region)
        let depends = operations.session.export().depends
        if keys.count == 1, let key = keys.first {
            let get = try operations.session.get(key)
            return .get(seen: get.seen, region: get.region, depends: depends, key: get.key)
        }
        let rot = try operations.session.rot(keys)
        return .rot(seen: rot.seen, region: rot.region, depends: depends, keys: rot.keys, tx: rot.id)
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .got(let frame) = answer.body else { throw unexpected(answer) }
        let got = try Got(frame)
        if got.values.count != keys.count {
            throw IsochronError.malformed("another number of values than keys were asked for")
        }
        try operations.session.answered(.read(seen: got.seen, ust: got.ust, depends: got.depends))
        done(got.values.map { $0?.value })
        ended(nil)
    }

    override func failed(_ error: any Error) {
        if settled { return }
        super.failed(error)
        operations.session.refused()
        ended(nil)
    }
}

/// A PUT.
private final class PutExchange: OutcomeExchange {
    private let operations: Operations
    private let put: PutRequest

    init(_ core: ClientCore, _ operations: Operations, _ put: PutRequest, _ ended: @escaping CommitQueue.Ended) {
        self.operations = operations
        self.put = put
        super.init(core, txId: put.txId, sentAfter: put.sentAfter, ended: ended)
    }

    /// After a detach its token belongs to a session that this client has left.
    override var takesToken: Bool { !isDetached }

    override func request(on connection: Connection) -> Request {
        if !isDetached { operations.session.move(to: connection.region) }
        return .put(
            seen: put.seen, region: put.region, depends: put.depends, tx: put.txId, key: put.key, value: put.value,
            sentAfter: put.sentAfter, attemptRegions: sending(on: connection).map(\.home))
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .written(let frame) = answer.body else { throw unexpected(answer) }
        let written = try Written(frame)
        if !isDetached {
            try operations.session.answered(
                .wrote(seen: written.seen, region: written.region, ust: written.ust, depends: written.depends))
        }
        committed(written.ts)
    }

    /// The dependencies of the session are known to be present only in its home region, and where it has seen them.
    override func mustMove(from home: RegionId, on connection: Connection) -> Bool {
        home != connection.region && home != put.region
    }

    override func gaveUp() {
        if !isDetached { operations.session.refused() }
    }
}
