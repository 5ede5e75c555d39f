import IsochronSession

/// Values as text that differs exactly when they do: characters beyond plain ASCII are escaped, because Swift treats
/// several spellings as equal.
func shown(_ text: String) -> String {
    let scalars = text.unicodeScalars.map { scalar in
        (0x20..<0x7f).contains(scalar.value) ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
    }
    return "'\(scalars.joined())'"
}

func shown(_ value: Value?) -> String {
    switch value {
    case nil: "deletion"
    case .json(let text): shown(text)
    case .bytes(let bytes): "bytes\(bytes)"
    }
}

func shown(_ content: Content) -> String {
    switch content {
    case .put(let value): shown(value)
    case .update(let update): "update \(shown(update.operations))"
    case .delete: "deletion"
    }
}

func shown(_ number: Timestamp?) -> String {
    number.map(String.init) ?? "none"
}

func shown(_ numbers: [Timestamp]?) -> String {
    numbers.map { "\($0)" } ?? "none"
}

func shown(_ texts: [String]) -> String {
    "[\(texts.map { shown($0) }.joined(separator: ", "))]"
}

func shown(_ read: ReadResult?) -> String {
    read.map { "\(shown($0.value)) of \(shown($0.ts))" } ?? "unknown"
}

func shown(_ writes: [KeyWrite]) -> String {
    "[\(writes.map { "\(shown($0.key)): \(shown($0.content))" }.joined(separator: ", "))]"
}

func shown(_ state: SessionState) -> String {
    let cache = state.cache.map { entry in
        "\(shown(entry.key)): \(shown(entry.write.content)) of \(entry.write.ct) by \(shown(entry.write.txId))"
    }
    return "ust \(state.ust), deps \(shown(state.deps)), hwt \(state.hwt), cache [\(cache.joined(separator: ", "))]"
}

func shown(_ attempt: CommitAttempt?) -> String {
    guard let attempt else { return "none" }
    let read = "snapshot \(attempt.snapshot), deps \(shown(attempt.deps)), hwt \(attempt.hwt)"
    return "\(shown(attempt.txId)), \(read), sentAfter \(attempt.sentAfter), writes \(shown(attempt.writes))"
}

func shown(_ depends: [Dependency]?) -> String {
    guard let depends else { return "none" }
    let each = depends.map { one in
        "\(shown(one.key)) of \(one.source) at \(one.ts)\(one.near ? ", near" : "")"
    }
    return "[\(each.joined(separator: "; "))]"
}

func shown(_ state: OperationSessionState) -> String {
    let seen = "seen \(state.seen), region \(shown(state.region)), ust \(state.ust)"
    return "\(seen), depends \(shown(state.depends))"
}
