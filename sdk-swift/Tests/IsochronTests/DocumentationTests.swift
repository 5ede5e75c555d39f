import Foundation
import IsochronSession
import XCTest

@testable import Isochron

final class DocumentationTests: XCTestCase, @unchecked Sendable {
    private var package: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    private func lines(_ path: String) throws -> [String] {
        let text = try String(contentsOf: package.appendingPathComponent(path), encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The lines between two marks, without their common indentation.
    private func blocks(of lines: [String], from start: String, to end: String) -> [[String]] {
        var found: [[String]] = []
        var block: [String]?
        for line in lines {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if let open = block, trimmed == end {
                let indent = open.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
                found.append(open.map { String($0.dropFirst(indent)) })
                block = nil
            } else if block != nil {
                block?.append(line)
            } else if trimmed == start {
                block = []
            }
        }
        return found
    }

    func testTheCodeOfTheDocumentationIsCompiled() throws {
        let pages = ["Isochron.md", "Tour.md"]
        let shown = try pages.flatMap { page in
            blocks(of: try lines("Sources/Isochron/Isochron.docc/\(page)"), from: "```swift", to: "```")
        }
        let compiled = blocks(of: try lines("Tests/IsochronTests/TourCode.swift"), from: "// Block", to: "// End")
        XCTAssertEqual(shown, compiled)
        XCTAssertGreaterThan(shown.count, 8)
    }

    func testEveryCodeIsInTheErrorTableAndAsRetryableAsThere() throws {
        let table = package.deletingLastPathComponent().appendingPathComponent("ERRORS.md")
        guard let text = try? String(contentsOf: table, encoding: .utf8) else {
            throw XCTSkip("the package stands alone: there is no \(table.path)")
        }
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
            row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        XCTAssertEqual(rows.map { String($0[0].dropFirst().dropLast()) }, IsochronError.Code.allCases.map(\.rawValue))
        XCTAssertEqual(rows.map { $0[2] == "yes" }, IsochronError.Code.allCases.map(\.isRetryable))
    }

    func testErrorsAreMatchedByTheirCodes() {
        let error: any Error = IsochronError(.snapshotTooOld, "gone")
        do {
            throw error
        } catch let error as IsochronError where error.code == .snapshotTooOld {
            switch error.code {
            case .outcomeUnknown: XCTFail("another code")
            case .snapshotTooOld: XCTAssertEqual(error.localizedDescription, "SNAPSHOT_TOO_OLD: gone")
            default: XCTFail("another code")
            }
        } catch {
            XCTFail("another error")
        }
    }
}
