import IsochronSession

@testable import Isochron

/// A node for tests of the machine: it answers session frames from a store, unless its script has an answer of its own.
@SessionActor
final class ScriptedNode {
    /// `refuses`: no socket opens. `silent`: a socket neither opens nor fails.
    enum State {
        case serves
        case refuses
        case silent
    }

    let name: String
    let store: FakeStore
    /// Every received frame, and the number of frames in each message.
    private(set) var frames: [FakeFrame] = []
    private(set) var packing: [Int] = []
    /// Runs before a frame is answered.
    var script: @SessionActor (FakeFrame) -> Scripted = { _ in .answer }
    /// Delay of a message in one direction.
    var delayMs = 1.0
    var state = State.serves
    var credits = 16
    /// The regions of its welcome, each with its only node.
    var regions: [ScriptedNode] = []
    private var open: [String: Int64] = [:]

    init(_ name: String, _ store: FakeStore) {
        self.name = name
        self.store = store
    }

    var url: String { "ws://\(name)" }

    /// Frames of one type, in the order of their arrival.
    func received(_ type: String) -> [FakeFrame] { frames.filter { $0.type == type } }

    func arrived(_ message: [FakeFrame]) {
        frames += message
        packing.append(message.count)
    }

    /// The usual answer.
    func answer(_ frame: FakeFrame) -> JSONValue {
        let (id, tx) = (JSONValue.integer(frame.id), frame.text("tx") ?? "")
        switch frame.type {
        case "hello": return welcome
        case "read": return read(frame)
        case "start":
            let at = frame.number("at") ?? store.ust
            open[tx] = at
            return ["type": "started", "id": id, "snapshot": .integer(at)]
        case "commit":
            open[tx] = nil
            let ts = store.commit(
                tx, hwt: frame.number("hwt") ?? 0, sentAfter: frame.number("sentAfter") ?? 0, frame.writes)
            store.stabilise()
            return ["type": "committed", "id": id, "ts": .integer(ts), "token": .string("\(name)-0")]
        case "abort":
            open[tx] = nil
            return ["type": "aborted", "id": id]
        case "ping":
            guard let token = frame.text("token") else { return ["type": "pong", "id": id] }
            return ["type": "pong", "id": id, "token": .string("\(token)+")]
        default: return errorFrame(frame.id, "FRAME_TYPE_UNKNOWN", retryable: false)
        }
    }

    /// Values are the newest ones: the contents of snapshots are not tested here.
    private func read(_ frame: FakeFrame) -> JSONValue {
        let asked = frame.number("at") ?? store.ust
        guard let snapshot = frame.text("tx").map({ open[$0] }) ?? asked else {
            return errorFrame(frame.id, "TRANSACTION_UNKNOWN", retryable: false)
        }
        let values = frame.texts("keys").map { store.read($0, at: store.clock) }
        return [
            "type": "values", "id": .integer(frame.id), "snapshot": .integer(snapshot), "values": .array(values),
        ]
    }

    private var welcome: JSONValue {
        [
            "type": "welcome", "region": .string(name), "node": .string("\(name)-1"), "cluster": "test",
            "protocol": "paris",
            "capabilities": ["transactions", "list", "stable", "snapshots", "read-past", "stable-snapshots"],
            "ust": .integer(store.ust), "hwt": 0,
            "freshness": [
                "now": .integer(Int64(wallMs(of: store.ust).rounded(.up))), "stalenessMs": 0, "stale": false,
                "heldBackBy": nil,
            ],
            "token": .string("\(name)-0"), "credits": .integer(Int64(credits)),
            "limits": [
                "maxKeyBytes": 1024, "maxValueBytes": 65_536, "maxKeysPerRequest": 100, "maxRequestBytes": 1_000_000,
            ],
            "maxTransactionMs": 30_000,
            "regions": .array(regions.map { ["id": .string($0.name), "endpoints": [.string($0.url)]] }),
        ]
    }
}
