import IsochronSession

/// Compares folds with `folds.json`, up to the first that differs. A difference names the fold, from 0, and its update.
func check(_ file: FoldVectors) -> Checked {
    var checked = Checked()
    for (i, one) in file.folds.enumerated() {
        one.check("seed \(file.seed), fold \(i)", &checked)
        if !checked.differences.isEmpty { break }
    }
    return checked
}

/// A result, described only where it differs.
private struct Folded: Equatable, CustomStringConvertible {
    let value: Value?

    init(_ value: Value?) { self.value = value }

    var description: String { String(shown(value).prefix(1000)) }
}

extension FoldVectors.Case {
    fileprivate func check(_ name: String, _ checked: inout Checked) {
        var fold = Fold(base?.value.model, origin: Origin(ts: 5 * hlcTicksPerMs, txId: "base"))
        for (i, step) in updates.enumerated() {
            fold.apply(step.update, at: step.at?.model)
            checked.same("\(name), update \(i): valid", step.valid, step.update.problem == nil)
            checked.same("\(name), update \(i): result", Folded(step.result?.value.model), Folded(fold.result))
            checked.same("\(name), update \(i): origin", step.origin?.model, fold.origin)
        }
        checked.same("\(name): composed", Folded(composed?.value.model), Folded(written.value))
    }

    private var written: Content {
        let valid = updates.filter(\.valid).map(\.update)
        return valid.reduce(Content(base?.value.model)) { older, newer in
            let count = older.operationCount + Content.update(newer).operationCount
            return Update.problem(ofCount: count) == nil ? older.followed(by: newer) : older
        }
    }
}

extension FoldVectors.Step {
    fileprivate var update: Update {
        if case .json(let text) = operations.value { return Update(operations: text) }
        return Update(operations: "")
    }
}

extension FoldVectors.Version {
    fileprivate var model: Origin { Origin(ts: ts, txId: txId) }
}

extension Content {
    /// As in the file: the text of an update, too.
    fileprivate var value: Value? {
        switch self {
        case .put(let value): value
        case .update(let update): .json(update.operations)
        case .delete: nil
        }
    }
}
