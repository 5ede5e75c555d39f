import IsochronSession

extension SnapshotHandle {
    /// Reads keys in the handle's snapshot, in order; nil for an absent key. The session answers for the keys that it
    /// holds, the server for the others. Returns nil if the session has all of them.
    func read(_ keys: [QualifiedKey], _ caller: @escaping Caller<[Value?]>) -> (any Cancellable)? {
        refresh()
        let known = keys.map { tx.lookup($0) }
        let missing = zip(keys, known).filter { $0.1 == nil }.map(\.0)
        if missing.isEmpty {
            caller(.success(known.map { $0?.value }))
            return nil
        }
        let exchange = ReadExchange(self, missing)
        let read: Caller<[ServedVersion?]> = { [self] result in
            refresh()
            caller(
                result.map { versions in
                    var left = zip(missing, versions).map { tx.record($0, $1) }[...]
                    return known.map { result in result.map(\.value) ?? left.popFirst()?.value }
                })
        }
        exchange.run({ core.connector.dispatcher.submitTimed($0) }, read)
        return exchange
    }

    /// Reads keys in the handle's snapshot as the server has them, without own writes.
    func readServed(_ keys: [QualifiedKey], _ caller: @escaping Caller<[Value?]>) -> any Cancellable {
        let exchange = ReadExchange(self, keys)
        let read: Caller<[ServedVersion?]> = { result in caller(result.map { $0.map { $0?.value } }) }
        exchange.run({ core.connector.dispatcher.submitTimed($0) }, read)
        return exchange
    }

    /// One page of a listing, as the server has it.
    func list(_ request: ListRequest, _ caller: @escaping Caller<ListedPage>) -> any Cancellable {
        let exchange = ListExchange(self, request)
        exchange.run({ core.connector.dispatcher.submitTimed($0) }, caller)
        return exchange
    }
}

/// A page of a listing.
struct ListedPage: Sendable {
    let entries: [ListedEntry]
    /// Start of the next page; nil after the last one.
    let next: String?
}

/// A request inside a snapshot.
@SessionActor
class SnapshotExchange<Outcome: Sendable>: AwaitedExchange<Outcome> {
    let handle: SnapshotHandle
    private var sentAs: TxId?

    init(_ handle: SnapshotHandle) {
        self.handle = handle
    }

    final override func prelude(on connection: Connection) -> Exchange? {
        handle.prelude(on: connection)
    }

    final func fields(on connection: Connection) -> (tx: TxId?, at: Snapshot?) {
        let fields = handle.fields(on: connection)
        sentAs = fields.tx
        return fields
    }

    final override func refused(_ error: IsochronError, on connection: Connection) -> Retry? {
        guard let meaning = handle.meaning(of: error, sentAs: sentAs) else {
            return super.refused(error, on: connection)
        }
        // The read overtook its start, which waits for the snapshot: the node is not at fault.
        if handle.isStarting { return Retry(refusals: 1, elsewhere: .nowhere) }
        let retry = super.refused(meaning, on: connection)
        if retry == nil { failed(meaning) }
        return retry
    }
}

private final class ReadExchange: SnapshotExchange<[ServedVersion?]> {
    private let keys: [QualifiedKey]

    init(_ handle: SnapshotHandle, _ keys: [QualifiedKey]) {
        self.keys = keys
        super.init(handle)
    }

    override func request(on connection: Connection) -> Request {
        let (tx, at) = fields(on: connection)
        return .read(tx: tx, keys: keys, at: at)
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .values(let snapshot, let values) = answer.body else { throw unexpected(answer) }
        if values.count != keys.count {
            throw IsochronError.malformed("another number of values than keys were asked for")
        }
        try handle.accept(snapshot)
        done(values)
    }
}

private final class ListExchange: SnapshotExchange<ListedPage> {
    private let list: ListRequest

    init(_ handle: SnapshotHandle, _ list: ListRequest) {
        self.list = list
        super.init(handle)
    }

    override func request(on connection: Connection) -> Request {
        let (tx, at) = fields(on: connection)
        return .list(
            tx: tx, keyspace: list.keyspace, prefix: list.prefix, start: list.start, limit: Int64(list.limit),
            level: list.level.map(Int64.init), at: at, known: nil)
    }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .listed(let snapshot, let entries, let next) = answer.body else { throw unexpected(answer) }
        try handle.accept(snapshot)
        done(ListedPage(entries: entries, next: next))
    }
}
