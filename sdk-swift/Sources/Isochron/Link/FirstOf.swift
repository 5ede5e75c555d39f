import IsochronSession

/// Chooses among endpoints that are tried one after the other: the first connection that opens.
///
/// The next endpoint is tried when the one before has failed, or has not answered for a while, as if packets were
/// dropped. Connections that open later are closed.
@SessionActor
final class FirstOf<Opening> {
    /// After this time without an answer of one endpoint the next one is tried as well.
    static var staggerMs: Double { 300 }

    typealias Open = @SessionActor (Endpoint, @escaping @SessionActor (Result<Opening, IsochronError>) -> Void) -> Void

    private let loop: Loop
    private let open: Open
    private let close: @SessionActor (Opening) -> Void
    private let next: @SessionActor () -> Endpoint?
    private var trying = 0
    private var definite: IsochronError?
    private var timer: LoopTimer?
    /// Called once: with the opened connection, or with nil and the first definite refusal, if any.
    private var end: (@SessionActor (Opening?, IsochronError?) -> Void)?

    init(
        _ next: @escaping @SessionActor () -> Endpoint?, _ loop: Loop, open: @escaping Open,
        close: @escaping @SessionActor (Opening) -> Void,
        end: @escaping @SessionActor (Opening?, IsochronError?) -> Void
    ) {
        self.next = next
        self.loop = loop
        self.open = open
        self.close = close
        self.end = end
    }

    func start() {
        loop.cancel(timer)
        if let endpoint = next() {
            trying += 1
            timer = loop.after(Self.staggerMs) { [weak self] in self?.start() }
            open(endpoint) { [self] result in arrived(result) }
        } else if trying == 0 {
            finish(nil, definite)
        }
    }

    private func arrived(_ result: Result<Opening, IsochronError>) {
        trying -= 1
        switch result {
        case .success(let opening):
            if end == nil { close(opening) } else { finish(opening, nil) }
        case .failure(let error):
            if !error.retryable, definite == nil { definite = error }
            if end != nil { start() }
        }
    }

    private func finish(_ opening: Opening?, _ definite: IsochronError?) {
        loop.cancel(timer)
        let end = self.end
        self.end = nil
        end?(opening, definite)
    }
}
