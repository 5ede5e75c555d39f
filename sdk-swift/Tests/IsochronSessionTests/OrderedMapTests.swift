import IsochronSession
import XCTest

final class OrderedMapTests: XCTestCase {
    func testKeysKeepTheirInsertionOrder() {
        var map = OrderedMap<String, Int>()
        for (number, key) in ["c", "a", "b", "a"].enumerated() { map[key] = number }
        XCTAssertEqual(map.entries.map { $0.key }, ["c", "a", "b"])
        XCTAssertEqual(map.entries.map { $0.element }, [0, 3, 2])
        XCTAssertEqual(map.first?.key, "c")
    }

    func testAKeyThatIsSetAgainAfterItsRemovalComesLast() {
        var map = OrderedMap<String, Int>()
        for key in ["a", "b"] { map[key] = 1 }
        map["a"] = nil
        XCTAssertNil(map["a"])
        map["a"] = 2
        XCTAssertEqual(map.entries.map { $0.key }, ["b", "a"])
        XCTAssertEqual(map.count, 2)
    }

    func testAnEmptyMapHasNoEntries() {
        var map = OrderedMap<String, Int>()
        map["a"] = nil
        XCTAssertNil(map.first)
        XCTAssertTrue(map.isEmpty)
        XCTAssertEqual(map.entries.count, 0)
    }

    /// The reference is a plain list of pairs.
    func testAnOrderedMapBehavesLikeAListOfPairs() {
        var random = SeededRandom(seed: 7)
        var map = OrderedMap<Int, Int>()
        var list: [(key: Int, element: Int)] = []
        for step in 0..<20_000 {
            let key = Int.random(in: 0..<120, using: &random)
            let known = list.firstIndex { $0.key == key }
            if Int.random(in: 0..<5, using: &random) < 2 {
                map[key] = nil
                if let known { list.remove(at: known) }
            } else {
                map[key] = step
                if let known { list[known].element = step } else { list.append((key, step)) }
            }
            guard step % 97 == 0 else { continue }
            XCTAssertEqual(map.entries.map { $0.key }, list.map { $0.key })
            XCTAssertEqual(map.entries.map { $0.element }, list.map { $0.element })
            XCTAssertEqual(map.first?.key, list.first?.key)
            XCTAssertEqual(map.count, list.count)
            XCTAssertEqual(map[key], list.first { $0.key == key }?.element)
        }
    }

    func testACopyOfAnOrderedMapDoesNotChangeWithTheOriginal() {
        var map = OrderedMap<String, Int>()
        map["a"] = 1
        let copy = map
        map["a"] = 2
        map["b"] = 3
        XCTAssertEqual(copy["a"], 1)
        XCTAssertEqual(copy.count, 1)
    }
}
