import IsochronSession

/// What is known of a write that succeeded.
struct Committed: Sendable {
    let timestamp: Timestamp
    let txId: TxId
}

/// The part of a client that depends on the protocol's family.
@SessionActor
protocol Engine: AnyObject {
    /// Timestamp of the highest snapshot that the session has seen; where none has a timestamp, the highest stable
    /// time.
    var ust: Timestamp { get }
    /// A node has sent its welcome.
    func welcomed(_ welcome: Welcome)
    /// A stable time.
    func stable(_ ust: Timestamp)
    /// Reads keys at once, in order; nil where there is no value.
    func read(_ keys: [QualifiedKey], for core: ClientCore, _ caller: @escaping Caller<[Value?]>) throws
        -> (any Cancellable)?
    func write(_ key: QualifiedKey, _ value: Value?, for core: ClientCore, _ caller: @escaping Caller<Committed>) throws
        -> (any Cancellable)?
    /// Gives up the order behind the write that is under way: goes on as another session that does not follow it.
    ///
    /// - Parameters:
    ///   - region: that of the connection, where there is one
    ///   - id: the name of the other session
    func detach(in region: RegionId?, id: String) throws
    func export(token: String, protocolName: String) -> ExportedSession
}
