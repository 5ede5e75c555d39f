/// The status of a transaction whose outcome is not known yet: see ``IsochronError/outcome``.
public final class EventualStatus: Sendable {
    private struct State: Sendable {
        var status: TransactionStatus?
        var waiting: [CheckedContinuation<TransactionStatus, Never>] = []
    }

    private let state = Locked(State())

    /// The status, once the client knows it: `committed`, or `aborted`, and then nothing of it was written; `forgotten`
    /// or `unknown` if it cannot be determined any more, as by a closed client.
    public var value: TransactionStatus {
        get async {
            await withCheckedContinuation { continuation in
                let known = state.change { state in
                    if state.status == nil { state.waiting.append(continuation) }
                    return state.status
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }

    /// Called once.
    func settle(_ status: TransactionStatus) {
        let waiting = state.change { state in
            state.status = status
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: status) }
    }
}
