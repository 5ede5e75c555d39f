/// A difference between a session and its vectors.
struct Difference: CustomStringConvertible, Sendable {
    let file: String
    let sequence: String
    /// Index of the first event that differs, from 0, and its name.
    let event: Int
    let name: String
    /// The part of the event's results that differs.
    let what: String
    let expected: String
    let got: String

    var description: String {
        """
        \(file), sequence \(sequence), event \(event) (\(name)): \(what)
          expected \(expected)
          got      \(got)
        """
    }
}

/// One difference.
struct Mismatch: CustomStringConvertible, Sendable {
    let what: String
    let expected: String
    let got: String

    var description: String { "\(what): expected \(expected), got \(got)" }
}

/// Compares the results of one event; the first mismatch counts.
struct Comparison {
    private(set) var mismatch: Mismatch?

    mutating func same<T: Equatable>(_ what: String, _ expected: T, _ got: T, _ text: (T) -> String) {
        guard mismatch == nil, expected != got else { return }
        mismatch = Mismatch(what: what, expected: text(expected), got: text(got))
    }

    /// For complete texts: see ``shown(_:)-(String)``.
    mutating func same(_ what: String, _ expected: String, _ got: String) {
        same(what, expected, got) { $0 }
    }
}

/// A session under the commands of a file.
protocol Player {
    associatedtype Event: Decodable

    /// Applies an event, and compares the results.
    mutating func play(_ event: Event) throws -> Mismatch?
    static func name(of event: Event) -> String
}

extension Player {
    /// The first event of a sequence that differs.
    static func difference(
        in sequence: VectorSequence<Event>, of file: String, player: Self
    ) throws -> Difference? {
        var player = player
        for (index, event) in sequence.events.enumerated() {
            guard let mismatch = try player.play(event) else { continue }
            return Difference(
                file: file, sequence: sequence.name, event: index, name: name(of: event), what: mismatch.what,
                expected: mismatch.expected, got: mismatch.got
            )
        }
        return nil
    }
}
