import Foundation
import Isochron

/// Runs every command at once: a caller that needs an order waits for the replies.
actor Driver {
    private var clients: [String: IsochronClient] = [:]
    private var snapshots: [String: SnapshotView] = [:]
    private var transactions: [String: AsyncStream<Command>.Continuation] = [:]
    private var followed: [String: Followed] = [:]
    private var readKeys: [String: [String]] = [:]

    func take(_ command: Command) {
        if let open = transactions[command.of] {
            open.yield(command)
        } else if command.does == "begin" {
            begin(command)
        } else {
            Task {
                do {
                    say(try await run(command))
                } catch {
                    say(command.id, error)
                }
            }
        }
    }

    private func run(_ command: Command) async throws -> Reply {
        var reply = Reply(command.id)
        switch command.does {
        case "connect":
            clients[command.of] = try await connect(command)
        case "getMany":
            reply.values = try await client(command.of).getMany(command.keys ?? [], as: String.self)
        case "set":
            try await client(command.of).set(command.key ?? "", command.value ?? "")
        case "delete":
            try await client(command.of).delete(command.key ?? "")
        case "snapshot":
            snapshots[command.of] = try await client(command.client ?? "").snapshot()
        case "snapshotGetMany":
            reply.values = try await snapshots[command.of]?.getMany(command.keys ?? [], as: String.self)
        case "snapshotClose":
            await snapshots.removeValue(forKey: command.of)?.close()
        case "watch":
            let watched = Followed(try client(command.client ?? "").watch(command.key ?? "", as: String.self))
            followed[command.of] = watched
        case "follow":
            followed[command.of] = Followed(try client(command.client ?? "").changes(), key: command.key ?? "")
        case "followed":
            reply.values = try await followed[command.of]?.values
        case "export":
            reply.session = try await client(command.of).session.export().json
        case "readsOf":
            readKeys[command.of] = command.keys
        case "readLoad":
            try await measure(command, &reply)
        case "sequential":
            reply.residentBytes = try await commitInTurn(client(command.of), count: command.count ?? 0)
        case "close":
            await clients.removeValue(forKey: command.of)?.close()
        default:
            throw IsochronError(.invalidRequest, "the driver cannot \(command.does)")
        }
        return reply
    }

    private func connect(_ command: Command) async throws -> IsochronClient {
        // Long enough for a node to be killed and restarted.
        var options = ClientOptions()
        options.requestTimeout = .seconds(60)
        options.commitTimeout = .seconds(60)
        options.ca = command.ca
        let auth = command.auth.map { path in
            { @Sendable () async throws -> String in try String(contentsOfFile: path, encoding: .utf8) }
        }
        return try await IsochronClient.connect(
            endpoints: command.endpoints ?? [], auth: auth,
            session: try command.session.map(ExportedSession.init(json:)),
            store: command.store.map { FileSessionStore(url: URL(fileURLWithPath: $0)) }, options: options)
    }

    private func client(_ name: String) throws -> IsochronClient {
        if let client = clients[name] { return client }
        throw IsochronError(.invalidRequest, "there is no client \(name)")
    }

    private func measure(_ command: Command, _ reply: inout Reply) async throws {
        let load = ReadLoad(client: try client(command.of), keys: readKeys[command.of] ?? [])
        let measured = try await load.run(
            inFlight: command.inFlight ?? 1, duration: .milliseconds(command.durationMs ?? 0))
        reply.operations = measured.operations
        reply.elapsedMs = measured.elapsedMs
        reply.p50Ms = measured.p50Ms
        reply.p99Ms = measured.p99Ms
    }

    /// An interactive transaction: its function runs the following commands for it.
    private func begin(_ command: Command) {
        let (commands, continuation) = AsyncStream.makeStream(of: Command.self)
        transactions[command.of] = continuation
        Task {
            do {
                let open = OpenTransaction(client: try client(command.client ?? ""), commands: commands)
                say(Reply(command.id))
                await open.run()
            } catch {
                say(command.id, error)
            }
            transactions[command.of] = nil
        }
    }
}
