import IsochronSession
import XCTest

@testable import Isochron

/// A log of transactions in the total order, some of them of the client itself.
private struct LogWorld {
    var random: SeededRandom
    var state = LiveState()
    /// All versions in their order.
    var log: [(key: ExactString, write: CachedWrite)] = []
    var now: Timestamp = 10
    /// Own writes without an outcome that the client knows, in their order; those with a version have committed.
    var own: [(number: WriteNumber, key: ExactString, content: Content, version: Origin?)] = []
    /// All own writes that the client shows above its position.
    var above: [(key: ExactString, content: Content, version: Origin?, number: WriteNumber)] = []
    var lastNumber = 0
    var reads: [(number: Int, scopes: [ScopeId], at: Timestamp)] = []
    var request = 0
    var unnamed: Set<ScopeId> = []
    /// Requests with their answers, some of which come late or twice.
    var answers: [(asked: LiveAsked, answer: LiveAnswer, named: Set<ScopeId>)] = []

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func draw(_ below: Int) -> Int { Int(random.uint32() % UInt32(below)) }

    mutating func key() -> ExactString { ExactString("k/\(["a", "b", "c"][draw(3)])\(draw(3))") }

    mutating func content() -> Content {
        switch draw(5) {
        case 0: .delete
        case 1: .put(.json("\(draw(100))"))
        default: .update(Update(operations: #"[{"op":"increment","path":"","by":\#(1 + draw(9))}]"#))
        }
    }

    func document(_ key: ExactString, at ts: Timestamp) -> Value? {
        let writes = log.filter { $0.key == key && $0.write.ct <= ts }.map {
            OwnWrite(content: $0.write.content, version: Origin(ts: $0.write.ct, txId: $0.write.txId))
        }
        return laidOver(.some(nil), writes) ?? nil
    }

    func documents(_ range: LiveRange, at ts: Timestamp) -> [ExactString: Value] {
        var found: [ExactString: Value] = [:]
        for key in Set(log.map(\.key)) where range.contains(key) { found[key] = document(key, at: ts) }
        return found
    }

    mutating func commitOther() {
        for _ in 0...draw(3) {
            now += 1
            log.append((key(), CachedWrite(ct: now, txId: "other", content: content())))
        }
    }

    mutating func callOwn() {
        lastNumber += 1
        let (key, content) = (key(), content())
        own.append((lastNumber, key, content, nil))
        above.append((key, content, nil, lastNumber))
        state.called(lastNumber, [KeyWrite(key: key.text, content: content)])
    }

    /// The first own write commits in the cluster; its client does not know yet.
    mutating func commitOwn() {
        guard let at = own.firstIndex(where: { $0.version == nil }) else { return }
        now += 1
        own[at].version = Origin(ts: now, txId: "own")
        log.append((own[at].key, CachedWrite(ct: now, txId: "own", content: own[at].content)))
    }

    /// The client gets the outcome of its first write.
    mutating func decide() {
        guard let first = own.first else { return }
        guard first.version != nil || draw(4) == 0 else { return }
        own.removeFirst()
        if let version = first.version {
            if let at = above.firstIndex(where: { $0.number == first.number }) { above[at].version = version }
            _ = state.committed(first.number, version)
        } else {
            above.removeAll { $0.number == first.number }
            _ = state.dropped(first.number)
        }
    }

    var doubts: Set<WriteNumber> { Set(own.map(\.number)) }

    mutating func watch() {
        let names = ["a", "b", "c", "d"]
        let from = draw(3)
        let range: LiveRange =
            draw(3) == 0
            ? .keys([key(), key()])
            : .range(start: ExactString("k/\(names[from])"), end: ExactString("k/\(names[from + 1 + draw(3 - from)])"))
        let (id, isNew) = state.scope(of: range)
        guard isNew else { return }
        unnamed.insert(id)
        let number = state.read([id], seen: state.at ?? 0)
        reads.append((number, [id], now))
    }

    mutating func read() {
        guard !reads.isEmpty else { return }
        let read = reads.remove(at: draw(reads.count))
        var values: [ExactString: Value] = [:]
        for id in read.scopes {
            guard let range = state.scopes[id]?.range else { continue }
            values.merge(documents(range, at: read.at)) { $1 }
        }
        state.hasRead(read.number, at: read.at, values, doubts: doubts)
    }

    mutating func ask() {
        guard let after = state.after else { return }
        request += 1
        let to = after + Timestamp(draw(Int(max(after, now) - after) + 1))
        var changes: [KeyChanges] = []
        for key in Set(log.map(\.key)).sorted(by: { keyPrecedes($0.text, $1.text) }) {
            let all = log.filter { $0.key == key && $0.write.ct > after && $0.write.ct <= to }.map(\.write)
            let newest = all.lastIndex { if case .update = $0.content { false } else { true } } ?? 0
            if !all.isEmpty { changes.append(KeyChanges(key: key, changes: Array(all[newest...]))) }
        }
        answers.append((LiveAsked(number: request, after: after), LiveAnswer(to: to, changes: changes), unnamed))
        unnamed = []
    }

    mutating func answer() {
        guard let next = answers.first else { return }
        if draw(4) != 0 { answers.removeFirst() }
        for id in next.named where state.scopes[id]?.since == .max { state.named(id, by: next.asked.number) }
        _ = state.answered(next.asked, next.answer, doubts: doubts)
    }

    mutating func gone() {
        guard state.after != nil else { return }
        state.gone()
        answers = []
        let number = state.read(Set(state.scopes.keys), seen: state.at ?? 0)
        reads = [(number, Array(state.scopes.keys), now)]
        unnamed = Set(state.scopes.keys)
        for id in state.scopes.keys.sorted() { state.unnamed(id) }
    }

    mutating func drop() {
        guard let id = state.scopes.keys.sorted().first else { return }
        let useless = state.drop(id)
        reads.removeAll { useless.contains($0.number) }
        unnamed.remove(id)
    }

    mutating func step() {
        switch draw(20) {
        case 0..<4: commitOther()
        case 4..<6: callOwn()
        case 6..<8: commitOwn()
        case 8..<11: decide()
        case 11: watch()
        case 12..<14: read()
        case 14..<16: ask()
        case 16..<19: answer()
        default: if draw(3) == 0 { draw(2) == 0 ? gone() : drop() }
        }
    }

    /// What a scope has to show: the snapshot at the position, with own writes above it.
    func expected(_ range: LiveRange, at position: Timestamp) -> [ExactString: LiveDocument] {
        var expected = documents(range, at: position).mapValues { LiveDocument(value: $0, isPending: false) }
        let left = above.filter { $0.version.map { $0.ts > position } ?? true && range.contains($0.key) }
        for key in Set(left.map(\.key)) {
            let writes = left.filter { $0.key == key }.map { OwnWrite(content: $0.content, version: $0.version) }
            let value = laidOver(.some(document(key, at: position)), writes) ?? nil
            expected[key] = value.map { LiveDocument(value: $0, isPending: true) }
        }
        return expected
    }
}

final class LiveRandomTests: XCTestCase {
    func testEveryScopeShowsTheSnapshotAtThePositionWithOwnWritesWhateverComesLateOrTwice() {
        var shown = 0
        for seed in UInt64(1)...60 {
            var world = LogWorld(seed: seed)
            var last: Timestamp = 0
            for step in 0..<150 {
                world.step()
                guard let at = world.state.at else { continue }
                XCTAssertGreaterThanOrEqual(at, last, "seed \(seed), step \(step)")
                last = at
                for scope in world.state.scopes.values where scope.phase == .live {
                    shown += scope.documents.isEmpty ? 0 : 1
                    guard scope.documents != world.expected(scope.range, at: at) else { continue }
                    let expected = world.expected(scope.range, at: at)
                    let keys = Set(scope.documents.keys).union(expected.keys)
                    let wrong = keys.filter { scope.documents[$0] != expected[$0] }.map { key in
                        "\(key.text): \(String(describing: scope.documents[key])), not \(String(describing: expected[key]))"
                    }
                    return XCTFail("seed \(seed), step \(step), at \(at): \(wrong.joined(separator: "; "))")
                }
            }
        }
        XCTAssertGreaterThan(shown, 4000)
    }
}
