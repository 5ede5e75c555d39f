import IsochronSession

/// The result of replaying a file of sequences.
struct Replayed: Sendable {
    let sequences: Int
    let events: Int
    /// The first difference of each sequence that has one.
    let differences: [Difference]
}

/// Replays the sequences of a protocol of transactions.
func replay(_ file: VectorFile<TransactionEvent>, _ rules: SessionRules) throws -> Replayed {
    try replay(file, by: TransactionPlayer.self) { TransactionPlayer(rules: rules, id: $0.id) }
}

/// Replays the sequences of a protocol of single operations.
func replay(_ file: VectorFile<OperationEvent>, _ rules: OperationSessionRules) throws -> Replayed {
    try replay(file, by: OperationPlayer.self) { sequence in
        OperationPlayer(rules: rules, id: sequence.id, region: try required(sequence.region, "region"))
    }
}

private func replay<P: Player>(
    _ file: VectorFile<P.Event>, by type: P.Type, _ player: (VectorSequence<P.Event>) throws -> P
) throws -> Replayed {
    let name = "sessions-\(file.protocol).json"
    let differences = try file.sequences.compactMap { sequence in
        try P.difference(in: sequence, of: name, player: player(sequence))
    }
    let events = file.sequences.reduce(0) { $0 + $1.events.count }
    return Replayed(sequences: file.sequences.count, events: events, differences: differences)
}
