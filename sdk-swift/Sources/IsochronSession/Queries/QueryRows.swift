/// The result of a query over the documents of its keys, kept up to date: a change of one document tests and places
/// that one only.
package struct QueryRows: Sendable {
    /// A document that meets the conditions.
    package struct Row: Equatable, Sendable {
        /// The whole key.
        package let key: ExactString
        package let value: Value
        /// Whether an own write of it is not stable yet.
        package let isPending: Bool
        /// Rows of one revision are equal: they need not be compared.
        fileprivate var revision = 0

        package init(key: ExactString, value: Value, isPending: Bool) {
            self.key = key
            self.value = value
            self.isPending = isPending
        }

        package static func == (left: Row, right: Row) -> Bool {
            guard left.key == right.key, left.isPending == right.isPending else { return false }
            return (left.revision != 0 && left.revision == right.revision) || left.value == right.value
        }
    }

    private struct Placed: Sendable {
        let row: Row
        /// Its values that the order compares.
        let fields: [Raw?]
    }

    private let query: Query
    /// Places of named keys, in the order that the query gives them; a range is in the order of its keys.
    private let places: [ExactString: Int]?
    /// All documents that meet the conditions, in order.
    private var placed: [Placed] = []
    private var revision = 0

    package init(_ query: Query, named keys: [ExactString]? = nil) {
        self.query = query
        places = keys.map { Dictionary($0.enumerated().map { ($1, $0) }) { first, _ in first } }
    }

    /// The result.
    package var rows: [Row] { placed.prefix(query.limit).map(\.row) }

    /// Takes documents that have changed; nil for those that have gone. Returns whether the result has changed. Throws
    /// for a text that is not JSON.
    package mutating func update(_ changed: [ExactString: Row?]) throws -> Bool {
        var new: [Placed] = []
        for case let row? in changed.values { if let one = try place(row) { new.append(one) } }
        new.sort(by: precedes)
        let before = shown(changed)
        placed.removeAll { changed[$0.row.key] != nil }
        merge(new)
        let after = shown(changed)
        return before.count != after.count || !zip(before, after).allSatisfy { $0 == $1 }
    }

    /// The places of some documents in the result: without a change of them, nothing else in it moves.
    private func shown(_ keys: [ExactString: Row?]) -> [(at: Int, row: Row)] {
        placed.prefix(query.limit).enumerated().compactMap { at, one in
            keys[one.row.key] == nil ? nil : (at, one.row)
        }
    }

    /// Nil if it does not meet the conditions.
    private mutating func place(_ row: Row) throws -> Placed? {
        var row = row
        revision += 1
        row.revision = revision
        guard query.needsFields else { return Placed(row: row, fields: []) }
        let document = try Raw.queried(row.value)
        guard query.tests.allSatisfy({ $0.holds(document) }) else { return nil }
        return Placed(row: row, fields: query.orders.map { document?.field($0.names[...]) })
    }

    /// Both lists are in order.
    private mutating func merge(_ new: [Placed]) {
        guard !new.isEmpty else { return }
        var merged: [Placed] = []
        merged.reserveCapacity(placed.count + new.count)
        var rest = new[...]
        for one in placed {
            while let next = rest.first, precedes(next, one) { merged.append(rest.removeFirst()) }
            merged.append(one)
        }
        placed = merged + rest
    }

    /// Documents without a field come last in every direction.
    private func precedes(_ a: Placed, _ b: Placed) -> Bool {
        for (i, one) in query.orders.enumerated() {
            let (x, y) = (a.fields[i], b.fields[i])
            let difference = order(x, y)
            let turns = one.isDescending != query.isReversed && x != nil && y != nil
            if difference != 0 { return (turns ? -difference : difference) < 0 }
        }
        return query.isReversed ? inOrder(b, a) : inOrder(a, b)
    }

    /// The order of the keys.
    private func inOrder(_ a: Placed, _ b: Placed) -> Bool {
        if let places { return places[a.row.key, default: 0] < places[b.row.key, default: 0] }
        return keyPrecedes(a.row.key.text, b.row.key.text)
    }
}
