import Foundation
import IsochronSession
import XCTest

@testable import Isochron

/// Exported sessions, errors and merge patches are those of TypeScript. The vectors come from `test/vectors`.
final class SharedVectorTests: XCTestCase {
    func testExportedSessionsAreTakenRefusedAndWrittenAlike() throws {
        for item in try file("exports.json").items("imports") {
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

    func testWhatASessionHasSeenIsTakenAndRefusedAlike() throws {
        for item in try file("exports.json").items("seen") {
            let members = try item.members("seen")
            let text = try members.text("text")
            let isTaken = members["seen"] != nil
            XCTAssertEqual((try? JSONReader.read(text).wireSeen()) != nil, isTaken, text)
        }
    }

    func testErrorFramesMeanTheSame() throws {
        for item in try file("errors.json").items("frames") {
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

    func testCodesAreTheSameAndSayTheSameOfRepeating() throws {
        let codes = try file("errors.json").items("codes").map { try $0.members("code") }
        XCTAssertEqual(try codes.map { try $0.text("code") }, IsochronError.Code.allCases.map(\.rawValue))
        for members in codes {
            let code = IsochronError.Code(rawValue: try members.text("code"))
            XCTAssertEqual(code.isRetryable, members["retryable"] == .bool(true), code.rawValue)
        }
    }

    func testMergePatchesMakeTheSameDocuments() throws {
        for item in try file("patches.json").items("patches") {
            let members = try item.members("patch")
            let patch = JSONValue(try JSONReader.read(try members.text("patch")))
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

    private func expect(_ expected: Raw.Members, _ got: IsochronError) throws {
        XCTAssertEqual(got.code.rawValue, try expected.text("code"))
        XCTAssertTrue(isSameText(got.message, try expected.text("message")))
        XCTAssertEqual(got.retryable, expected["retryable"] == .bool(true))
    }

    /// From the folder that `ISOCHRON_VECTORS` names, or where `test/vectors` writes them.
    private func file(_ name: String) throws -> Raw.Members {
        let named = ProcessInfo.processInfo.environment["ISOCHRON_VECTORS"].map { URL(fileURLWithPath: $0) }
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        let folder = named ?? package.appendingPathComponent(".vectors")
        let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        return try JSONReader.read(text).members(name)
    }
}

extension Raw.Members {
    fileprivate func items(_ name: String) throws -> [Raw] { try required(name).items(name) }
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
