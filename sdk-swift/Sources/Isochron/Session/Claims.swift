import IsochronSession

/// The outcome of a claim.
struct Claimed: Sendable {
    /// Whether the claim's own transaction made the document.
    let won: Bool
    /// The document in the snapshot of the claim; nil if another version of that timestamp deleted it, or
    /// the user may not read it.
    let value: Value?
}

extension ClientCore {
    /// Waits until a claim's transaction is stable, and reads the key at its timestamp: nothing at or below that can
    /// change any more. Fails with STABLE_TIMEOUT, and with SNAPSHOT_TOO_OLD for a claim that is asked for too late.
    func claimed(
        _ key: QualifiedKey, _ commit: Committed, timeoutMs: Double, _ caller: @escaping Caller<Claimed>
    ) -> (any Cancellable)? {
        let claiming = Claiming()
        claiming.current = stable(commit.timestamp, timeoutMs: timeoutMs) { [self] result in
            let at: Timestamp
            switch result {
            case .success(let final): at = final
            case .failure(let error): return caller(.failure(error))
            }
            let exchange = OriginExchange(key, at: at, tx: commit.txId)
            claiming.read = exchange
            exchange.run({ connector.dispatcher.submitTimed($0) }) { read in
                let own = Origin(ts: at, txId: commit.txId)
                caller(read.map { Claimed(won: $0.origin == own, value: $0.value) })
            }
        }
        return claiming
    }
}

/// A claim: the wait for its stable time, then its read.
@SessionActor
private final class Claiming: Cancellable {
    var current: (any Cancellable)?
    var read: (any Cancellable)?

    func cancel(_ reason: any Error) {
        (read ?? current)?.cancel(reason)
    }
}

private struct KeyOrigin: Sendable {
    let value: Value?
    let origin: Origin?
}

/// Reads a key in exactly one snapshot, with the version that made its document.
private final class OriginExchange: AwaitedExchange<KeyOrigin> {
    private let key: QualifiedKey
    private let at: Timestamp
    private let tx: TxId

    init(_ key: QualifiedKey, at: Timestamp, tx: TxId) {
        self.key = key
        self.at = at
        self.tx = tx
    }

    override func request(on connection: Connection) -> Request { .origin(key: key, at: at, tx: tx) }

    override func answered(_ answer: Answer, on connection: Connection) throws {
        guard case .origin(let version, let origin) = answer.body else { throw unexpected(answer) }
        if version != nil && origin == nil { throw IsochronError.malformed("a document without an origin") }
        done(KeyOrigin(value: version?.value, origin: origin))
    }
}
