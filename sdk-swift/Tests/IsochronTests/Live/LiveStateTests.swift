import IsochronSession
import XCTest

@testable import Isochron

/// A range of the keyspace `k`.
private func range(_ start: String, _ end: String) -> LiveRange {
    .range(start: ExactString("k/\(start)"), end: ExactString("k/\(end)"))
}

private func key(_ name: String) -> ExactString { ExactString("k/\(name)") }

private func put(_ text: String) -> Content { .put(.json(text)) }

private let increment = Content.update(Update(operations: #"[{"op":"increment","path":"","by":1}]"#))

private func change(_ name: String, _ versions: (Timestamp, Content)...) -> KeyChanges {
    KeyChanges(key: key(name), changes: versions.map { CachedWrite(ct: $0.0, txId: "t\($0.0)", content: $0.1) })
}

extension LiveState {
    /// A new scope with its first read, whose request is number `request`.
    fileprivate mutating func watched(
        _ range: LiveRange, at snapshot: Timestamp, _ values: [String: String], request: Int = 1
    ) -> ScopeId {
        let (id, isNew) = scope(of: range)
        XCTAssertTrue(isNew)
        let number = read([id], seen: min(snapshot, at ?? snapshot))
        named(id, by: request)
        hasRead(number, at: snapshot, stored(values), doubts: [])
        return id
    }

    /// Documents by their names; pending ones have a star.
    fileprivate func shown(_ id: ScopeId) -> [String: String] {
        var shown: [String: String] = [:]
        for (key, document) in scopes[id]?.documents ?? [:] {
            guard case .json(let text) = document.value else { continue }
            shown[unqualify(key.text).key] = document.isPending ? text + "*" : text
        }
        return shown
    }

    @discardableResult
    fileprivate mutating func answer(
        _ after: Timestamp, _ to: Timestamp, _ changes: [KeyChanges] = [], request: Int = 1,
        doubts: Set<WriteNumber> = []
    ) -> Bool {
        answered(LiveAsked(number: request, after: after), LiveAnswer(to: to, changes: changes), doubts: doubts)
    }
}

private func stored(_ texts: [String: String]) -> [ExactString: Value] {
    var values: [ExactString: Value] = [:]
    for (name, text) in texts { values[key(name)] = .json(text) }
    return values
}

final class LiveStateTests: XCTestCase {
    func testAnAnswerWaitsWhileCommitsAreDeferredAndTheWritesStayAboveItAtTheirNewTimestamps() {
        let own = Origin(ts: 12, txId: "own")
        let cached = CacheEntry(key: "k/a", write: CachedWrite(ct: own.ts, txId: own.txId, content: put("9")))
        var state = LiveState(OwnWrites(cache: [cached]))
        let id = state.watched(range("a", "z"), at: 10, ["a": "1"])
        state.isDeferred = true
        XCTAssertFalse(state.answer(10, 20, [change("b", (15, put("2")))]))
        XCTAssertEqual(state.shown(id), ["a": "9*"])
        state.moved(Origin(ts: 25, txId: "own"))
        XCTAssertEqual(state.release().count, 0)
        state.isDeferred = false
        XCTAssertEqual(state.release().map(\.to), [20])
        XCTAssertEqual(state.shown(id), ["a": "9*", "b": "2"])
        XCTAssertTrue(state.answer(20, 30, [change("a", (25, put("9")))]))
        XCTAssertEqual(state.shown(id), ["a": "9", "b": "2"])
    }

    func testThePositionBeginsAtTheFirstReadAndAnAnswerMovesAllScopesAtOnce() {
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, ["a1": "1"])
        XCTAssertEqual(state.at, 10)
        let b = state.watched(range("b", "c"), at: 10, ["b1": "1"])
        XCTAssertEqual([state.shown(a), state.shown(b)], [["a1": "1"], ["b1": "1"]])
        state.answer(10, 20, [change("a1", (15, put("2"))), change("b1", (15, .delete)), change("c", (15, put("9")))])
        XCTAssertEqual([state.shown(a), state.shown(b)], [["a1": "2"], [:]])
        XCTAssertEqual(state.at, 20)
        let changes = state.takeChanges()
        XCTAssertEqual(changes[a], [key("a1")])
        XCTAssertEqual(state.takeChanges(), [:])
    }

    func testAScopeJoinsWhenThePositionHasReachedItsFirstRead() {
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, ["a1": "1"])
        let (b, _) = state.scope(of: range("b", "c"))
        let reading = state.read([b], seen: 10)
        state.named(b, by: 2)
        state.answer(10, 14, [change("a1", (12, put("2"))), change("b1", (12, put("12")))], request: 2)
        state.hasRead(reading, at: 18, stored(["b1": "16"]), doubts: [])
        XCTAssertEqual(state.shown(b), [:])
        XCTAssertTrue(state.isBehind)
        XCTAssertEqual(state.after, 14)
        let changes = [change("a1", (16, put("3"))), change("b1", (16, put("16")), (19, increment))]
        state.answer(14, 20, changes, request: 3)
        XCTAssertEqual(state.shown(a), ["a1": "3"])
        XCTAssertEqual(state.shown(b), ["b1": "17"])
        XCTAssertFalse(state.isBehind)
    }

    func testAnAnswerToARequestThatDidNotNameAScopeDoesNotMoveIt() {
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, ["a1": "1"], request: 5)
        state.answer(10, 20, request: 4)
        XCTAssertEqual(state.at, 10)
        for id in state.scopes.keys.sorted() { state.unnamed(id) }
        state.answer(10, 20, request: 9)
        XCTAssertEqual(state.at, 10)
        state.named(a, by: 10)
        state.answer(10, 20, [change("a1", (11, put("2")))], request: 10)
        XCTAssertEqual(state.at, 20)
        XCTAssertEqual(state.shown(a), ["a1": "2"])
    }

    func testAnswersThatOverlapOrComeTwiceChangeNothingASecondTime() {
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, ["a1": "1"])
        for _ in 0..<2 { state.answer(10, 20, [change("a1", (15, increment))]) }
        state.answer(12, 30, [change("a1", (15, increment), (25, increment))])
        state.answer(40, 50, [change("a1", (45, increment))])
        XCTAssertEqual(state.shown(a), ["a1": "3"])
        XCTAssertEqual(state.at, 30)
    }

    func testAnOwnWriteIsShownAtOnceAndIsPendingUntilThePositionHasPassedIt() {
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, ["a1": "1"])
        state.called(1, [KeyWrite(key: "k/a1", content: increment), KeyWrite(key: "k/a2", content: put("7"))])
        XCTAssertEqual(state.shown(a), ["a1": "2*", "a2": "7*"])
        _ = state.committed(1, Origin(ts: 25, txId: "t25"))
        state.answer(10, 20)
        XCTAssertEqual(state.shown(a), ["a1": "2*", "a2": "7*"])
        state.answer(20, 25, [change("a1", (25, increment)), change("a2", (25, put("7")))])
        XCTAssertEqual(state.shown(a), ["a1": "2", "a2": "7"])
    }

    func testAWriteThatIsRefusedGoesAgainAndOneThatIsOverlaidByADeletionStaysHidden() {
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, ["a1": "1"])
        state.called(1, [KeyWrite(key: "k/a1", content: .delete)])
        state.called(2, [KeyWrite(key: "k/a1", content: put("5"))])
        XCTAssertEqual(state.shown(a), ["a1": "5*"])
        _ = state.dropped(2)
        XCTAssertEqual(state.shown(a), [:])
        _ = state.dropped(1)
        XCTAssertEqual(state.shown(a), ["a1": "1"])
    }

    func testAnAnswerWaitsWhileAWriteMayHaveHadAnEffectSoThatNoUpdateCountsTwice() {
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, ["a1": "1"])
        state.called(1, [KeyWrite(key: "k/a1", content: increment)])
        XCTAssertFalse(state.answer(10, 20, [change("a1", (15, increment))], doubts: [1]))
        XCTAssertFalse(state.answer(20, 30, [change("a1", (25, put("9")))]))
        XCTAssertEqual(state.shown(a), ["a1": "2*"])
        let applied = state.committed(1, Origin(ts: 15, txId: "t15"))
        XCTAssertEqual(applied.map(\.to), [20, 30])
        XCTAssertEqual(state.shown(a), ["a1": "9"])
    }

    func testAFirstReadThatMayContainAnOwnWriteIsShownOnceThatIsDecided() {
        var state = LiveState()
        state.called(1, [KeyWrite(key: "k/a1", content: increment)])
        let (a, _) = state.scope(of: range("a", "b"))
        let reading = state.read([a], seen: 10)
        state.named(a, by: 1)
        state.hasRead(reading, at: 20, stored(["a1": "2"]), doubts: [1])
        XCTAssertNil(state.at)
        _ = state.committed(1, Origin(ts: 15, txId: "t15"))
        XCTAssertEqual(state.at, 20)
        XCTAssertEqual(state.shown(a), ["a1": "2"])
    }

    func testBelowTheRetentionAllScopesAreShownAsEverUntilTheyAreReadAnew() {
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, ["a1": "1", "a2": "1"])
        _ = state.takeChanges()
        state.gone()
        XCTAssertEqual(state.shown(a), ["a1": "1", "a2": "1"])
        XCTAssertNil(state.after)
        let (b, _) = state.scope(of: range("b", "c"))
        let reading = state.read([a, b], seen: 10)
        state.hasRead(reading, at: 90, stored(["a1": "1", "a3": "3", "b1": "1"]), doubts: [])
        XCTAssertEqual(state.shown(a), ["a1": "1", "a3": "3"])
        XCTAssertEqual(state.shown(b), ["b1": "1"])
        XCTAssertEqual(state.takeChanges()[a], [key("a2"), key("a3")])
        XCTAssertEqual(state.at, 90)
    }

    func testADroppedScopeLeavesNoDocumentsBehind() {
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, ["a1": "1", "a2": "1"])
        let one = state.watched(.keys([key("a1")]), at: 10, ["a1": "1"])
        state.called(1, [KeyWrite(key: "k/a2", content: .delete)])
        XCTAssertEqual(state.drop(a), [])
        state.answer(10, 20, [change("a1", (15, put("2"))), change("a2", (15, .delete))])
        XCTAssertEqual(state.shown(one), ["a1": "2"])
        _ = state.dropped(1)
        let again = state.watched(range("a", "b"), at: 20, ["a1": "2"])
        XCTAssertEqual(state.shown(again), ["a1": "2"])
    }

    func testAScopeThatIsDroppedDuringItsReadLeavesNoOldDocumentsInAnother() {
        var state = LiveState()
        let a = state.watched(range("a", "c"), at: 10, ["b1": "1"])
        let (b, c) = (state.scope(of: range("b", "c")).id, state.scope(of: range("c", "d")).id)
        let reading = state.read([b, c], seen: 10)
        for id in [b, c] { state.named(id, by: 1) }
        state.hasRead(reading, at: 12, stored(["b1": "1", "c1": "1"]), doubts: [])
        _ = state.drop(b)
        state.answer(10, 20, [change("b1", (15, put("2"))), change("c1", (15, put("2")))])
        XCTAssertEqual([state.shown(a), state.shown(c)], [["b1": "2"], ["c1": "2"]])
    }

    func testAWatchAboveTheLimitsIsTooLarge() {
        let names = (0...LiveRange.maxDocuments).map { "a\($0)" }
        XCTAssertEqual(LiveRange.keys(Set(names.map(key))).problem?.code, .watchTooLarge)
        var state = LiveState()
        let a = state.watched(range("a", "b"), at: 10, Dictionary(uniqueKeysWithValues: names.map { ($0, "1") }))
        XCTAssertEqual(state.scopes[a]?.isTooLarge, true)
        state.answer(10, 20, [change(names[0], (15, .delete))])
        XCTAssertEqual(state.scopes[a]?.isTooLarge, false)
    }

    func testARangeIsOfOneKeyspaceAndNotEmpty() {
        XCTAssertNil(range("", "z").problem)
        XCTAssertNil(LiveRange.range(start: ExactString("k/"), end: ExactString("k0")).problem)
        for (start, end) in [("k/b", "k/a"), ("k/a", "k/a"), ("k/a", "l/a"), ("/a", "/b"), ("k", "k/a")] {
            let problem = LiveRange.range(start: ExactString(start), end: ExactString(end)).problem
            XCTAssertEqual(problem?.code, .invalidRequest, "\(start) \(end)")
        }
    }

    func testTheEndOfAPrefixIsTheFirstTextAboveAllThatBeginWithIt() {
        XCTAssertEqual(prefixEnd("a/"), "a0")
        XCTAssertEqual(prefixEnd("a\u{10FFFF}"), "b")
        XCTAssertEqual(prefixEnd("\u{D7FF}"), "\u{E000}")
        XCTAssertNil(prefixEnd("\u{10FFFF}"))
    }
}
