import IsochronSession

/// What is known of a write that succeeded.
struct Committed: Sendable {
    let timestamp: Timestamp
    let txId: TxId
}

/// What of a client depends on the kind of the cluster's protocol.
@SessionActor
protocol Engine: AnyObject {
    /// Timestamp of the highest snapshot that the session has seen; where none has a timestamp, the highest stable
    /// time.
    var ust: Timestamp { get }
    /// What a node says of the session, and of itself.
    func welcomed(_ welcome: Welcome)
    /// A stable time.
    func stable(_ ust: Timestamp)
    /// Reads keys at once, in order; nil where there is no value.
    func read(_ keys: [QualifiedKey], for core: SessionCore) async throws -> [Value?]
    func write(_ key: QualifiedKey, _ value: Value?, for core: SessionCore) async throws -> Committed
    /// Gives up the order behind the write that is under way: goes on as another session that does not follow it.
    ///
    /// - Parameter region: that of the connection, where there is one
    func detach(in region: RegionId?) throws
    func export(token: String, protocolName: String) -> ExportedSession
}
