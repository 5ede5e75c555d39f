import IsochronSession
import XCTest

/// One word in two spellings, which Swift strings treat as equal.
private let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")

final class ExactTextTests: XCTestCase {
    func testSwiftStringsTreatTwoKeysAsEqual() {
        XCTAssertEqual(composed, decomposed)
        XCTAssertFalse(isSameText(composed, decomposed))
        XCTAssertNotEqual(ExactString(composed), ExactString(decomposed))
    }

    func testTwoSpellingsAreTwoKeysOfATransaction() {
        var transaction = SessionTransaction(id: "t", seen: Snapshot(ts: 0))
        transaction.write(composed, .json("1"))
        XCTAssertNil(transaction.lookup(decomposed))
        transaction.write(decomposed, .json("2"))
        XCTAssertEqual(transaction.writes.count, 2)
        XCTAssertEqual(transaction.lookup(composed)?.value, .json("1"))
    }

    func testTwoSpellingsAreTwoValues() {
        XCTAssertNotEqual(Value.json(composed), .json(decomposed))
        XCTAssertNotEqual(Value.json("1"), .bytes(Array("1".utf8)))
        XCTAssertEqual(Set([Value.json(composed), .json(decomposed), .json(composed)]).count, 2)
        XCTAssertNotEqual(KeyWrite(key: composed, value: nil), KeyWrite(key: decomposed, value: nil))
        XCTAssertNotEqual(
            Dependency(key: composed, source: 0, ts: 1), Dependency(key: decomposed, source: 0, ts: 1)
        )
        let write = CachedWrite(ct: 1, txId: "t", value: nil)
        XCTAssertNotEqual(CacheEntry(key: composed, write: write), CacheEntry(key: decomposed, write: write))
    }

    func testEqualValuesHaveEqualHashes() {
        let (one, other) = ("default/\(composed)", ["default/", composed].joined())
        XCTAssertEqual(Set([ExactString(one), ExactString(other)]).count, 1)
        let dependencies = [one, other].map { Dependency(key: $0, source: 1, ts: 2) }
        XCTAssertEqual(Set(dependencies).count, 1)
        let write = CachedWrite(ct: 1, txId: "t", value: .json(composed))
        XCTAssertEqual(Set([CacheEntry(key: one, write: write), CacheEntry(key: other, write: write)]).count, 1)
        XCTAssertEqual(Set([KeyWrite(key: one, value: nil), KeyWrite(key: other, value: nil)]).count, 1)
    }

    func testASlashWithAnAccentDividesKeyspaceAndKey() {
        let parts = unqualify("notes/\u{301}x")
        XCTAssertTrue(isSameText(parts.keyspace, "notes"))
        XCTAssertTrue(isSameText(parts.key, "\u{301}x"))
        XCTAssertEqual(unqualify("no slash").key, "no slash")
    }
}
