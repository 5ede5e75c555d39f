import Foundation
import Testing

@testable import Isochron

extension Networked {
    /// No test of correctness: it prints figures, when `ISOCHRON_THROUGHPUT` is set.
    @Suite("Throughput", .enabled(if: ProcessInfo.processInfo.environment["ISOCHRON_THROUGHPUT"] != nil))
    struct ThroughputTests {
        @Test("Echoes of 200 bytes arrive with 64 in flight", arguments: WebSocketKind.all)
        func echoes(kind: WebSocketKind) async throws {
            let message = WebSocketMessage.text(String(repeating: "x", count: 200))
            let client = try Client(kind, try kind.url("/echo"))
            try await client.opened()
            client.connection.send(Array(repeating: message, count: 64))
            let start = ContinuousClock.now
            var count = 0
            while ContinuousClock.now - start < .seconds(3) {
                let arrived = try await client.messages(1).count
                count += arrived
                client.connection.send(Array(repeating: message, count: arrived))
            }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            print("echoes with \(kind.name): \(Int(Double(count) / seconds)) a second")
            client.connection.terminate()
            _ = try await client.closed()
        }
    }
}
