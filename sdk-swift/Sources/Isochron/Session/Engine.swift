import IsochronSession

/// The result of a successful write.
struct Committed: Sendable {
    let timestamp: Timestamp
    let txId: TxId
}

/// The part of a client that depends on the protocol's family.
@SessionActor
protocol Engine: AnyObject {
    /// Timestamp of the highest snapshot that the session has seen; if snapshots have no timestamps, the highest stable
    /// time.
    var ust: Timestamp { get }
    /// A node has sent its welcome.
    func welcomed(_ welcome: Welcome)
    /// A stable time.
    func stable(_ ust: Timestamp)
    /// Reads keys at once, in order; nil for an absent key.
    func read(_ keys: [QualifiedKey], for core: ClientCore, _ caller: @escaping Caller<[Value?]>) throws
        -> (any Cancellable)?
    /// An update only where the protocol has the capability `updates`.
    func write(_ key: QualifiedKey, _ content: Content, for core: ClientCore, _ caller: @escaping Caller<Committed>)
        throws
        -> (any Cancellable)?
    /// Gives up the order behind the write under way: continues as another session that does not follow it.
    ///
    /// - Parameters:
    ///   - region: the region of the connection, if any
    ///   - id: the name of the other session
    func detach(in region: RegionId?, id: String) throws
    func export(token: String, protocolName: String) -> ExportedSession
}
