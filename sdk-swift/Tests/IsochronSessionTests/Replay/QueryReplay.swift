import IsochronSession

/// Compares results of queries, and the faults of wrong ones, with `queries.json`.
func check(_ file: QueryVectors) -> Checked {
    var checked = Checked()
    for (i, one) in file.queries.enumerated() { one.check("seed \(file.seed), query \(i)", &checked) }
    for (i, fault) in file.faults.enumerated() {
        checked.same("fault \(i)", fault.why, why(fault.where, fault.orderBy, fault.limit))
    }
    return checked
}

private func query(
    _ conditions: [QueryVectors.Condition], _ orders: [QueryVectors.Order], _ limit: Int?, reverse: Bool
) throws -> Query {
    try Query(
        where: conditions.map { condition in
            Query.Condition(
                path: condition.path, Query.Comparison(rawValue: condition.op) ?? .equal,
                try JSONReader.read(condition.value))
        },
        orderBy: orders.map { Query.Order(path: $0.path, isDescending: $0.direction == "desc") },
        limit: limit, reverse: reverse)
}

private func why(
    _ conditions: [QueryVectors.Condition], _ orders: [QueryVectors.Order], _ limit: Int?
) -> String {
    do {
        _ = try query(conditions, orders, limit, reverse: false)
        return "no fault"
    } catch {
        return (error as? InvalidQuery)?.why ?? "\(error)"
    }
}

extension QueryVectors.Case {
    fileprivate func check(_ name: String, _ checked: inout Checked) {
        do {
            let query = try query(self.where, orderBy, limit, reverse: reverse)
            var rows = QueryRows(query, named: named.map { $0.map { ExactString($0) } })
            for (i, step) in steps.enumerated() { try step.check("\(name), step \(i)", &rows, &checked) }
        } catch {
            checked.same(name, "no error", "\(error)")
        }
    }
}

extension QueryVectors.Step {
    fileprivate func check(_ name: String, _ rows: inout QueryRows, _ checked: inout Checked) throws {
        let before = rows.rows
        var changed: [ExactString: QueryRows.Row?] = [:]
        for state in set {
            let key = ExactString(state.key)
            let row = state.value.map { QueryRows.Row(key: key, value: $0.model, isPending: state.pending) }
            changed.updateValue(row, forKey: key)
        }
        checked.same("\(name): has changed", hasChanged, try rows.update(changed))
        let shown = rows.rows.map { QueryVectors.Shown(key: $0.key.text, pending: $0.isPending) }
        checked.same("\(name): result", result.map(\.text), shown.map(\.text))
        let differences = differences(from: before, to: rows.rows).map { QueryVectors.Change($0) }
        checked.same("\(name): changes", changes.map(\.text), differences.map(\.text))
    }
}

extension QueryVectors.Shown {
    /// By code units: texts in two spellings are two keys.
    fileprivate var text: String { "\(Array(key.utf8)) \(pending)" }
}

extension QueryVectors.Change {
    fileprivate init(_ change: RowChange) {
        switch change {
        case .added(let row, let at): self.init(type: "added", key: row.key.text, oldIndex: nil, newIndex: at)
        case .changed(let row, let from, let at):
            self.init(type: "changed", key: row.key.text, oldIndex: from, newIndex: at)
        case .removed(let row, let from): self.init(type: "removed", key: row.key.text, oldIndex: from, newIndex: nil)
        }
    }

    fileprivate var text: String { "\(type) \(Array(key.utf8)) \(oldIndex ?? -1) \(newIndex ?? -1)" }
}
