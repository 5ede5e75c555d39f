import Foundation
import Isochron

/// The documents of the tour.
struct Todo: Codable, Sendable {
    var title: String
    var done: Bool?
}

/// Connects, and shows each feature.
func tour(_ words: [String]) async throws {
    let arguments = try Arguments(words, known: ["--endpoint", "--credentials", "--session"])
    let endpoints = arguments.all("--endpoint")
    if endpoints.isEmpty { throw Arguments.Misuse(description: "the tour needs an --endpoint") }
    let store = arguments.last("--session").map { FileSessionStore(url: URL(fileURLWithPath: $0)) }
    let client = try await step("connect") {
        try await IsochronClient.connect(
            endpoints: endpoints, credentials: arguments.last("--credentials"), store: store)
    }
    let status = await client.currentStatus
    print("  region \(status.region ?? "?"), node \(status.node ?? "?"), round trip \(status.roundTrip ?? .zero)")
    do {
        try await documents(client)
        try await accounts(client)
        try await reads(client)
    } catch {
        await client.close()
        throw error
    }
    await client.close()
    print("closed")
}

private func documents(_ client: IsochronClient) async throws {
    let todos = client.collection("todos", of: Todo.self)
    let write = try await step("set todos/1") { try await todos.set("1", Todo(title: "buy milk")) }
    print("  durable at \(write.timestamp), transaction \(write.txId)")
    try await step("set todos/2") { try await todos.set("2", Todo(title: "water the plants")) }
    try await step("update todos/1") { try await todos.update("1", ["done": true]) }
    let first = try await step("get todos/1") { try await todos.get("1") }
    print("  \(first?.title ?? "nothing"), done: \(first?.done ?? false)")
    try await step("list todos") {
        for try await entry in todos.list() { try print("  \(entry.key): \(entry.value.title)") }
    }
    try await step("delete todos/2") { try await todos.delete("2") }
}

private func accounts(_ client: IsochronClient) async throws {
    let (sum, write) = try await step("transaction: move 10 from a to b") {
        try await client.transaction { tx in
            let balances = try await tx.getMany(["accounts/a", "accounts/b"], as: Int.self)
            let (a, b) = (balances[0] ?? 100, balances[1] ?? 0)
            try tx.set("accounts/a", a - 10)
            try tx.set("accounts/b", b + 10)
            return a + b
        }
    }
    print("  together they have \(sum) before and after")
    try await step("wait until that is visible in every region") { try await write?.stable() }
}

private func reads(_ client: IsochronClient) async throws {
    let snapshot = try await step("snapshot") { try await client.snapshot() }
    let balances = try await step("two keys of it") {
        try await snapshot.getMany(["accounts/a", "accounts/b"], as: Int.self)
    }
    print("  at \(snapshot.timestamp): \(balances.map { $0.map(String.init) ?? "none" }.joined(separator: ", "))")
    await snapshot.close()
    do {
        _ = try await client.get("accounts/a", as: Todo.self)
    } catch let error as IsochronError where error.code == .valueInvalid {
        print("a balance is no todo: \(error.code)")
    }
    let exported = await client.session.export()
    print("the session as text has \(exported.json.utf8.count) bytes; any SDK goes on with it")
}

/// Prints a step and its duration.
@discardableResult
private func step<Output>(_ what: String, _ body: () async throws -> Output) async throws -> Output {
    let start = ContinuousClock.now
    let output = try await body()
    let took = ContinuousClock.now - start
    let (seconds, attoseconds) = took.components
    let tenths = seconds * 10_000 + attoseconds / 100_000_000_000_000
    print("\(what) (\(tenths / 10).\(tenths % 10) ms)")
    return output
}
