/// Writes with an id of the application: a call with a used id is the same write.
@SessionActor
final class NamedWrites {
    fileprivate enum Known {
        case underWay([CheckedContinuation<Void, Never>])
        case done(any Sendable)
        case inDoubt(IsochronError)
    }

    /// Number of ids that are remembered.
    private static let most = 10_000

    private var known: [String: Known] = [:]
    private var order: [String] = []

    nonisolated init() {}

    /// The result of the write of this id; nil if it has to be done now.
    fileprivate func begin(_ id: String) async throws -> (any Sendable)? {
        while let one = known[id] {
            switch one {
            case .done(let result): return result
            case .inDoubt(let error): throw error
            case .underWay(let waiting):
                await withCheckedContinuation { known[id] = .underWay(waiting + [$0]) }
            }
        }
        known[id] = .underWay([])
        order.append(id)
        if order.count > Self.most { known[order.removeFirst()] = nil }
        return nil
    }

    fileprivate func ended(_ id: String, _ result: Known?) {
        guard case .underWay(let waiting) = known[id] else { return }
        known[id] = result
        if result == nil { order.removeAll { $0 == id } }
        for one in waiting { one.resume() }
    }

    fileprivate func failed<Output: Sendable>(
        _ id: String, _ error: any Error, _ resultOf: @escaping @Sendable (Committed) -> Output?
    ) {
        guard let unknown = error as? IsochronError, let outcome = unknown.outcome, let txId = unknown.txId else {
            return ended(id, nil)
        }
        ended(id, .inDoubt(unknown))
        Task {
            let status = await outcome.value
            switch status.state {
            case .committed:
                let commit = Committed(timestamp: status.timestamp ?? 0, txId: txId)
                known[id] = resultOf(commit).map { .done($0) }
            case .aborted: known[id] = nil
            default: break
            }
        }
    }
}

/// Writes, unless a write of this id has committed or may have committed: then returns its result, or throws
/// OUTCOME_UNKNOWN again until that is known. A write without effect is repeated.
///
/// - Parameter resultOf: the result of a commit that was in doubt
func once<Output: Sendable>(
    _ id: String?, in named: NamedWrites, isolation: isolated (any Actor)? = #isolation,
    _ write: () async throws -> Output, _ resultOf: @escaping @Sendable (Committed) -> Output?
) async throws -> Output {
    guard let id else { return try await write() }
    if let before = try await named.begin(id) as? Output { return before }
    do {
        let output = try await write()
        await named.ended(id, .done(output))
        return output
    } catch {
        await named.failed(id, error, resultOf)
        throw error
    }
}
