import IsochronSession
import XCTest

@testable import Isochron

/// The servers and clients of one test. Unreferenced clients close themselves.
@SessionActor
final class World {
    let network = FakeNetwork()
    private var count = 0

    nonisolated init() {}

    func server(_ store: FakeStore = FakeStore(), _ change: (inout FakeOptions) -> Void = { _ in }) -> FakeServer {
        var options = FakeOptions()
        change(&options)
        count += 1
        return FakeServer(network, store, "node-\(count)", options)
    }

    /// A client whose retries do not wait: its jitter is zero.
    func client(
        _ servers: [FakeServer], session: ExportedSession? = nil, token: String? = nil, credentials: String? = nil,
        store: (any SessionStore)? = nil, _ change: (inout ClientOptions) -> Void = { _ in }
    ) async throws -> IsochronClient {
        try await IsochronClient.connect(
            endpoints: servers.map(\.url), credentials: credentials, session: session, token: token, store: store,
            options: options(change))
    }

    /// A client like those of `client`, whose credentials are renewed.
    func client(
        _ servers: [FakeServer], renewing auth: @escaping @Sendable () async throws -> String,
        changing change: (inout ClientOptions) -> Void = { _ in }
    ) async throws -> IsochronClient {
        try await IsochronClient.connect(endpoints: servers.map(\.url), auth: auth, options: options(change))
    }

    private func options(_ change: (inout ClientOptions) -> Void) -> ClientOptions {
        var options = ClientOptions()
        options.transport = network
        options.random = { 0 }
        change(&options)
        return options
    }
}

/// A test that waits longer has failed.
private let patience = Duration.seconds(10)

struct Impatient: Error, CustomStringConvertible {
    let description: String
}

/// Returns as soon as the condition holds.
@SessionActor
func until(
    _ what: String, file: StaticString = #filePath, line: UInt = #line, _ condition: @SessionActor () -> Bool
) async throws {
    let end = ContinuousClock.now + patience
    while !condition() {
        if ContinuousClock.now > end {
            XCTFail("\(what): waited in vain", file: file, line: line)
            throw Impatient(description: what)
        }
        try await Task.sleep(for: .milliseconds(1))
    }
}

/// Runs everything that is ready.
@SessionActor
func settle() async {
    for _ in 0..<4 { try? await Task.sleep(for: .microseconds(300)) }
}

/// The first present or later status for which the condition holds.
@discardableResult
func status(
    of client: IsochronClient, _ what: String, file: StaticString = #filePath, line: UInt = #line,
    _ wanted: @escaping @Sendable (ClientStatus) -> Bool
) async throws -> ClientStatus {
    let found = Task<ClientStatus?, Never> {
        for await status in client.status where wanted(status) { return status }
        return nil
    }
    let clock = Task {
        try await Task.sleep(for: patience)
        found.cancel()
    }
    defer { clock.cancel() }
    guard let status = await found.value else {
        XCTFail("\(what): no such status", file: file, line: line)
        throw Impatient(description: what)
    }
    return status
}

/// The error of a call; fails the test if it throws none.
@SessionActor
func thrown<Output>(
    file: StaticString = #filePath, line: UInt = #line, _ body: @SessionActor () async throws -> Output
) async -> any Error {
    do {
        _ = try await body()
        XCTFail("it did not throw", file: file, line: line)
        return Impatient(description: "it did not throw")
    } catch {
        return error
    }
}

/// The code of a call's error; fails the test if it throws none, or another error.
@SessionActor
func code<Output>(
    file: StaticString = #filePath, line: UInt = #line, _ body: @SessionActor () async throws -> Output
) async -> IsochronError.Code? {
    let error = await thrown(file: file, line: line, body)
    guard let error = error as? IsochronError else {
        XCTFail("it threw \(error)", file: file, line: line)
        return nil
    }
    return error.code
}

/// All elements of a sequence.
@SessionActor
func all<Items: AsyncSequence & Sendable>(_ items: Items) async throws -> [Items.Element]
where Items.Element: Sendable {
    var found: [Items.Element] = []
    for try await item in items { found.append(item) }
    return found
}

/// A call that runs concurrently with the test.
typealias Going<Output: Sendable> = Task<Output, any Error>

/// Starts a call that runs concurrently with the test.
func start<Output: Sendable>(_ body: @escaping @Sendable () async throws -> Output) -> Going<Output> {
    Task { try await body() }
}

/// The error of a concurrent call that has to end by itself: later it is cancelled, and the test fails.
@SessionActor
func ending<Output>(
    of going: Going<Output>, file: StaticString = #filePath, line: UInt = #line
) async throws -> IsochronError {
    let clock = Task {
        try await Task.sleep(for: patience)
        going.cancel()
    }
    defer { clock.cancel() }
    let error = await thrown(file: file, line: line) { try await going.value }
    return try XCTUnwrap(error as? IsochronError, "\(error)", file: file, line: line)
}

/// The code of the error that a concurrent call throws.
@SessionActor
func code<Output>(
    of going: Going<Output>, file: StaticString = #filePath, line: UInt = #line
) async -> IsochronError.Code? {
    await code(file: file, line: line) { try await going.value }
}
