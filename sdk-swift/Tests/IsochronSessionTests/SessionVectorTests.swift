import IsochronSession
import XCTest

/// The sessions of Swift behave like those of TypeScript. The vectors come from `test/vectors`.
final class SessionVectorTests: XCTestCase {
    func testThereIsASessionForEachProtocolOfTheVectors() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: vectorsFolder().path)
        let protocols = names.filter { $0.hasPrefix("sessions-") }.map { name in
            String(name.dropFirst("sessions-".count).dropLast(".json".count))
        }
        XCTAssertEqual(protocols.sorted(), sessionProtocols.sorted())
        XCTAssertEqual(protocols.count, 15)
    }

    func testASessionOfPaRiSMatchesItsVectors() throws { try expectNoDifference("paris") }
    func testASessionOfBPRMatchesItsVectors() throws { try expectNoDifference("bpr") }
    func testASessionOfNoCCMatchesItsVectors() throws { try expectNoDifference("nocc") }
    func testASessionOfWrenMatchesItsVectors() throws { try expectNoDifference("wren") }
    func testASessionOfCureMatchesItsVectors() throws { try expectNoDifference("cure") }
    func testASessionOfHCureMatchesItsVectors() throws { try expectNoDifference("h-cure") }
    func testASessionOfContrarianMatchesItsVectors() throws { try expectNoDifference("contrarian") }
    func testASessionOfOkapiMatchesItsVectors() throws { try expectNoDifference("okapi") }
    func testASessionOfGentleRainMatchesItsVectors() throws { try expectNoDifference("gentlerain") }
    func testASessionOfEventualMatchesItsVectors() throws { try expectNoDifference("eventual") }
    func testASessionOfOrbeMatchesItsVectors() throws { try expectNoDifference("orbe") }
    func testASessionOfOrbeClockMatchesItsVectors() throws { try expectNoDifference("orbe-clock") }
    func testASessionOfOrbeCleaningMatchesItsVectors() throws { try expectNoDifference("orbe-cleaning") }
    func testASessionOfCOPSGTMatchesItsVectors() throws { try expectNoDifference("cops-gt") }
    func testASessionOfCCLOMatchesItsVectors() throws { try expectNoDifference("cc-lo") }

    private func expectNoDifference(_ name: String) throws {
        let replayed = try replayed(name)
        XCTAssertGreaterThanOrEqual(replayed.sequences, 200)
        XCTAssertGreaterThan(replayed.events, 10 * replayed.sequences)
        let count = replayed.differences.count
        if let first = replayed.differences.first { XCTFail("\(count) sequences differ.\n\(first)") }
    }

    private func replayed(_ name: String) throws -> Replayed {
        switch try XCTUnwrap(sessionKind(protocol: name)) {
        case .transactions(let rules): try replay(readSequences(of: name), rules)
        case .operations(let rules): try replay(readSequences(of: name), rules)
        }
    }
}

/// Names, values and pauses equal those of TypeScript.
final class PureVectorTests: XCTestCase {
    func testKeysHaveTheSameOrderAndLimitsAsInTypeScript() throws {
        expectNoDifference(check(try readVectors("keys.json", as: KeyVectors.self)))
    }

    func testBytesHaveTheSameTextAsInTypeScript() throws {
        expectNoDifference(check(try readVectors("values.json", as: ValueVectors.self)))
    }

    func testTextsAreDocumentsOrRefusedWithTheirPlaceAsInTypeScript() throws {
        let checked = check(try readVectors("documents.json", as: DocumentVectors.self))
        XCTAssertGreaterThan(checked.cases, 500)
        expectNoDifference(checked)
    }

    func testPausesOfASeedAreTheSameAsInTypeScript() throws {
        expectNoDifference(check(try readVectors("backoff.json", as: BackoffVectors.self)))
    }

    private func expectNoDifference(_ checked: Checked) {
        XCTAssertGreaterThan(checked.cases, 0)
        if let first = checked.differences.first { XCTFail("\(checked.differences.count) cases differ. \(first)") }
    }
}

/// Folds give the same bytes as those of TypeScript.
final class FoldVectorTests: XCTestCase {
    func testAFoldGivesTheSameBytesAsInTypeScript() throws {
        let file = try readVectors("folds.json", as: FoldVectors.self)
        XCTAssertGreaterThanOrEqual(file.folds.count, 2000)
        let checked = check(file)
        if let first = checked.differences.first { XCTFail("\(checked.differences.count) cases differ. \(first)") }
    }
}

/// Queries give the same results as those of TypeScript.
final class QueryVectorTests: XCTestCase {
    func testAQueryGivesTheSameResultsChangesAndFaultsAsInTypeScript() throws {
        let file = try readVectors("queries.json", as: QueryVectors.self)
        XCTAssertGreaterThanOrEqual(file.queries.count, 1000)
        let checked = check(file)
        if let first = checked.differences.first { XCTFail("\(checked.differences.count) cases differ. \(first)") }
    }
}
