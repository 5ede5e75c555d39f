/// Sparse dependency matrices (Orbe): one element for each partition and region with a dependency, as triples of the
/// partition, the region's position and a timestamp, in this order. Zeros are left out.
private struct MatrixElement {
    let partition: Timestamp
    let region: Timestamp
    let ts: Timestamp

    var triple: [Timestamp] { [partition, region, ts] }

    func precedes(_ other: MatrixElement) -> Bool {
        (partition, region) < (other.partition, other.region)
    }
}

/// The elements of a matrix. An incomplete triple at its end, which only a broken node would send, is ignored.
private func elements(of matrix: [Timestamp]) -> [MatrixElement] {
    stride(from: 0, to: matrix.count - matrix.count % 3, by: 3).map { i in
        MatrixElement(partition: matrix[i], region: matrix[i + 1], ts: matrix[i + 2])
    }
}

/// The greater element of both, everywhere.
func mergedMatrices(_ one: [Timestamp], _ other: [Timestamp]) -> [Timestamp] {
    if one.isEmpty { return other }
    if other.isEmpty { return one }
    var (left, right) = (elements(of: one)[...], elements(of: other)[...])
    var merged: [MatrixElement] = []
    while let a = left.first, let b = right.first {
        let isBoth = !a.precedes(b) && !b.precedes(a)
        if isBoth {
            merged.append(MatrixElement(partition: a.partition, region: a.region, ts: max(a.ts, b.ts)))
        } else {
            merged.append(a.precedes(b) ? a : b)
        }
        if isBoth || a.precedes(b) { left.removeFirst() }
        if isBoth || b.precedes(a) { right.removeFirst() }
    }
    return (merged + left + right).flatMap(\.triple)
}
