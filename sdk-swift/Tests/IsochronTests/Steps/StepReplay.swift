import Foundation
import IsochronSession

@testable import Isochron

/// The first step of a trace whose effects differ.
struct StepDifference: CustomStringConvertible {
    let trace: String
    /// Its index among the steps, from 0.
    let step: Int
    let what: String
    let expected: String
    let got: String

    var description: String {
        "\(trace) step \(step): \(what)\n  expected \(expected)\n  got      \(got)"
    }
}

/// Gives a client machine the inputs of a trace, and compares its effects with those of the trace. Nil if all are
/// equal.
@SessionActor
func replay(trace text: Substring) throws -> StepDifference? {
    let trace = try JSONReader.read(String(text)).members("trace")
    let recorder = try StepRecorder(
        try trace.members("settings"), nowMs: try trace.required("at").double())
    let name = try trace.text("name")
    for (index, raw) in try trace.required("steps").items("steps").enumerated() {
        let step = try raw.members("step")
        recorder.draws.random.set(try step["random"]?.items("random").map { try $0.double() } ?? [])
        recorder.draws.ids.set(try step["ids"]?.items("ids").map { try $0.text("id") } ?? [])
        let (effects, status, writes) = try recorder.step(step)
        let left = (recorder.draws.random.get().count, recorder.draws.ids.get().count)
        let compared = [
            ("out", lines(try step.required("out").items("out")), lines(effects)),
            ("status", step["status"]?.canonical ?? "", status?.canonical ?? ""),
            ("writes", step["writes"]?.canonical ?? "", writes?.canonical ?? ""),
            ("draws left", "(0, 0)", "\(left)"),
        ]
        for (what, expected, got) in compared where !expected.utf8.elementsEqual(got.utf8) {
            let input = "\(what) of \(try step.text("do"))"
            return StepDifference(trace: name, step: index, what: input, expected: expected, got: got)
        }
    }
    return nil
}

/// The effects, one in each line.
private func lines(_ effects: [Raw]) -> String {
    effects.map(\.canonical).joined(separator: "\n           ")
}
