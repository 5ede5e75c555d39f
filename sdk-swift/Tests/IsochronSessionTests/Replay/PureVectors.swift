import IsochronSession

/// The comparisons of a file without sequences.
struct Checked: Sendable {
    private(set) var cases = 0
    private(set) var differences: [Mismatch] = []

    mutating func same<T: Equatable>(_ what: String, _ expected: T, _ got: T) {
        cases += 1
        if expected != got { differences.append(Mismatch(what: what, expected: "\(expected)", got: "\(got)")) }
    }

    mutating func sameText(_ what: String, _ expected: String, _ got: String) {
        same(what, shown(expected), shown(got))
    }
}

/// Compares names, their order and their limits with `keys.json`.
func check(_ file: KeyVectors) -> Checked {
    var checked = Checked()
    file.checkKeys(&checked)
    file.checkIds(&checked)
    return checked
}

/// Compares base64 with `values.json`.
func check(_ file: ValueVectors) -> Checked {
    var checked = Checked()
    for item in file.encoded {
        checked.same("base64 of \(item.bytes)", item.base64, toBase64(item.bytes))
        checked.same("bytes of \(item.base64)", item.bytes, fromBase64(item.base64))
    }
    for item in file.decoded {
        checked.same("bytes of \(shown(item.base64))", item.bytes, fromBase64(item.base64))
    }
    return checked
}

/// Compares the normal forms of texts, and the places of their faults, with `documents.json`.
func check(_ file: DocumentVectors) -> Checked {
    var checked = Checked()
    for item in file.texts {
        let expected = item.stored ?? "refused at \(item.path ?? "")"
        checked.sameText("the document \(shown(item.text))", expected, item.normalForm)
    }
    return checked
}

extension DocumentVectors.Text {
    fileprivate var normalForm: String {
        do {
            return try JSONReader.document(text).documentText
        } catch {
            return "refused at \((error as? DocumentFault)?.place ?? "\(error)")"
        }
    }
}

/// Compares pauses, and their random numbers, with `backoff.json`.
func check(_ file: BackoffVectors) -> Checked {
    var checked = Checked()
    for item in file.random {
        var (numbers, fractions) = (SeededRandom(seed: item.seed), SeededRandom(seed: item.seed))
        checked.same("uint32 of \(item.seed)", item.uint32, item.uint32.map { _ in numbers.uint32() })
        checked.same("float of \(item.seed)", item.float, item.float.map { _ in fractions.float() })
    }
    for item in file.schedules {
        var random = SeededRandom(seed: item.seed)
        for (attempt, expected) in item.pausesMs.enumerated() {
            let pause = fullJitterMs({ random.float() }, attempt: attempt, baseMs: item.baseMs, capMs: item.capMs)
            checked.same("pause \(attempt) of \(item.seed) from \(item.baseMs) ms", expected, pause)
        }
    }
    return checked
}

extension KeyVectors {
    fileprivate func checkKeys(_ checked: inout Checked) {
        for item in qualified {
            let (whole, parts) = (qualify(keyspace: item.keyspace, key: item.key), unqualify(item.qualified))
            checked.sameText("qualified key", item.qualified, whole)
            checked.sameText("keyspace", item.unqualified.keyspace, parts.keyspace)
            checked.sameText("key", item.unqualified.key, parts.key)
        }
        for item in order {
            let order = keyPrecedes(item.a, item.b) ? -1 : keyPrecedes(item.b, item.a) ? 1 : 0
            checked.same("order of \(shown(item.a)) and \(shown(item.b))", item.order, order)
            checked.same("\(shown(item.a)) is \(shown(item.b))", item.order == 0, isSameText(item.a, item.b))
        }
        for item in prefixes {
            let has = hasExactPrefix(item.text, item.prefix)
            checked.same("prefix \(shown(item.prefix)) of \(shown(item.text))", item.has, has)
        }
        for item in limits {
            let limits = Limits(
                maxKeyBytes: item.maxKeyBytes, maxValueBytes: 1, maxKeysPerRequest: 1, maxRequestBytes: 1
            )
            checked.same("limit of \(shown(item.key))", item.problem, limits.problem(withKey: item.key)?.vectorName)
        }
    }

    fileprivate func checkIds(_ checked: inout Checked) {
        for item in txIds { checked.same("shape of \(shown(item.text))", item.isTxId, isTxId(item.text)) }
        for item in madeTxIds {
            checked.sameText("id", item.id, txId(session: item.session, counter: item.counter))
        }
        for item in timestamps { checked.same("\(item.number)", item.isTimestamp, isTimestamp(item.number)) }
        for item in walls { checked.same("clock at \(item.timestamp)", item.wallMs, wallMs(of: item.timestamp)) }
    }
}

extension KeyProblem {
    fileprivate var vectorName: String {
        switch self {
        case .empty: "empty"
        case .tooLong: "tooLong"
        }
    }
}
