import IsochronSession

/// The subprotocol `isochron.v1+json`.
enum JSONCodec {
    static let subprotocol = "isochron.v1+json"

    static func encode(_ hello: Hello) -> [UInt8] {
        var out = JSONWriter()
        out.raw(#"{"type":"hello""#)
        if let token = hello.token { out.member(#","token":"#, token) }
        if let credentials = hello.credentials { out.member(#","credentials":"#, credentials) }
        out.member(#","client":"#, hello.client)
        out.byte("}")
        return out.bytes
    }

    static func encode(_ request: Request, id: Int64) -> [UInt8] {
        var out = JSONWriter()
        out.request(request, id)
        return out.bytes
    }

    /// Encoded frames, packed into one message.
    static func pack(_ frames: [[UInt8]]) -> WebSocketMessage {
        if frames.count == 1, let frame = frames.first { return .text(String(decoding: frame, as: UTF8.self)) }
        var message: [UInt8] = []
        message.reserveCapacity(frames.reduce(2) { $0 + $1.count + 1 })
        for frame in frames {
            message.append(message.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
            message.append(contentsOf: frame)
        }
        message.append(UInt8(ascii: "]"))
        return .text(String(decoding: message, as: UTF8.self))
    }
}

extension JSONWriter {
    fileprivate mutating func request(_ request: Request, _ id: Int64) {
        switch request {
        case .start(let tx, let at):
            head(#"{"type":"start","id":"#, id, tx: tx)
            self.at(at)
        case .read(let keys, let fields):
            head(#"{"type":"read","id":"#, id)
            raw(#","keys":"#)
            list(keys) { $0.string($1) }
            self.fields(fields)
        case .list(let list, let fields):
            head(#"{"type":"list","id":"#, id)
            self.list(list)
            self.fields(fields)
        case .commit(let commit):
            head(#"{"type":"commit","id":"#, id, tx: commit.tx)
            self.commit(commit)
        case .origin(let key, let at, let tx):
            head(#"{"type":"origin","id":"#, id, tx: tx)
            member(#","key":"#, key)
            member(#","at":"#, at)
        case .abort(let tx):
            head(#"{"type":"abort","id":"#, id, tx: tx)
        case .status(let tx, let sentAfter):
            head(#"{"type":"status","id":"#, id, tx: tx)
            if let sentAfter { member(#","sentAfter":"#, sentAfter) }
        case .get(let get, let depends):
            head(#"{"type":"get","id":"#, id)
            member(#","key":"#, get.key)
            seen(get.seen, get.region, depends)
        case .rot(let rot, let depends):
            head(#"{"type":"rot","id":"#, id)
            raw(#","keys":"#)
            list(rot.keys) { $0.string($1) }
            if let tx = rot.id { member(#","tx":"#, tx) }
            seen(rot.seen, rot.region, depends)
        case .put(let put, let attemptRegions):
            head(#"{"type":"put","id":"#, id, tx: put.txId)
            self.put(put, attemptRegions)
        case .stable(let ts, let timeoutMs):
            head(#"{"type":"stable","id":"#, id)
            member(#","ts":"#, ts)
            member(#","timeoutMs":"#, timeoutMs)
        case .ping(let token):
            head(#"{"type":"ping","id":"#, id)
            if let token { member(#","token":"#, token) }
        case .authenticate(let credentials):
            head(#"{"type":"authenticate","id":"#, id)
            member(#","credentials":"#, credentials)
        case .changes(let changes):
            head(#"{"type":"changes","id":"#, id)
            self.changes(changes)
        case .live(let live):
            head(#"{"type":"live","id":"#, id)
            self.live(live)
        }
        byte("}")
    }

    mutating func member(_ name: StaticString, _ text: String) {
        raw(name)
        string(text)
    }

    mutating func member(_ name: StaticString, _ number: Int64) {
        raw(name)
        integer(number)
    }

    mutating func timestamps(_ name: StaticString, _ all: [Timestamp]) {
        raw(name)
        list(all) { $0.integer($1) }
    }

    /// A document as its JSON text, bytes as `{ bytes: base64 }`, null for nil.
    mutating func value(_ value: Value?) {
        switch value {
        case nil: raw("null")
        case .json(let text)?: string(text)
        case .bytes(let bytes)?:
            member(#"{"bytes":"#, toBase64(bytes))
            byte("}")
        }
    }

    mutating func content(_ content: Content) {
        switch content {
        case .put(let value): self.value(value)
        case .delete: raw("null")
        case .update(let update):
            member(#"{"operations":"#, update.operations)
            byte("}")
        }
    }

    /// With a comma in front.
    mutating func seen(_ seen: [Timestamp], _ region: RegionId, _ depends: [Dependency]?) {
        timestamps(#","seen":"#, seen)
        member(#","region":"#, region)
        guard let depends else { return }
        raw(#","depends":"#)
        list(depends) { $0.dependency($1) }
    }

    private mutating func dependency(_ dependency: Dependency) {
        member(#"{"key":"#, dependency.key)
        member(#","source":"#, dependency.source)
        member(#","ts":"#, dependency.ts)
        if dependency.near { raw(#","near":true"#) }
        byte("}")
    }

    private mutating func head(_ start: StaticString, _ id: Int64) {
        raw(start)
        integer(id)
    }

    private mutating func head(_ start: StaticString, _ id: Int64, tx: TxId) {
        head(start, id)
        member(#","tx":"#, tx)
    }

    private mutating func at(_ at: Snapshot?) {
        guard let at else { return }
        member(#","at":"#, at.ts)
        if let deps = at.deps { timestamps(#","deps":"#, deps) }
    }

    private mutating func fields(_ fields: SnapshotFields) {
        switch fields {
        case .transaction(let tx): member(#","tx":"#, tx)
        case .at(let at): self.at(at)
        }
    }

    private mutating func list(_ list: ListRequest) {
        member(#","keyspace":"#, list.keyspace)
        member(#","prefix":"#, list.prefix)
        member(#","start":"#, list.start)
        member(#","limit":"#, Int64(list.limit))
        if let level = list.level { member(#","level":"#, Int64(level)) }
    }

    private mutating func commit(_ commit: CommitRequest) {
        if let at = commit.at {
            member(#","snapshot":"#, at.ts)
            if let deps = at.deps { timestamps(#","deps":"#, deps) }
        }
        member(#","hwt":"#, commit.hwt)
        attempt(commit.sentAfter, commit.attemptRegions)
        if commit.avoids.contains(where: { !$0.isEmpty }) {
            raw(#","avoids":"#)
            list(commit.avoids) { out, regions in out.list(regions) { $0.string($1) } }
        }
        if let after = commit.after { member(#","after":"#, after) }
        raw(#","writes":"#)
        list(commit.writes) { out, write in
            out.member(#"{"key":"#, write.key)
            out.raw(#","value":"#)
            out.content(write.content)
            out.byte("}")
        }
    }

    private mutating func put(_ put: PutRequest, _ attemptRegions: [RegionId]) {
        member(#","key":"#, put.key)
        raw(#","value":"#)
        value(put.value)
        attempt(put.sentAfter, attemptRegions)
        seen(put.seen, put.region, put.depends)
    }

    private mutating func changes(_ changes: ChangesRequest) {
        member(#","scope":"#, changes.scope)
        raw(#","after":"#)
        if let after = changes.after { integer(after) } else { raw("null") }
        member(#","waitMs":"#, changes.waitMs)
    }

    private mutating func live(_ live: LiveRequest) {
        member(#","after":"#, live.after)
        if !live.add.isEmpty {
            raw(#","add":"#)
            list(live.add) { $0.watched($1) }
        }
        if !live.remove.isEmpty { timestamps(#","remove":"#, live.remove) }
        member(#","waitMs":"#, live.waitMs)
    }

    private mutating func watched(_ scope: WatchedScope) {
        member(#"{"watch":"#, scope.watch)
        switch scope.range {
        case .keys(let keys):
            raw(#","keys":"#)
            list(keys.map(\.text).sorted(by: keyPrecedes)) { $0.string($1) }
        case .range(let start, let end, let level):
            member(#","start":"#, start.text)
            member(#","end":"#, end.text)
            if let level { member(#","level":"#, Int64(level)) }
        }
        byte("}")
    }

    private mutating func attempt(_ sentAfter: Timestamp, _ attemptRegions: [RegionId]) {
        member(#","sentAfter":"#, sentAfter)
        raw(#","attemptRegions":"#)
        list(attemptRegions) { $0.string($1) }
    }
}
