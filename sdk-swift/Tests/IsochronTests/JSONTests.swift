import IsochronSession
import XCTest

@testable import Isochron

final class JSONTests: XCTestCase, @unchecked Sendable {
    private func written(_ raw: Raw) -> String {
        var out = JSONWriter()
        out.value(raw)
        return out.text
    }

    func testAJsonTextIsUnchangedAfterReadingAndWriting() throws {
        let texts = [
            "null", "true", "false", "0", "-1", "9007199254740991", "-9007199254740991", "0.5", "1e-7", "\"\"", "[]",
            "{}",
            #"["a",[1,{"b":null}],"\n\t\b\f\r\u0001\"\\/é😀"]"#, #"{"z":1,"a":{"z":[]},"__proto__":2}"#,
        ]
        for text in texts { XCTAssertEqual(written(try JSONReader.read(text)), text) }
    }

    func testNumbersAreAsExactAsDoubles() throws {
        XCTAssertEqual(try JSONReader.read("9007199254740991"), .integer(9_007_199_254_740_991))
        XCTAssertEqual(try JSONReader.read("1e3").exactInteger, 1000)
        XCTAssertEqual(try JSONReader.read("3.0").exactInteger, 3)
        XCTAssertEqual(try JSONReader.read("-0").exactInteger, 0)
        for text in ["9007199254740992", "99999999999999999999", "1e300", "0.5", "\"1\"", "null"] {
            XCTAssertNil(try JSONReader.read(text).exactInteger, text)
        }
        XCTAssertEqual(written(.number(1e20)), "100000000000000000000")
        XCTAssertEqual(written(.number(5)), "5")
        XCTAssertEqual(written(.integer(.min)), "-9223372036854775808")
    }

    func testEscapesAreReadAndOfTwoEqualMembersTheLaterCounts() throws {
        XCTAssertEqual(try JSONReader.read(#""\u0041\u00e9\ud83d\ude00\/""#), .string("Aé😀/"))
        guard case .object(let members) = try JSONReader.read(#" { "a" : 1 , "a" : 2 } "#) else {
            return XCTFail("no object")
        }
        XCTAssertEqual(members["a"], .integer(2))
        XCTAssertNil(members["b"])
    }

    func testNamesThatUnicodeCallsEqualAreRefusedAndNotLost() throws {
        struct Named: Decodable { let a: Int }
        let text = "{\"a\":1,\"\u{e9}\":2,\"e\u{301}\":3}"
        XCTAssertTrue(isSameText(try DocumentCoding.normalForm(of: text), text))
        let reads: [() throws -> Any?] = [
            { try DocumentCoding().decode(.json(text), as: JSONValue.self) },
            { try DocumentCoding().decode(.json(text), as: Document.self) },
            { try DocumentCoding().decode(.json(text), as: [String: Int].self) },
            { try DocumentCoding().decode(.json(text), as: Named.self) },
        ]
        for read in reads {
            XCTAssertThrowsError(try read()) { error in
                XCTAssertEqual((error as? IsochronError)?.code, .valueInvalid)
                XCTAssertTrue("\(error)".contains("equal in Unicode"), "\(error)")
            }
        }
        let patched = try MergePatch.apply(["a": nil], to: .json(text), .standard)
        XCTAssertEqual(patched, .json("{\"\u{e9}\":2,\"e\u{301}\":3}"))
    }

    func testANumberThatNoDoubleHoldsIsRefusedWithItsPlace() {
        let documents: [(any Encodable & Sendable, String)] = [
            (["ids": [1, Int64.max]], "document/ids/1: a double holds 9223372036854776000, not the whole number"),
            (["id": 9_007_199_254_740_993], "document/id: a double holds 9007199254740992"),
        ]
        for (document, message) in documents {
            XCTAssertThrowsError(try DocumentCoding().encode(document, .standard)) { error in
                XCTAssertTrue((error as? IsochronError)?.message.hasPrefix(message) == true, "\(error)")
            }
        }
        XCTAssertThrowsError(try DocumentCoding().encode(JSONValue.object(["a/b": .integer(.max)]), .standard)) {
            XCTAssertTrue(($0 as? IsochronError)?.message.hasPrefix("document/a~1b: ") == true, "\($0)")
        }
    }

    func testAnInvalidJsonTextIsAnError() {
        let wrong = [
            "", " ", "nul", "nulll", "tru", "01", "-", "1.", ".5", "1e", "+1", "NaN", "1e999", "'a'", "\"", "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "[", "[1", "[1,", "[1,]",
            "[,1]", "[1 2]",
            "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "1 1", "[1]]",
        ]
        for text in wrong { XCTAssertThrowsError(try JSONReader.read(text), text) }
        XCTAssertThrowsError(try JSONReader.read(String(repeating: "[", count: 1_000_000)))
        XCTAssertThrowsError(try JSONReader.read(String(repeating: "{\"a\":", count: 1_000_000)))
        let deepest = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
        XCTAssertNoThrow(try JSONReader.read(deepest))
    }

    /// Every prefix of a text, and every text with one byte changed, ends with a value or an error.
    func testNoTextTrapsTheJsonReader() {
        let text =
            #"[{"type":"values","id":12,"snapshot":1.5e3,"values":[[1,"\u00e9\n"],null,{"bytes":"AQ=="}]},true,false]"#
        var random = SeededRandom(seed: 7)
        let bytes = Array(text.utf8)
        for end in 0...bytes.count { _ = read(Array(bytes[..<end])) }
        for _ in 0..<20_000 {
            var changed = bytes
            let at = Int.random(in: 0..<changed.count, using: &random)
            changed[at] = UInt8.random(in: .min ... .max, using: &random)
            _ = read(changed)
        }
    }

    private func read(_ bytes: [UInt8]) -> Raw? {
        bytes.withUnsafeBufferPointer { try? JSONReader.read($0) }
    }

    func testFramesArePackedIntoOneMessage() throws {
        let ping = JSONCodec.encode(.ping(token: "a\"b"), id: 1)
        let read = JSONCodec.encode(.read(tx: nil, keys: ["k/é"], at: Snapshot(ts: 5, deps: [6])), id: 2)
        XCTAssertEqual(JSONCodec.pack([ping]), .text(#"{"type":"ping","id":1,"token":"a\"b"}"#))
        XCTAssertEqual(
            JSONCodec.pack([ping, read]),
            .text(#"[{"type":"ping","id":1,"token":"a\"b"},{"type":"read","id":2,"keys":["k/é"],"at":5,"deps":[6]}]"#))
    }

    func testMergePatchesFollowRfc7396() throws {
        let cases: [(String?, JSONValue, String)] = [
            (#"{"a":"b"}"#, ["a": "c"], #"{"a":"c"}"#), (#"{"a":"b"}"#, ["b": "c"], #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, ["a": nil], "{}"), (#"{"a":"b","b":"c"}"#, ["a": nil], #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, ["a": "c"], #"{"a":"c"}"#),
            (#"{"a":{"b":"c"}}"#, ["a": ["b": "d", "c": nil]], #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, ["a": [1]], #"{"a":[1]}"#), (#"["a","b"]"#, ["c", "d"], #"["c","d"]"#),
            (#"{"a":"foo"}"#, nil, "null"), (#"{"e":null}"#, ["a": 1], #"{"e":null,"a":1}"#),
            ("[1,2]", ["a": "b", "c": nil], #"{"a":"b"}"#), ("{}", ["a": ["bb": ["ccc": nil]]], #"{"a":{"bb":{}}}"#),
            (nil, ["a": 1, "b": nil], #"{"a":1}"#),
            (#"{"__proto__":1}"#, ["__proto__": ["x": 1]], #"{"__proto__":{"x":1}}"#),
        ]
        for (before, patch, after) in cases {
            let merged = try MergePatch.apply(patch, to: before.map { .json($0) }, .standard)
            XCTAssertEqual(merged, .json(after))
        }
    }
}
