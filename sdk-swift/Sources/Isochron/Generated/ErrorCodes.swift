// Generated from packages/core/src/error-codes.ts, packages/core/src/error-advice.ts, packages/core/src/errors.ts:
// change the declarations there, then run
// `REWRITE=1 npm test -- test/swift-declarations`.

extension IsochronError.Code {
    /// The request is not well formed.
    ///
    /// A field is missing, has the wrong type or is not known. `detail` names it; compare with `/openapi.json`.
    public static let invalidRequest = Self(rawValue: "INVALID_REQUEST")
    /// No such keyspace.
    ///
    /// The cluster file has no keyspace of this name. Check the spelling, or add it to the file.
    public static let keyspaceUnknown = Self(rawValue: "KEYSPACE_UNKNOWN")
    /// The key has no value in this snapshot.
    ///
    /// The key has no value in the snapshot that was read: it was never written, was deleted, or was written later.
    public static let keyNotFound = Self(rawValue: "KEY_NOT_FOUND")
    /// The key is empty, too long or not UTF-8.
    ///
    /// A key is 1 to 1,024 bytes of UTF-8. Shorten it; over HTTP, percent-encode it in the path.
    public static let keyInvalid = Self(rawValue: "KEY_INVALID")
    /// The value is not a JSON document.
    ///
    /// A document is I-JSON of at most 128 levels: each member once, whole characters, and numbers that a double holds.
    /// The message begins with the place of the fault. Store a larger whole number as text.
    public static let valueInvalid = Self(rawValue: "VALUE_INVALID")
    /// The value is larger than this cluster accepts.
    ///
    /// The value exceeds the limit of this cluster (1 MiB unless configured). Split it over several keys of one
    /// transaction.
    public static let valueTooLarge = Self(rawValue: "VALUE_TOO_LARGE")
    /// The operations of an update are not valid.
    ///
    /// An operation has an unknown kind, a path that is no JSON Pointer, or a wrong member: the message names it.
    /// docs/updates.md lists the operations.
    public static let updateInvalid = Self(rawValue: "UPDATE_INVALID")
    /// The request names more keys than this cluster accepts.
    ///
    /// One request names more keys than are allowed (1,000 unless configured), or their values are more than one answer
    /// holds. Split a read: same snapshot (`at`) in each part.
    public static let tooManyKeys = Self(rawValue: "TOO_MANY_KEYS")
    /// The connection watches more than a node allows.
    ///
    /// A connection may watch 1,000 scopes, with 10,000 named keys in all. End watches that are not shown, or watch a
    /// range of keys.
    public static let tooManyWatches = Self(rawValue: "TOO_MANY_WATCHES")
    /// The number of the watch is in use on this connection.
    ///
    /// The connection watches another scope under this number. Count up for every scope.
    public static let watchReused = Self(rawValue: "WATCH_REUSED")
    /// The request is larger than this cluster accepts.
    ///
    /// The whole request is larger than the node accepts. Send less at once.
    public static let requestTooLarge = Self(rawValue: "REQUEST_TOO_LARGE")
    /// The content type is not supported.
    ///
    /// Send `Content-Type: application/json`.
    public static let unsupportedMediaType = Self(rawValue: "UNSUPPORTED_MEDIA_TYPE")
    /// No such route.
    ///
    /// No such path. `/docs` lists all of them; a slash in a key must be sent as `%2F`.
    public static let routeNotFound = Self(rawValue: "ROUTE_NOT_FOUND")
    /// The route does not have this method.
    ///
    /// The path exists, but not with this method. The `Allow` header names those it has.
    public static let methodNotAllowed = Self(rawValue: "METHOD_NOT_ALLOWED")
    /// Conditional writes cannot be honoured across regions.
    ///
    /// `If-Match` on a write cannot be honoured: another region may write at the same moment, and the write does not
    /// wait for it. Leave it out; the last writer wins.
    public static let conditionalWriteUnsupported = Self(rawValue: "CONDITIONAL_WRITE_UNSUPPORTED")
    /// The API is not served under this host name.
    ///
    /// The `Host` of the request is no name of this API. Without API keys only loopback names are; `isochron node
    /// --allow-host NAME` adds others.
    public static let hostNotAllowed = Self(rawValue: "HOST_NOT_ALLOWED")
    /// Web pages of this origin may not call the API.
    ///
    /// A web page of another origin called. Without API keys only pages of this machine may; `isochron node
    /// --cors-origin ORIGIN` names others.
    public static let originNotAllowed = Self(rawValue: "ORIGIN_NOT_ALLOWED")
    /// The credentials are missing or wrong.
    ///
    /// The credentials are missing or wrong. Sign in again and send the new ones.
    public static let unauthenticated = Self(rawValue: "UNAUTHENTICATED")
    /// The principal may not do this.
    ///
    /// An access rule refused it, or no rule or role of the principal allows it; nothing was done. Ask for permission,
    /// or use credentials that have it.
    public static let permissionDenied = Self(rawValue: "PERMISSION_DENIED")
    /// The session token is damaged or forged.
    ///
    /// The session token is truncated, changed, not issued by a cluster, or issued under another `protocol` of this
    /// one. Start a new session without it.
    public static let tokenInvalid = Self(rawValue: "TOKEN_INVALID")
    /// The session token belongs to another cluster.
    ///
    /// The session token was issued by another cluster, or under another `cluster` id or placement of this one: give it
    /// a new id when its data is replaced. Start a new session.
    public static let tokenForeign = Self(rawValue: "TOKEN_FOREIGN")
    /// The timestamp lies in the future.
    ///
    /// A timestamp lies further ahead than clocks may differ. Use one that the cluster gave out.
    public static let timestampInFuture = Self(rawValue: "TIMESTAMP_IN_FUTURE")
    /// The listing cursor is damaged.
    ///
    /// The cursor of the listing was changed or belongs to another listing. Start the listing again.
    public static let cursorInvalid = Self(rawValue: "CURSOR_INVALID")
    /// No such open transaction.
    ///
    /// No open transaction has this id: it was never started, is another caller's, or own writes that it has to show
    /// went with its node. Start a new one; a repeated commit is never lost by this.
    public static let transactionUnknown = Self(rawValue: "TRANSACTION_UNKNOWN")
    /// The transaction was open for too long.
    ///
    /// The transaction stayed open longer than allowed (30 s unless configured); nothing of it was written. Start a new
    /// one, and keep user input out of it.
    public static let transactionExpired = Self(rawValue: "TRANSACTION_EXPIRED")
    /// The transaction has already ended.
    ///
    /// The transaction was committed or aborted before. Ask for its outcome, or start a new one.
    public static let transactionFinished = Self(rawValue: "TRANSACTION_FINISHED")
    /// The transaction was aborted.
    ///
    /// The transaction was aborted and nothing of it was written. Run it again as a new transaction.
    public static let transactionAborted = Self(rawValue: "TRANSACTION_ABORTED")
    /// The transaction id was used for other writes.
    ///
    /// The transaction id (`Idempotency-Key`) belongs to other writes or another caller. Use a fresh id for each
    /// transaction.
    public static let txIdReused = Self(rawValue: "TX_ID_REUSED")
    /// The transaction id is known with other cohorts.
    ///
    /// The transaction is known with another list of participants, so this try does not continue it. Ask for its
    /// outcome before doing anything else.
    public static let attemptMismatch = Self(rawValue: "ATTEMPT_MISMATCH")
    /// The outcome of the commit is not decided yet.
    ///
    /// A participant of the commit cannot be reached, so its outcome is not known yet. Repeat it under the same
    /// transaction id, or ask at `/v1/transactions/:id`.
    public static let outcomePending = Self(rawValue: "OUTCOME_PENDING")
    /// The outcome of the commit is not known.
    ///
    /// The answer to the commit got lost; it may have taken effect. Repeat it under the same id, or ask for it
    /// (`transaction` of the problem, `txId` and `sentAfter` of the SDK error). The SDKs report it as not retryable, as
    /// another call is another write; `outcome` of the error becomes what became of it, and a call with an `id` may be
    /// repeated.
    public static let outcomeUnknown = Self(rawValue: "OUTCOME_UNKNOWN")
    /// The transaction is too old for its outcome to be known.
    ///
    /// The commit was repeated after the time for which outcomes are kept (24 h unless configured); its status is
    /// `forgotten`. Read the keys to see whether it took effect.
    public static let outcomeForgotten = Self(rawValue: "OUTCOME_FORGOTTEN")
    /// The record of the outcome was lost with a disk.
    ///
    /// A participant has lost its disk since the commit was made, and with it the record of whether an earlier sending
    /// took effect; this sending did not. Its status is `forgotten`. Read the keys to see, and write again under a new
    /// id if they lack it.
    public static let outcomeLost = Self(rawValue: "OUTCOME_LOST")
    /// The snapshot has been garbage collected.
    ///
    /// Versions of this snapshot have been garbage collected. Read again in a newer snapshot.
    public static let snapshotTooOld = Self(rawValue: "SNAPSHOT_TOO_OLD")
    /// The changes after the cursor are no longer kept.
    ///
    /// The cursor of the change feed is older than `changeRetentionMs`. Read the data anew in a snapshot, and follow
    /// the feed from there.
    public static let changesGone = Self(rawValue: "CHANGES_GONE")
    /// The watch has more documents than a client holds.
    ///
    /// The clients report it: a watch holds at most 10,000 documents and 16 MiB. Watch fewer keys, or a shorter range;
    /// `limit` and `where` do not make a watch smaller.
    public static let watchTooLarge = Self(rawValue: "WATCH_TOO_LARGE")
    /// The snapshot is not installed here yet.
    ///
    /// The timestamp asked for is not stable in this region yet, or access rules permit the write only with documents
    /// that are not. Try again shortly, or read without `at`.
    public static let snapshotUnavailable = Self(rawValue: "SNAPSHOT_UNAVAILABLE")
    /// The session's own writes are not visible here yet.
    ///
    /// The session's own writes are not visible on this node yet, and it did not answer without them, nor refuse what
    /// they may permit. Try again, allow a longer `Prefer: wait`, or use the node that took the writes.
    public static let sessionGap = Self(rawValue: "SESSION_GAP")
    /// The session's last writes may wait for a suspended node.
    ///
    /// A node of the cluster was suspended just after the session had written, and what the session wrote last may not
    /// be visible before that node is back. The writes are not lost. Begin without the token, as another session; a
    /// client that was exported with its writes goes on by itself.
    public static let sessionDeferred = Self(rawValue: "SESSION_DEFERRED")
    /// An earlier write of the session is not decided yet.
    ///
    /// The TypeScript and Swift clients report it, and nodes of a commit that was sent behind another one (`after`),
    /// which their clients repeat. A write waits for its turn behind one whose outcome is not known (`blockedBy` of the
    /// SDK error), because a node that took part in that one does not answer. Nothing of the later write was sent. Try
    /// again, or give the order up with `client.detach()`.
    public static let sessionBlocked = Self(rawValue: "SESSION_BLOCKED")
    /// No replica of a partition answered.
    ///
    /// No replica of a partition answered, here or in another region. Try again; `isochron status` shows which links
    /// are down.
    public static let replicaUnreachable = Self(rawValue: "REPLICA_UNREACHABLE")
    /// The clock of a node is too far off.
    ///
    /// The clock of a node is further off than allowed, or not compared yet: it takes no writes, and peers close its
    /// links. Operators: check its time service (`docs/clocks.md`).
    public static let clockDrift = Self(rawValue: "CLOCK_DRIFT")
    /// The data on disk lie ahead of the clock.
    ///
    /// A node does not start: its disk is ahead of its clock. Set the clock; if it is right, `docs/clocks.md` ("Data
    /// from the future") has the way back.
    public static let clockBehindData = Self(rawValue: "CLOCK_BEHIND_DATA")
    /// The node is overloaded.
    ///
    /// The node has more work than it can take. Wait for the time in `Retry-After`, then try again; add nodes if it
    /// goes on.
    public static let overloaded = Self(rawValue: "OVERLOADED")
    /// The node is not ready.
    ///
    /// The node is starting, verifying its disk, recovering or about to close; of `/readyz`, or cut off, behind or
    /// without room (docs/operations.md). Try again after the time in `Retry-After`, or use another node; the SDK does.
    /// A commit refused so has not begun.
    public static let notReady = Self(rawValue: "NOT_READY")
    /// The timestamp did not become stable in time.
    ///
    /// The write is safe, but not every node served it in the time given. Ask again with a longer timeout; a node or a
    /// region may be down.
    public static let stableTimeout = Self(rawValue: "STABLE_TIMEOUT")
    /// The chosen protocol cannot do this.
    ///
    /// The replication protocol chosen in the cluster file cannot do this; `capabilities` of `/v1/cluster` lists what
    /// it can do. Use another operation, or another protocol.
    public static let notSupportedByProtocol = Self(rawValue: "NOT_SUPPORTED_BY_PROTOCOL")
    /// The frame cannot be decoded.
    ///
    /// A WebSocket frame could not be decoded. Check that it matches the subprotocol agreed on (JSON or MessagePack).
    public static let frameInvalid = Self(rawValue: "FRAME_INVALID")
    /// The frame has an unknown type.
    ///
    /// A WebSocket frame has a type that this version does not know. Check the spelling, or update the server.
    public static let frameTypeUnknown = Self(rawValue: "FRAME_TYPE_UNKNOWN")
    /// The request id was used before on this connection.
    ///
    /// A request id was used twice on one connection. Count up for every request.
    public static let requestIdReused = Self(rawValue: "REQUEST_ID_REUSED")
    /// More requests in flight than credits were granted.
    ///
    /// More requests were in flight than the server had granted. Wait for an answer before sending the next.
    public static let creditsExhausted = Self(rawValue: "CREDITS_EXHAUSTED")
    /// The client has used its share of the node for now.
    ///
    /// This principal, or this address where callers need no credentials, has sent more requests or bytes than it may
    /// in a second, or too many wrong credentials in a minute. Nothing of the request was done. Wait for the time in
    /// `Retry-After` (a session: `retryAfterMs`), then try again; the SDKs do. Operators: `--limit`.
    public static let rateLimited = Self(rawValue: "RATE_LIMITED")
    /// The connection to the cluster is lost.
    ///
    /// The connection broke and could not be restored in time. Try again: the SDK reconnects, to another region if need
    /// be.
    public static let connectionLost = Self(rawValue: "CONNECTION_LOST")
    /// No node could be reached in time.
    ///
    /// No node could be reached for as long as the request may take (`requestTimeoutMs`): the SDKs report it, no node
    /// does. Nothing of a write was sent. Show what is known, and try again when the status is `online`.
    public static let offline = Self(rawValue: "OFFLINE")
    /// A node and the client could not agree on TLS.
    ///
    /// The Swift SDK reports it (the TypeScript SDK CONNECTION_LOST): a certificate that the client refuses (expired,
    /// for another host, of an authority that it does not trust), or a port without TLS. The message names the reason.
    /// Correct the certificate of the node or the URL, or give the client the authority as `ca`.
    public static let tlsFailed = Self(rawValue: "TLS_FAILED")
    /// The application gave no new credentials in time.
    ///
    /// The credentials of the client have expired, or were refused, and its `auth` returned no others that the cluster
    /// accepts for as long as the request may take: the SDKs report it, no node does. Nothing of a write was sent.
    /// `cause` is the last reason. Sign in again; the client goes on calling `auth`.
    public static let credentialsUnavailable = Self(rawValue: "CREDENTIALS_UNAVAILABLE")
    /// A part of the client could not be loaded.
    ///
    /// A file of the client that is fetched on demand could not be loaded: the network failed, or the application was
    /// deployed anew without its former files. The TypeScript SDK reports it; nothing was sent. Repeat the call; where
    /// it fails again, load the page anew. `cause` is the error of the platform.
    public static let codeUnavailable = Self(rawValue: "CODE_UNAVAILABLE")
    /// The platform lacks something that the client needs.
    ///
    /// The platform has no WebSocket or no `crypto.getRandomValues`: the TypeScript SDK reports it. The message names
    /// what is missing and the package that adds it.
    public static let platformUnsupported = Self(rawValue: "PLATFORM_UNSUPPORTED")
    /// The client has been closed.
    ///
    /// The client was closed while the request waited. Open a new client to go on.
    public static let clientClosed = Self(rawValue: "CLIENT_CLOSED")
    /// The cluster file is not valid.
    ///
    /// The cluster file is wrong. The message names the line and the reason; correct it and start again.
    public static let configInvalid = Self(rawValue: "CONFIG_INVALID")
    /// A certificate or key of the node cannot be used.
    ///
    /// A file with a certificate or key is missing, of another kind, does not fit the others, or its time is over. The
    /// message names it: `isochron certs` makes new ones (docs/security.md).
    public static let certificateInvalid = Self(rawValue: "CERTIFICATE_INVALID")
    /// The data on disk belongs to another placement.
    ///
    /// The data on disk was written under another placement of partitions, or another `protocol`. Start with the former
    /// cluster file, or with an empty data folder.
    public static let placementMismatch = Self(rawValue: "PLACEMENT_MISMATCH")
    /// The peer is not a node of this cluster.
    ///
    /// A node that is not in the cluster file, or has the wrong secret, tried to connect. Compare the file and the
    /// secret of both nodes.
    public static let peerRefused = Self(rawValue: "PEER_REFUSED")
    /// The peer uses another protocol version.
    ///
    /// The other node uses another version of the peering protocol. Run the same version on all nodes.
    public static let peerVersionMismatch = Self(rawValue: "PEER_VERSION_MISMATCH")
    /// The peer runs with another cluster file.
    ///
    /// The other node runs with another cluster file. Give all nodes the same file, then restart them.
    public static let peerConfigMismatch = Self(rawValue: "PEER_CONFIG_MISMATCH")
    /// The node was evicted from the cluster.
    ///
    /// An operator has evicted this node (`isochron nodes evict`): the cluster went on without it, and no node runs
    /// under its id again. Do not start it again; keep its data folder until nothing of it is needed any more.
    public static let nodeEvicted = Self(rawValue: "NODE_EVICTED")
    /// The node must be rebuilt from its peers.
    ///
    /// The node's disk was lost, rolled back or damaged. It stops, sets its old data aside and comes back with a copy
    /// from its peers; other nodes answer meanwhile.
    public static let rebuildNeeded = Self(rawValue: "REBUILD_NEEDED")
    /// The disk of a node is full.
    ///
    /// The disk of a node that the write needs is full, or its quota used up; nothing was written. Reads go on.
    /// Operators: free space or raise the quota (docs/operations.md).
    public static let storageFull = Self(rawValue: "STORAGE_FULL")
    /// The disk refused a write.
    ///
    /// The disk refused a write; nothing was acknowledged. Operators: look for a full or failing disk. A commit may be
    /// repeated under the same transaction id.
    public static let storageFailed = Self(rawValue: "STORAGE_FAILED")
    /// The data on disk have another format.
    ///
    /// Another version of Isochron wrote the data folder, in a format that this version does not read; nothing was
    /// changed. Start that version, or move the data folder away: the node fetches its data from its peers. Folders of
    /// builds before 0.1.0 are not read by any release.
    public static let storageFormat = Self(rawValue: "STORAGE_FORMAT")
    /// The server met an error of its own.
    ///
    /// The server met an error of its own, which its log describes. Try again; report it if it comes back.
    public static let `internal` = Self(rawValue: "INTERNAL")
}

extension IsochronError.Code: CaseIterable {
    /// All codes, in the order of `ERRORS.md`.
    public static let allCases: [Self] = [
        .invalidRequest, .keyspaceUnknown, .keyNotFound, .keyInvalid, .valueInvalid, .valueTooLarge, .updateInvalid,
        .tooManyKeys, .tooManyWatches, .watchReused, .requestTooLarge, .unsupportedMediaType, .routeNotFound,
        .methodNotAllowed, .conditionalWriteUnsupported, .hostNotAllowed, .originNotAllowed, .unauthenticated,
        .permissionDenied, .tokenInvalid, .tokenForeign, .timestampInFuture, .cursorInvalid, .transactionUnknown,
        .transactionExpired, .transactionFinished, .transactionAborted, .txIdReused, .attemptMismatch, .outcomePending,
        .outcomeUnknown, .outcomeForgotten, .outcomeLost, .snapshotTooOld, .changesGone, .watchTooLarge,
        .snapshotUnavailable, .sessionGap, .sessionDeferred, .sessionBlocked, .replicaUnreachable, .clockDrift,
        .clockBehindData, .overloaded, .notReady, .stableTimeout, .notSupportedByProtocol, .frameInvalid,
        .frameTypeUnknown, .requestIdReused, .creditsExhausted, .rateLimited, .connectionLost, .offline, .tlsFailed,
        .credentialsUnavailable, .codeUnavailable, .platformUnsupported, .clientClosed, .configInvalid,
        .certificateInvalid, .placementMismatch, .peerRefused, .peerVersionMismatch, .peerConfigMismatch, .nodeEvicted,
        .rebuildNeeded, .storageFull, .storageFailed, .storageFormat, .internal,
    ]

    /// The codes after which the same request may succeed later.
    static let retryable: Set<Self> = [
        .outcomePending, .outcomeUnknown, .snapshotUnavailable, .sessionGap, .sessionBlocked, .replicaUnreachable,
        .clockDrift, .clockBehindData, .overloaded, .notReady, .stableTimeout, .creditsExhausted, .rateLimited,
        .connectionLost, .offline, .credentialsUnavailable, .codeUnavailable, .rebuildNeeded, .storageFull,
        .storageFailed, .internal,
    ]
}
