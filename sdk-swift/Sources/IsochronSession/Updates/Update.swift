/// A write that changes the document of a key instead of replacing it: the JSON text of a valid array of operations.
/// Replicas and sessions fold it into the document when they read (`docs/updates.md`).
public struct Update: Hashable, Sendable {
    /// The JSON text of the operations.
    public let operations: String

    /// An update that is known to be valid, such as one of an exported session.
    public init(operations: String) {
        self.operations = operations
    }

    /// Why nodes would refuse it; nil for a valid update.
    public var problem: String? {
        do {
            _ = try Operation.parse(operations)
            return nil
        } catch {
            return (error as? InvalidUpdate)?.why ?? "\(error)"
        }
    }

    /// The number of operations; 0 for an update that nodes would refuse.
    var count: Int { (try? Operation.parse(operations).count) ?? 0 }

    /// Why nodes would refuse an update with this number of operations.
    public static func problem(ofCount count: Int) -> String? {
        count <= Operation.maxCount
            ? nil : "\(count) operations are above the limit of \(Operation.maxCount) in one update"
    }

    public static func == (left: Update, right: Update) -> Bool {
        isSameText(left.operations, right.operations)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactString(operations))
    }
}

/// The identity of a version within its key.
public struct Origin: Hashable, Sendable {
    /// Commit timestamp.
    public let ts: Timestamp
    /// The transaction.
    public let txId: TxId

    /// The version that a transaction wrote at `ts`.
    public init(ts: Timestamp, txId: TxId) {
        self.ts = ts
        self.txId = txId
    }
}
