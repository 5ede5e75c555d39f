// Generated from packages/wire/src/session-frames: change the declarations there, then run
// `REWRITE=1 npm test -- test/swift-declarations`.

import IsochronSession

/// First frame of a connection. Secrets never go into the URL.
struct Hello: Sendable {
    /// Continues a session: proves its `ust` and `hwt`.
    let token: String?
    /// API key or token of an identity provider, if the cluster requires credentials.
    let credentials: String?
    /// Name and version of the client, for the operator's logs.
    let client: String?
}

/// A request without its id.
enum Request: Sendable {
    /// Opens a transaction under an id made by the client. May be pipelined with its first read.
    case start(tx: TxId, at: Snapshot?)
    /// Reads in the open transaction `tx`; without `tx` the read is a one-shot read-only transaction.
    case read(tx: TxId?, keys: [String], at: Snapshot?)
    /// One page of the keys of a keyspace, in key order.
    case list(
        tx: TxId?,
        keyspace: String,
        prefix: String?,
        start: String?,
        limit: Int64?,
        level: Int64?,
        at: Snapshot?,
        known: Timestamp?
    )
    /// Commits. With `snapshot` it needs no open transaction: a one-shot write, or a retry on any node of any region,
    /// with every other field unchanged.
    case commit(CommitRequest)
    /// Reads a key in exactly the snapshot `at` of a commit, and which version made the document there: decides the
    /// claim of that commit (F7). With the capability `updates`.
    case origin(key: String, at: Timestamp, tx: TxId)
    /// Ends a transaction without a commit.
    case abort(tx: TxId)
    /// Asks for the outcome of a transaction, at any node of any region.
    case status(tx: TxId, sentAfter: Timestamp?)
    /// Reads a key, under protocols of single operations.
    case get(seen: [Timestamp], region: String, depends: [Dependency]?, key: String)
    /// A one-shot read-only transaction, under protocols of single operations.
    case rot(seen: [Timestamp], region: String, depends: [Dependency]?, keys: [String], tx: TxId?)
    /// Writes a key, under protocols of single operations. It is sent again, with every other field unchanged, until
    /// its outcome is known; `attemptRegions` and `sentAfter` mean the same as for a commit.
    case put(
        seen: [Timestamp],
        region: String,
        depends: [Dependency]?,
        tx: TxId,
        key: String,
        value: Value?,
        sentAfter: Timestamp,
        attemptRegions: [String]
    )
    /// Answers once every node of every region serves `ts`, or with STABLE_TIMEOUT.
    case stable(ts: Timestamp, timeoutMs: Int64?)
    /// Measures the round trip.
    case ping(token: String?)
    /// The transactions of a scope after a timestamp (CF1). The request waits for the first transaction, and does not
    /// delay other requests. With the capability `changes`.
    case changes(ChangesRequest)
    /// What has changed in the scopes of the connection after a timestamp (LQ4). It waits for the first change, does
    /// not delay other requests, and ends a request of this type that waits. With the capability `live-queries`.
    case live(LiveRequest)
    /// Renews the credentials of the connection (U1): another token of the same principal, from which `expiresAt`
    /// counts from now on. Refused with UNAUTHENTICATED, the connection goes on as it was.
    case authenticate(credentials: String)
}

/// Commits. With `snapshot` it needs no open transaction: a one-shot write, or a retry on any node of any region, with
/// every other field unchanged.
struct CommitRequest: Sendable {
    let tx: TxId
    var at: Snapshot?
    let hwt: Timestamp
    /// The `ust` of the session at the first send.
    let sentAfter: Timestamp
    /// The regions whose cohorts were tried; the last region is in force.
    let attemptRegions: [String]
    /// For each of `attemptRegions` the regions that this attempt avoids, sorted; absent if all are empty. Its cohort
    /// in a partition is the first preferred replica that it does not avoid.
    let avoids: [[String]]
    /// For each of `attemptRegions` the version of the map that the node had when the attempt was first sent (`map` of
    /// `welcome` and `ust`); absent if all are 0.
    let maps: [Int64]
    /// What the commit follows: of the session's writes that may not be stable, the timestamp of the latest write on
    /// each node, and the number of the node; without a number, the write may need any node (M4). Without the field,
    /// the write at `hwt` may need any node.
    let behind: [CommitNeed]
    /// The first commit timestamp, of a deferred commit that is made again (M10): late writes are judged by it (F9).
    var first: Timestamp?
    /// The session's commit before this one, if that was sent on this connection and is not answered yet. This one
    /// begins when that one has committed, above it; else it is refused with SESSION_BLOCKED, without effect. With the
    /// capability `chained-commits`.
    var after: TxId?
    /// Each key once: several updates of a key become one update, with all operations.
    let writes: [KeyWrite]
}

/// The transactions of a scope after a timestamp (CF1). The request waits for the first transaction, and does not delay
/// other requests. With the capability `changes`.
struct ChangesRequest: Sendable {
    /// Prefix of the qualified keys: empty for all, `todos/` for a keyspace.
    let scope: String
    /// Nil for the present end: answered at once.
    let after: Timestamp?
    let waitMs: Int64
    /// The answer ends with the group of transactions that reaches this; default 256 KiB.
    var limitBytes: Int64?
    /// Each update has its document `after` it, too.
    var values = false
    /// Each write has its document `before` it, too.
    var before = false
}

/// What has changed in the scopes of the connection after a timestamp (LQ4). It waits for the first change, does not
/// delay other requests, and ends a request of this type that waits. With the capability `live-queries`.
struct LiveRequest: Sendable {
    let after: Timestamp
    /// Scopes that the connection has from now on.
    let add: [WatchedScope]
    /// Numbers of scopes that the client no longer has; unknown numbers are ignored.
    let remove: [Int64]
    let waitMs: Int64
}

/// Keys, or a range of keys in one keyspace, under a number that the connection does not use.
struct WatchedScope: Hashable, Sendable {
    let watch: Int64
    let keys: [String]
    var start: String?
    /// The first key that is not in the range.
    var end: String?
    /// Only keys of the range with this many segments, without the keyspace.
    var level: Int64?
}

extension JSONWriter {
    mutating func frame(_ hello: Hello) {
        raw(#"{"type":"hello""#)
        if let token = hello.token { member(#","token":"#, token) }
        if let credentials = hello.credentials { member(#","credentials":"#, credentials) }
        if let client = hello.client { member(#","client":"#, client) }
        byte("}")
    }

    mutating func frame(_ request: Request, id: Int64) {
        switch request {
        case .start(let tx, let at):
            head(#"{"type":"start","id":"#, id)
            member(#","tx":"#, tx)
            if let at { snapshot(#","at":"#, at) }
        case .read(let tx, let keys, let at):
            head(#"{"type":"read","id":"#, id)
            if let tx { member(#","tx":"#, tx) }
            member(#","keys":"#, keys)
            if let at { snapshot(#","at":"#, at) }
        case .list(let tx, let keyspace, let prefix, let start, let limit, let level, let at, let known):
            head(#"{"type":"list","id":"#, id)
            if let tx { member(#","tx":"#, tx) }
            member(#","keyspace":"#, keyspace)
            if let prefix { member(#","prefix":"#, prefix) }
            if let start { member(#","start":"#, start) }
            if let limit { member(#","limit":"#, limit) }
            if let level { member(#","level":"#, level) }
            if let at { snapshot(#","at":"#, at) }
            if let known { member(#","known":"#, known) }
        case .commit(let commit):
            head(#"{"type":"commit","id":"#, id)
            member(#","tx":"#, commit.tx)
            if let at = commit.at { snapshot(#","snapshot":"#, at) }
            member(#","hwt":"#, commit.hwt)
            member(#","sentAfter":"#, commit.sentAfter)
            member(#","attemptRegions":"#, commit.attemptRegions)
            if !commit.avoids.allSatisfy(\.isEmpty) { member(#","avoids":"#, commit.avoids) }
            if !commit.maps.isEmpty { member(#","maps":"#, commit.maps) }
            if !commit.behind.isEmpty { member(#","behind":"#, commit.behind) }
            if let first = commit.first { member(#","first":"#, first) }
            if let after = commit.after { member(#","after":"#, after) }
            member(#","writes":"#, commit.writes)
        case .origin(let key, let at, let tx):
            head(#"{"type":"origin","id":"#, id)
            member(#","key":"#, key)
            member(#","at":"#, at)
            member(#","tx":"#, tx)
        case .abort(let tx):
            head(#"{"type":"abort","id":"#, id)
            member(#","tx":"#, tx)
        case .status(let tx, let sentAfter):
            head(#"{"type":"status","id":"#, id)
            member(#","tx":"#, tx)
            if let sentAfter { member(#","sentAfter":"#, sentAfter) }
        case .get(let seen, let region, let depends, let key):
            head(#"{"type":"get","id":"#, id)
            member(#","seen":"#, seen)
            member(#","region":"#, region)
            if let depends { member(#","depends":"#, depends) }
            member(#","key":"#, key)
        case .rot(let seen, let region, let depends, let keys, let tx):
            head(#"{"type":"rot","id":"#, id)
            member(#","seen":"#, seen)
            member(#","region":"#, region)
            if let depends { member(#","depends":"#, depends) }
            member(#","keys":"#, keys)
            if let tx { member(#","tx":"#, tx) }
        case .put(let seen, let region, let depends, let tx, let key, let value, let sentAfter, let attemptRegions):
            head(#"{"type":"put","id":"#, id)
            member(#","seen":"#, seen)
            member(#","region":"#, region)
            if let depends { member(#","depends":"#, depends) }
            member(#","tx":"#, tx)
            member(#","key":"#, key)
            member(#","value":"#, value)
            member(#","sentAfter":"#, sentAfter)
            member(#","attemptRegions":"#, attemptRegions)
        case .stable(let ts, let timeoutMs):
            head(#"{"type":"stable","id":"#, id)
            member(#","ts":"#, ts)
            if let timeoutMs { member(#","timeoutMs":"#, timeoutMs) }
        case .ping(let token):
            head(#"{"type":"ping","id":"#, id)
            if let token { member(#","token":"#, token) }
        case .changes(let changes):
            head(#"{"type":"changes","id":"#, id)
            member(#","scope":"#, changes.scope)
            member(#","after":"#, changes.after)
            member(#","waitMs":"#, changes.waitMs)
            if let limitBytes = changes.limitBytes { member(#","limitBytes":"#, limitBytes) }
            if changes.values { raw(#","values":true"#) }
            if changes.before { raw(#","before":true"#) }
        case .live(let live):
            head(#"{"type":"live","id":"#, id)
            member(#","after":"#, live.after)
            if !live.add.isEmpty { member(#","add":"#, live.add) }
            if !live.remove.isEmpty { member(#","remove":"#, live.remove) }
            member(#","waitMs":"#, live.waitMs)
        case .authenticate(let credentials):
            head(#"{"type":"authenticate","id":"#, id)
            member(#","credentials":"#, credentials)
        }
        byte("}")
    }
}

extension CommitNeed: FrameValue {
    func write(to out: inout JSONWriter) {
        out.member(#"{"ct":"#, ct)
        if let node { out.member(#","node":"#, node) }
        out.byte("}")
    }
}

extension KeyWrite: FrameValue {
    func write(to out: inout JSONWriter) {
        out.member(#"{"key":"#, key)
        out.member(#","value":"#, content)
        out.byte("}")
    }
}

extension Dependency: FrameValue {
    func write(to out: inout JSONWriter) {
        out.member(#"{"key":"#, key)
        out.member(#","source":"#, source)
        out.member(#","ts":"#, ts)
        if near { out.raw(#","near":true"#) }
        out.byte("}")
    }
}

extension WatchedScope: FrameValue {
    func write(to out: inout JSONWriter) {
        out.member(#"{"watch":"#, watch)
        if !keys.isEmpty { out.member(#","keys":"#, keys) }
        if let start { out.member(#","start":"#, start) }
        if let end { out.member(#","end":"#, end) }
        if let level { out.member(#","level":"#, level) }
        out.byte("}")
    }
}
