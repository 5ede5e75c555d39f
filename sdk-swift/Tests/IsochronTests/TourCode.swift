import Foundation
import Isochron

// The code of the documentation, compiled. `DocumentationTests` compares the two: each block of the pages is here
// between a line `// Block` and a line `// End`, in the same order.

private struct Todo: Codable, Sendable {
    var title: String
    var done: Bool?
}

private struct Cart: Codable, Sendable {
    var items: [String]
}

private struct Stock: Codable, Sendable {
    var left: Int
}

private struct User: Codable, Sendable {
    var id: Int
}

private struct SignIn: Sendable {
    func token() async throws -> String { "" }
}

/// The landing page, and README.md of the repository.
enum LandingPageCode {
    static func overview() async throws {
        // Block
        let client = try await IsochronClient.connect(endpoints: ["http://127.0.0.1:7101", "http://127.0.0.1:7103"])
        try await client.set("stock/tea", Stock(left: 10))
        let carts = client.collection("carts", of: Cart.self)
        try await carts.set("7", Cart(items: ["tea"]))

        try await client.transaction { tx in
            let cart = try await tx.get("carts/7", as: Cart.self)
            try tx.update("stock/tea", [.increment("/left", by: -Double(cart?.items.count ?? 0))])
            try tx.delete("carts/7")
        }
        await client.close()
        // End
    }
}

enum TourCode {
    static func connect() async throws {
        // Block
        let client = try await IsochronClient.connect(endpoints: ["https://eu.example", "https://us.example"])
        let todos = client.collection("todos", of: Todo.self)
        // End
        print(todos)
    }

    private static func connectWithOwnAuthorities() async throws {
        // Block
        var options = ClientOptions()
        options.ca = try String(contentsOfFile: "ca.pem", encoding: .utf8)
        let secured = try await IsochronClient.connect(endpoints: ["https://node.example:7101"], options: options)
        await secured.close()
        // End
    }

    private static func connectWithTokens(_ signIn: SignIn) async throws {
        // Block
        let member = try await IsochronClient.connect(endpoints: ["https://eu.example"]) { try await signIn.token() }
        await member.close()
        // End
    }

    private static func readAndWrite(_ todos: DocumentCollection<Todo>) async throws {
        // Block
        let write = try await todos.set("1", Todo(title: "buy milk"))
        try await todos.update("1", ["done": true])
        let todo = try await todos.get("1")
        let several = try await todos.getMany(["1", "2"])
        try await write.stable()
        // End
        print(todo as Any, several)
        // Block
        for try await entry in todos.list(prefix: "") {
            print(entry.key, try entry.value.title)
        }
        // End
    }

    static func transactions(_ client: IsochronClient) async throws {
        // Block
        let (before, _) = try await client.transaction { tx in
            let a = try await tx.get("accounts/a", as: Int.self) ?? 0
            try tx.set("accounts/a", a - 10)
            try tx.set("accounts/b", 10)
            return a
        }
        // End
        // Block
        let snapshot = try await client.snapshot()
        let balances = try await snapshot.getMany(["accounts/a", "accounts/b"], as: Int.self)
        await snapshot.close()
        // End
        print(before, balances)
    }

    static func updates(_ client: IsochronClient) async throws {
        // Block
        try await client.transaction { tx in
            try tx.update("stock/tea", [.increment("/left", by: -1), .arrayUnion("/buyers", ["ann"])])
            print(try await tx.get("stock/tea", as: Stock.self)?.left ?? 0)
        }
        let claim = try await client.claim("names/ann", User(id: 7))
        if !claim.won { print("user \(claim.value?.id ?? 0) has this name") }
        // End
    }

    static func liveQueries(_ client: IsochronClient) async throws {
        // Block
        let stock = client.collection("stock", of: Stock.self)
        let scarce = stock.watch(where: [Condition("/left", .less, 5)], orderBy: [FieldOrder("/left")], limit: 20)
        for try await (documents, cart) in client.live(scarce, client.watch("carts/7", as: Cart.self)) {
            for document in documents.documents { print(document.key, try document.value.left, document.isPending) }
            print(try cart.value?.items ?? [], cart.snapshot)
        }
        // End
        // Block
        var cursor: String?
        for try await message in client.changes(keyspace: "default", prefix: "stock/", since: cursor) {
            for transaction in message.transactions { print(transaction.id, transaction.writes.map(\.key)) }
            cursor = message.cursor
        }
        // End
    }

    private static func errors(_ client: IsochronClient, _ todos: DocumentCollection<Todo>) async throws {
        // Block
        do {
            try await todos.set("1", Todo(title: "buy milk"))
        } catch let error as IsochronError where error.code == .outcomeUnknown {
            guard let txId = error.txId else { throw error }
            let outcome = try await client.transactionStatus(txId: txId, sentAfter: error.sentAfter)
            print(outcome.state)
        } catch let error as IsochronError {
            print(error.code, error.message, error.retryable)
        }
        // End
        // Block
        do {
            try await todos.set("2", Todo(title: "buy tea"))
        } catch let error as IsochronError where error.code == .sessionBlocked {
            print("the outcome of \(error.blockedBy ?? "a commit") is not known")
            await client.detach()
            try await todos.set("2", Todo(title: "buy tea"))
        }
        // End
    }

    static func sessions(_ folder: URL) async throws {
        // Block
        let store = FileSessionStore(url: folder.appendingPathComponent("isochron-session.json"))
        let client = try await IsochronClient.connect(endpoints: ["https://eu.example"], store: store)
        // End
        let endpoints = ["https://us.example"]
        // Block
        let exported = await client.session.export()
        let text = exported.json
        let there = try await IsochronClient.connect(endpoints: endpoints, session: try ExportedSession(json: text))
        // End
        print(there)
    }

    static func status(_ client: IsochronClient) async {
        // Block
        for await status in client.status {
            print(status.state, status.region ?? "nowhere", status.staleness ?? .zero)
            print(status.unresponsive, status.pendingCommits, status.oldestPendingCommitAge ?? .zero)
        }
        // End
        // Block
        await client.close()
        // End
    }
}
