import Foundation
import Isochron

/// One-shot reads of one key each, with a fixed number in flight.
struct ReadLoad: Sendable {
    let client: IsochronClient
    let keys: [String]

    struct Measured: Sendable {
        var operations = 0
        var elapsedMs = 0.0
        var p50Ms = 0.0
        var p99Ms = 0.0
    }

    func run(inFlight: Int, duration: Duration) async throws -> Measured {
        let clock = ContinuousClock()
        let begin = clock.now
        let end = begin + duration
        let times = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for _ in 0..<inFlight { group.addTask { try await readInTurn(until: end, clock) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let sorted = times.sorted()
        var measured = Measured(operations: sorted.count, elapsedMs: (clock.now - begin) / .milliseconds(1))
        if let p50 = sorted.dropFirst(sorted.count / 2).first { measured.p50Ms = p50 / .milliseconds(1) }
        if let p99 = sorted.dropFirst(sorted.count * 99 / 100).first { measured.p99Ms = p99 / .milliseconds(1) }
        return measured
    }

    private func readInTurn(until end: ContinuousClock.Instant, _ clock: ContinuousClock) async throws -> [Duration] {
        var times: [Duration] = []
        var began = clock.now
        while began < end {
            guard let key = keys.randomElement() else { throw IsochronError(.invalidRequest, "there are no keys") }
            if try await client.get(key, as: String.self) == nil {
                throw IsochronError(.invalidRequest, "\(key) has no value")
            }
            let now = clock.now
            if now <= end { times.append(now - began) }
            began = now
        }
        return times
    }
}

/// Transactions of a read and a write, one after the other. Returns the memory in use by the process afterwards.
func commitInTurn(_ client: IsochronClient, count: Int) async throws -> Int {
    for i in 0..<count {
        let key = "sequential/\(i % 10)"
        try await client.transaction { tx in
            let before = try await tx.get(key, as: Int.self) ?? 0
            try tx.set(key, before + 1)
        }
    }
    return residentBytes()
}

/// Memory in use by this process, as Linux counts it; zero elsewhere.
private func residentBytes() -> Int {
    guard let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " "),
        pages.count > 1, let resident = Int(pages[1])
    else { return 0 }
    return resident * Int(sysconf(Int32(_SC_PAGESIZE)))
}
