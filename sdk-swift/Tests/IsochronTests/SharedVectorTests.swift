import IsochronSession
import XCTest

@testable import Isochron

/// Exported sessions, errors and merge patches equal those of TypeScript. The vectors come from `test/vectors`.
final class SharedVectorTests: XCTestCase {
    func testExportedSessionsAreAcceptedRefusedAndWrittenAsInTypeScript() throws {
        for item in try vectors("exports.json").items("imports") {
            let members = try item.members("import")
            let text = try members.text("text")
            guard let exported = members["exported"] else {
                XCTAssertThrowsError(try ExportedSession(json: text), text) { error in
                    XCTAssertEqual((error as? IsochronError)?.code.rawValue, try? members.text("refused"), text)
                }
                continue
            }
            XCTAssertTrue(isSameText(try ExportedSession(json: text).json, try exported.text("exported")), text)
        }
    }

    func testSeenEntriesAreAcceptedAndRefusedAsInTypeScript() throws {
        for item in try vectors("exports.json").items("seen") {
            let members = try item.members("seen")
            let text = try members.text("text")
            let isTaken = members["seen"] != nil
            XCTAssertEqual((try? JSONReader.read(text).exportedSeen("seen")) != nil, isTaken, text)
        }
    }

    func testErrorFramesHaveTheSameMeaningAsInTypeScript() throws {
        for item in try vectors("errors.json").items("frames") {
            let members = try item.members("frame")
            let frame = try members.required("frame")
            switch Result(catching: { try Incoming(frame) }) {
            case .success(.error(let met)):
                XCTAssertEqual(met.id, try members["id"]?.count("id"))
                try expect(try members.required("error").members("error"), met.error)
            case .success(let other): XCTFail("\(other)")
            case .failure(let error):
                let refusal = try members.required("refused").members("refused")
                XCTAssertEqual((error as? IsochronError)?.code.rawValue, try refusal.text("code"))
                XCTAssertEqual((error as? IsochronError)?.retryable, refusal["retryable"] == .bool(true))
            }
        }
    }

    func testCodesAndTheirRetryabilityAreTheSameAsInTypeScript() throws {
        let codes = try vectors("errors.json").items("codes").map { try $0.members("code") }
        XCTAssertEqual(try codes.map { try $0.text("code") }, IsochronError.Code.allCases.map(\.rawValue))
        for members in codes {
            let code = IsochronError.Code(rawValue: try members.text("code"))
            XCTAssertEqual(code.isRetryable, members["retryable"] == .bool(true), code.rawValue)
        }
    }

    func testMergePatchesMakeTheSameDocumentsAsInTypeScript() throws {
        for item in try vectors("patches.json").items("patches") {
            let members = try item.members("patch")
            let patch = try JSONValue(JSONReader.read(try members.text("patch")))
            let value = try members.required("value").present?.value()
            guard let result = members["result"] else {
                XCTAssertThrowsError(try MergePatch.apply(patch, to: value, .standard)) { error in
                    XCTAssertEqual((error as? IsochronError)?.code.rawValue, try? members.text("refused"))
                }
                continue
            }
            let expected = try JSONReader.read(try result.text("result"))
            guard case .json(let text) = try MergePatch.apply(patch, to: value, .standard) else {
                XCTFail("\(expected)")
                continue
            }
            XCTAssertEqual(try JSONReader.read(text).sorted, expected.sorted)
        }
    }

    func testDocumentsAreStoredOrRefusedWithAPathAsInTypeScript() throws {
        let cases = try vectors("documents.json").items("documents")
        XCTAssertGreaterThan(cases.count, 15)
        for item in cases {
            let members = try item.members("document")
            let shape = try Shape(try members.required("document"))
            // Bytes can be a whole document, but not a part of an encoded one.
            let documents: [(Bool, () throws -> Value)] = [
                (!shape.isBytes, { try DocumentCoding().encode(shape, .standard) }),
                (shape.isJSONValue, { try DocumentCoding().encode(try shape.document, .standard) }),
            ]
            for (i, (isOne, document)) in documents.enumerated() where isOne {
                guard let stored = members["stored"] else {
                    XCTAssertThrowsError(try document(), "\(item)") { error in
                        let error = error as? IsochronError
                        XCTAssertEqual(error?.code.rawValue, try? members.text("refused"))
                        // An encoder does not report the path of a document that is too deep.
                        let path = i == 0 && shape.isNested ? "document" : (try? members.text("path")) ?? ""
                        XCTAssertTrue(error?.message.hasPrefix("\(path): ") == true, "\(path) in \(error as Any)")
                    }
                    continue
                }
                switch (try document(), try stored.value()) {
                case (.json(let text), .json(let expected)):
                    XCTAssertEqual(try JSONReader.read(text).sorted, try JSONReader.read(expected).sorted)
                case (let value, let expected): XCTAssertEqual(value, expected)
                }
            }
        }
    }

    private func expect(_ expected: Raw.Members, _ got: IsochronError) throws {
        XCTAssertEqual(got.code.rawValue, try expected.text("code"))
        XCTAssertTrue(isSameText(got.message, try expected.text("message")))
        XCTAssertEqual(got.retryable, expected["retryable"] == .bool(true))
    }
}

extension Raw {
    /// With its members in the order of their names, and each name once.
    fileprivate var sorted: Raw {
        switch self {
        case .array(let items): return .array(items.map(\.sorted))
        case .object(let members):
            var once = Members()
            for member in members.all { once.set(member.name, member.value.sorted) }
            return .object(Members(once.all.sorted { keyPrecedes($0.name, $1.name) }))
        default: return self
        }
    }
}

/// A document of `documents.json`: values beyond JSON have names.
private indirect enum Shape: Encodable, Sendable {
    case json(JSONValue)
    case number(Double)
    case bytes([UInt8])
    case array([Shape])
    case object([(name: String, value: Shape)])
    case nested(Int)

    init(_ raw: Raw) throws {
        let member = try XCTUnwrap(try raw.members("shape").all.first)
        switch member.name {
        case "json": self = .json(try JSONValue(JSONReader.read(try member.value.text("json"))))
        case "number":
            self = .number(
                try XCTUnwrap(
                    ["NaN": .nan, "Infinity": .infinity, "-Infinity": -.infinity][
                        try member.value.text("number")]))
        case "bytes": self = .bytes(try member.value.items("bytes").map { UInt8(try $0.count("byte")) })
        case "array": self = .array(try member.value.items("array").map(Shape.init))
        case "object":
            self = .object(
                try member.value.items("object").map { pair in
                    let pair = try pair.items("member")
                    return (try pair[0].text("name"), try Shape(pair[1]))
                })
        default: self = .nested(Int(try member.value.count("nested")))
        }
    }

    private var nestedLists: JSONValue? {
        guard case .nested(let depth) = self else { return nil }
        return (0..<depth).reduce(JSONValue.null) { inner, _ in .array([inner]) }
    }

    var isBytes: Bool { if case .bytes = self { true } else { false } }

    var isNested: Bool { nestedLists != nil }

    /// Whether it can be a document without `Codable`: bytes cannot be a part of one.
    var isJSONValue: Bool { (try? document) != nil }

    /// Without `Codable`.
    var document: Document {
        get throws {
            if case .bytes(let bytes) = self { return .bytes(bytes) }
            return .json(try value)
        }
    }

    private var value: JSONValue {
        get throws {
            switch self {
            case .json(let value): return value
            case .number(let number): return .number(number)
            case .bytes: throw IsochronError(.valueInvalid, "bytes")
            case .array(let items): return .array(try items.map { try $0.value })
            case .object(let members):
                return .object(Dictionary(uniqueKeysWithValues: try members.map { ($0.name, try $0.value.value) }))
            case .nested: return nestedLists ?? .null
            }
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .json(let value): try value.encode(to: encoder)
        case .number(let number):
            var container = encoder.singleValueContainer()
            try container.encode(number)
        case .bytes(let bytes): try Document.bytes(bytes).encode(to: encoder)
        case .array(let items): try items.encode(to: encoder)
        case .object(let members):
            try Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value) }).encode(to: encoder)
        case .nested: try (nestedLists ?? .null).encode(to: encoder)
        }
    }
}
