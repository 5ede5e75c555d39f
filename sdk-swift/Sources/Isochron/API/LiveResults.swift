import IsochronSession

/// A document of a live result.
public struct ResultDocument<Document: Sendable>: Sendable {
    /// The key, without the collection's name.
    public let key: String
    /// The document; VALUE_INVALID if the stored document is not a `Document`, FRAME_INVALID if it is damaged.
    public let result: Result<Document, IsochronError>
    /// Whether an own write of it is not stable yet.
    public let isPending: Bool

    /// The document. Throws the error of ``result``; the watch continues after it.
    public var value: Document {
        get throws(IsochronError) { try result.get() }
    }
}

/// A change of a result. Removing the documents at every `oldIndex`, from the last to the first, and then inserting
/// those with a `newIndex`, from the first to the last, makes the new result of the old one.
public enum ResultChange<Document: Sendable>: Sendable {
    /// A document is new in the result.
    case added(ResultDocument<Document>, newIndex: Int)
    /// The document, or whether it is pending, or its place in the order has changed.
    case changed(ResultDocument<Document>, oldIndex: Int, newIndex: Int)
    /// A document is not in the result any more: its last state there.
    case removed(ResultDocument<Document>, oldIndex: Int)
}

/// The state of a result.
public struct LiveMeta: Hashable, Sendable {
    /// Whether the result is of an earlier connection's cache; false while the client keeps none.
    public let isFromCache: Bool
    /// Whether one of the documents has an own write that is not stable yet.
    public let hasPendingWrites: Bool
    /// Age of the snapshot, by the node's clock, at the time of the result.
    public let staleness: Duration?
    /// Whether all documents of the snapshot are there.
    public let isComplete: Bool
}

/// The documents of a query at one snapshot, with the own writes of the client on top.
public struct QueryResult<Document: Sendable>: Sendable {
    /// In order.
    public let documents: [ResultDocument<Document>]
    /// The differences from the result that this loop took before: the removed documents first.
    public let changes: [ResultChange<Document>]
    /// The snapshot of the documents. All watches of a client are at the same one.
    public let snapshot: Timestamp
    /// Its state.
    public let meta: LiveMeta
}

/// One document at a snapshot, with the own writes of the client on top.
public struct DocumentResult<Document: Sendable>: Sendable {
    /// The key, without the collection's name.
    public let key: String
    /// The document, or nil without one; VALUE_INVALID if the stored document is not a `Document`, FRAME_INVALID if it
    /// is damaged.
    public let result: Result<Document?, IsochronError>
    /// Whether an own write of it is not stable yet.
    public let isPending: Bool
    /// The snapshot of the document. All watches of a client are at the same one.
    public let snapshot: Timestamp
    /// Its state.
    public let meta: LiveMeta

    /// The document; nil without one. Throws the error of ``result``; the watch continues after it.
    public var value: Document? {
        get throws(IsochronError) { try result.get() }
    }
}

/// Makes the results of one loop over a query. It decodes a document once, and keeps the last result for the changes.
final class ResultMaker<Document: Decodable & Sendable>: Sendable {
    private struct Last: Sendable {
        var rows: [QueryRows.Row] = []
        var documents: [ExactString: ResultDocument<Document>] = [:]
    }

    private let coding: DocumentCoding
    private let scope: Scope
    private let last = Locked(Last())

    init(_ coding: DocumentCoding, _ scope: Scope) {
        self.coding = coding
        self.scope = scope
    }

    func result(_ state: TakenState, _ rows: [QueryRows.Row]) throws -> QueryResult<Document> {
        try last.change { last in
            let differences = differences(from: last.rows, to: rows)
            let changes = try differences.map { difference -> ResultChange<Document> in
                switch difference {
                case .added(let row, let at): return .added(try decode(row, &last), newIndex: at)
                case .changed(let row, let from, let at):
                    return .changed(try decode(row, &last), oldIndex: from, newIndex: at)
                case .removed(let row, let from):
                    let document = try last.documents.removeValue(forKey: row.key) ?? decoded(row)
                    return .removed(document, oldIndex: from)
                }
            }
            last.rows = rows
            return QueryResult(
                documents: rows.compactMap { last.documents[$0.key] }, changes: changes, snapshot: state.snapshot,
                meta: LiveMeta(state, rows))
        }
    }

    private func decode(_ row: QueryRows.Row, _ last: inout Last) throws -> ResultDocument<Document> {
        let document = try decoded(row)
        last.documents[row.key] = document
        return document
    }

    private func decoded(_ row: QueryRows.Row) throws -> ResultDocument<Document> {
        let absent = IsochronError(.internal, "a document without a value")
        return ResultDocument(
            key: scope.local(unqualify(row.key.text).key),
            result: try coding.result(of: row.value, as: Document.self) ?? .failure(absent),
            isPending: row.isPending)
    }
}

extension LiveMeta {
    init(_ state: TakenState, _ rows: [QueryRows.Row]) {
        (isFromCache, isComplete) = (false, true)
        hasPendingWrites = rows.contains(where: \.isPending)
        staleness = state.staleness
    }
}
