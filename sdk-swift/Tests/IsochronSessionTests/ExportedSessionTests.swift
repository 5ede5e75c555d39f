import IsochronSession
import XCTest

final class ExportedSessionTests: XCTestCase {
    private let entry = CacheEntry(
        key: "default/a", write: CachedWrite(ct: 7, txId: "t.0", value: .bytes([0, 255]))
    )

    func testASessionOfTransactionsIsUnchangedAfterExportAndImport() {
        let state = SessionState(ust: 5, deps: [3, 1, 7], hwt: 7, cache: [entry])
        let exported = ExportedSession(state: state, token: "token", protocolName: "wren")
        XCTAssertEqual(exported.sessionState, state)
        XCTAssertEqual(exported.protocolName, "wren")
        XCTAssertNil(exported.operationState())
    }

    func testASessionOfSingleOperationsIsUnchangedAfterExportAndImport() {
        let depends = [Dependency(key: "default/a", source: 2, ts: 4, near: true)]
        let state = OperationSessionState(seen: [1, 2], region: "oregon", ust: 5, depends: depends)
        let exported = ExportedSession(state: state, token: "token", protocolName: "cc-lo")
        XCTAssertEqual(exported.operationState(), state)
        XCTAssertEqual(exported.hwt, 0)
        XCTAssertEqual(exported.writes, [])
    }

    func testAnImportedSessionTakesTheHigherStableTimeOfANode() {
        let state = OperationSessionState(seen: [], region: "oregon", ust: 5)
        let exported = ExportedSession(state: state, token: "token", protocolName: "eventual")
        XCTAssertEqual(exported.operationState(stable: 9)?.ust, 9)
        XCTAssertEqual(exported.operationState(stable: 4)?.ust, 5)
    }

    func testAnExportWithoutAProtocolIsOfPaRiS() {
        XCTAssertEqual(ExportedSession(token: "", ust: 0, hwt: 0).protocolName, "paris")
    }
}

final class NamesTests: XCTestCase {
    func testASessionsNameIs128BitsOfText() {
        var random = SeededRandom(seed: 1)
        let names = (0..<200).map { _ in randomSessionId(using: &random) }
        XCTAssertEqual(Set(names).count, names.count)
        for name in names + [randomSessionId()] {
            XCTAssertEqual(name.utf8.count, 22)
            XCTAssertTrue(isTxId(txId(session: name, counter: .max >> 12)))
        }
    }

    func testAnUnknownProtocolHasNoSession() {
        XCTAssertNil(sessionKind(protocol: "no-such-protocol"))
        XCTAssertNil(sessionKind(protocol: ""))
        XCTAssertNil(sessionKind(protocol: "PaRiS"))
    }

    func testValuesHaveALimit() {
        let limits = Limits(maxKeyBytes: 1, maxValueBytes: 3, maxKeysPerRequest: 1, maxRequestBytes: 1)
        XCTAssertTrue(limits.allows(.json("\"\u{41}\"")))
        XCTAssertFalse(limits.allows(.json("\"\u{e9}\"")))
        XCTAssertFalse(limits.allows(.bytes([1, 2, 3, 4])))
        XCTAssertEqual(Limits.standard.problem(withKey: "a"), nil)
    }

    func testTheJitterIsWithinItsLimitsForEveryAttemptNumber() {
        for attempt in [Int.min, -1, 0, 1_000, .max] {
            let pause = fullJitterMs({ 0.5 }, attempt: attempt, baseMs: 100, capMs: 2_000)
            XCTAssertTrue((0...1_000).contains(pause), "\(pause)")
        }
    }
}
