import Isochron

/// A transaction whose function runs commands.
struct OpenTransaction {
    let client: IsochronClient
    let commands: AsyncStream<Command>

    private struct RolledBack: Error {}

    /// Ends with a commit or rollback command, or with an error: then every following command fails, too.
    func run() async {
        var turn = commands.makeAsyncIterator()
        var last: Command?
        do {
            try await client.transaction { tx in
                while let command = await turn.next() {
                    last = command
                    if command.does == "commit" { return }
                    if command.does == "rollback" { throw RolledBack() }
                    say(try await reply(command, tx))
                }
            }
            if let last { say(Reply(last.id)) }
        } catch is RolledBack {
            if let last { say(Reply(last.id)) }
        } catch {
            if let last { say(last.id, error) }
            while last?.does != "commit", last?.does != "rollback" {
                last = await turn.next()
                if let last { say(last.id, error) } else { return }
            }
        }
    }

    private func reply(_ command: Command, _ tx: CausalTransaction) async throws -> Reply {
        var reply = Reply(command.id)
        switch command.does {
        case "txGetMany": reply.values = try await tx.getMany(command.keys ?? [], as: String.self)
        case "txSet": try tx.set(command.key ?? "", command.value ?? "")
        default: throw IsochronError(.invalidRequest, "a transaction cannot \(command.does)")
        }
        return reply
    }
}
