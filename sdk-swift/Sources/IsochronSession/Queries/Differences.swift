/// The change of one document from one result of a query to a later one.
package enum RowChange: Equatable, Sendable {
    case added(QueryRows.Row, at: Int)
    /// The document, or whether it is pending, or its place in the order.
    case changed(QueryRows.Row, from: Int, at: Int)
    case removed(QueryRows.Row, from: Int)
}

/// The changes between two results: the removed documents first, then the others in the order of the new result.
///
/// Removing the documents at every old place, from the last to the first, and then inserting those with a new place,
/// from the first to the last, makes the new result of the old one.
package func differences(from before: [QueryRows.Row], to after: [QueryRows.Row]) -> [RowChange] {
    let (old, new) = differing(before, after)
    var places: [ExactString: Int] = [:]
    for at in old { places[before[at].key] = at }
    var placed: [RowChange] = []
    for at in new {
        let row = after[at]
        guard let from = places.removeValue(forKey: row.key) else {
            placed.append(.added(row, at: at))
            continue
        }
        if before[from] != row { placed.append(.changed(row, from: from, at: at)) }
    }
    return places.values.sorted().map { .removed(before[$0], from: $0) } + placed
}

/// Where two results differ: between the documents that they have in common at the begin and at the end.
private func differing(_ before: [QueryRows.Row], _ after: [QueryRows.Row]) -> (old: Range<Int>, new: Range<Int>) {
    let common = min(before.count, after.count)
    var start = 0
    while start < common, before[start] == after[start] { start += 1 }
    var end = 0
    while end < common - start, before[before.count - 1 - end] == after[after.count - 1 - end] { end += 1 }
    return (start..<before.count - end, start..<after.count - end)
}
