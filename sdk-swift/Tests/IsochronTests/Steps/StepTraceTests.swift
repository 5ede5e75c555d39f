import Foundation
import XCTest

@testable import Isochron

/// Replays the step traces of `test/vectors`, which record the TypeScript client.
final class StepTraceTests: XCTestCase, @unchecked Sendable {
    private static let folder =
        ProcessInfo.processInfo.environment["ISOCHRON_VECTORS"]
        ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(".vectors").path

    func testTheMachineHasTheEffectsOfTheTracesOfParis() async throws { try await replayAll("steps-paris") }

    func testTheMachineHasTheEffectsOfTheTracesOfNocc() async throws { try await replayAll("steps-nocc") }

    func testTheMachineHasTheEffectsOfTheTracesOfWren() async throws { try await replayAll("steps-wren") }

    func testTheMachineHasTheEffectsOfTheTracesOfOrbe() async throws { try await replayAll("steps-orbe") }

    func testTheMachineHasTheEffectsOfTheTracesOfCcLo() async throws { try await replayAll("steps-cc-lo") }

    func testCredentialsAreRenewedAsInTheTracesOfParis() async throws { try await replayAll("renewals-paris") }

    func testCredentialsAreRenewedAsInTheTracesOfNocc() async throws { try await replayAll("renewals-nocc") }

    func testCredentialsAreRenewedAsInTheTracesOfOrbe() async throws { try await replayAll("renewals-orbe") }

    func testDeferredCommitsAreMadeAgainAsInTheTracesOfParis() async throws { try await replayAll("suspensions-paris") }

    private func replayAll(_ name: String) async throws {
        let path = "\(Self.folder)/\(name).json"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        // One trace in each line, between the head and the end.
        let traces = text.split(separator: "\n").dropFirst().dropLast()
        XCTAssertGreaterThan(traces.count, 50)
        var differences: [StepDifference] = []
        for trace in traces {
            let one = trace.hasSuffix(",") ? trace.dropLast() : trace
            if let difference = try await replay(trace: one) { differences.append(difference) }
        }
        let count = "\(differences.count) of \(traces.count) traces differ"
        XCTAssert(differences.isEmpty, "\(count)\n\(differences.prefix(3).map(\.description).joined(separator: "\n"))")
    }
}
