import IsochronSession

@testable import Isochron

/// The change feed and the live scopes of a scripted node. It answers when the store's stable time has moved.
@SessionActor
final class FakeFeeds {
    struct Scope {
        let keys: Set<String>
        let start: String?
        let end: String?

        init(_ watched: JSONValue) {
            let frame = FakeFrame(raw: watched)
            keys = Set(frame.texts("keys"))
            (start, end) = (frame.text("start"), frame.text("end"))
        }

        func contains(_ key: String) -> Bool {
            guard let start, let end else { return keys.contains(key) }
            return !keyPrecedes(key, start) && keyPrecedes(key, end)
        }
    }

    private let store: FakeStore
    private var scopes: [ObjectIdentifier: [Int64: Scope]] = [:]
    /// The newest live request of each socket.
    private var newest: [ObjectIdentifier: Int64] = [:]
    /// Cursors below this are gone.
    var floor: Int64 = 0
    /// Whether access rules refuse a scope now.
    var refuses: (Scope) -> Bool = { _ in false }

    init(_ store: FakeStore) {
        self.store = store
    }

    /// Numbers of the scopes of all sockets.
    var watches: [Int64] { scopes.values.flatMap(\.keys).sorted() }

    func forget() {
        (scopes, newest) = ([:], [:])
    }

    func take(_ frame: FakeFrame, _ socket: FakeSocket, _ reply: @escaping @SessionActor (JSONValue) -> Void) {
        if let after = frame.number("after"), after < floor {
            return reply(errorFrame(frame.id, "CHANGES_GONE", retryable: false))
        }
        if frame.type == "changes" { return changes(frame, reply) }
        let name = ObjectIdentifier(socket)
        if case .array(let added)? = frame["add"] {
            for one in added { scopes[name, default: [:]][FakeFrame(raw: one).number("watch") ?? 0] = Scope(one) }
        }
        for number in frame.numbers("remove") ?? [] { scopes[name]?[number] = nil }
        newest[name] = frame.id
        let after = frame.number("after") ?? 0
        wait(frame, reply) { [self] isLate in
            guard newest[name] == frame.id else { return live(frame, after, upTo: after, [], []) }
            let changed = scopes[name, default: [:]].filter { hasChanges($0.value, after: after) }
            if !isLate, changed.isEmpty { return nil }
            let ended = changed.filter { refuses($0.value) }.keys.sorted()
            for number in ended { scopes[name]?[number] = nil }
            return live(frame, after, upTo: max(after, store.ust), Array(scopes[name, default: [:]].values), ended)
        }
    }

    private func changes(_ frame: FakeFrame, _ reply: @escaping @SessionActor (JSONValue) -> Void) {
        let from = frame.number("after") ?? store.ust
        let prefix = frame.text("scope") ?? ""
        wait(frame, reply) { [self] isLate in
            var transactions: [Int64: (tx: String, writes: [JSONValue])] = [:]
            for key in store.keys where hasExactPrefix(key, prefix) {
                for version in store.versions[key] ?? [] where version.ts > from && version.ts <= store.ust {
                    transactions[version.ts, default: (version.tx, [])].writes
                        .append(["key": .string(key), "value": version.value])
                }
            }
            let isFirst = frame["after"] == .some(.null)
            if transactions.isEmpty, !isLate, !isFirst { return nil }
            let shown = transactions.sorted { $0.key < $1.key }.map { ts, one -> JSONValue in
                ["tx": .string(one.tx), "ts": .integer(ts), "writes": .array(one.writes)]
            }
            return [
                "type": "changes", "id": .integer(frame.id), "from": .integer(from),
                "to": .integer(max(from, store.ust)), "transactions": .array(shown),
            ]
        }
    }

    private func wait(
        _ frame: FakeFrame, _ reply: @escaping @SessionActor (JSONValue) -> Void,
        _ answer: @escaping @SessionActor (_ isLate: Bool) -> JSONValue?
    ) {
        let end = ContinuousClock.now + .milliseconds(frame.number("waitMs") ?? 0)
        Task { @SessionActor in
            while true {
                if let answer = answer(ContinuousClock.now >= end) { return reply(answer) }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    private func hasChanges(_ scope: Scope, after: Int64) -> Bool {
        store.keys.contains { key in
            scope.contains(key) && (store.versions[key] ?? []).contains { $0.ts > after && $0.ts <= store.ust }
        }
    }

    private func live(
        _ frame: FakeFrame, _ after: Int64, upTo: Int64, _ scopes: [Scope], _ ended: [Int64]
    ) -> JSONValue {
        let keys = store.keys.filter { key in scopes.contains { $0.contains(key) } }
        let changes = keys.compactMap { key -> JSONValue? in
            let all = (store.versions[key] ?? []).filter { $0.ts > after && $0.ts <= upTo }
            let newest = all.lastIndex { $0.value["operations"] == nil } ?? 0
            let net = all.dropFirst(newest).map { one -> JSONValue in [.integer(one.ts), .string(one.tx), one.value] }
            return net.isEmpty ? nil : [.string(key), .array(net)]
        }
        var answer: [String: JSONValue] = [
            "type": "live", "id": .integer(frame.id), "token": .string("live-\(upTo)"), "to": .integer(upTo),
            "changes": .array(changes),
        ]
        if !ended.isEmpty {
            let reason = "The access rule album does not allow it."
            answer["ended"] = .array(ended.map { [.integer($0), "PERMISSION_DENIED", .string(reason)] })
        }
        return .object(answer)
    }
}
