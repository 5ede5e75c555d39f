extension IsochronError {
    /// A stable error code, the same text as in servers and the other SDKs (`SNAPSHOT_TOO_OLD`).
    ///
    /// Programs match on the code, never on the message:
    ///
    /// ```swift
    /// catch let error as IsochronError where error.code == .snapshotTooOld { … }
    /// ```
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text.
        public let rawValue: String

        /// The code of a text. An unknown text makes a value that equals none of the codes below.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The code as text.
        public var description: String { rawValue }

        /// A field is missing, has the wrong type or is not known.
        public static let invalidRequest = Code(rawValue: "INVALID_REQUEST")
        /// No such keyspace.
        public static let keyspaceUnknown = Code(rawValue: "KEYSPACE_UNKNOWN")
        /// The key has no value in this snapshot. Only in HTTP answers: `get` returns nil.
        public static let keyNotFound = Code(rawValue: "KEY_NOT_FOUND")
        /// The key is empty or too long.
        public static let keyInvalid = Code(rawValue: "KEY_INVALID")
        /// The value is not a JSON document, or not of the requested type.
        public static let valueInvalid = Code(rawValue: "VALUE_INVALID")
        /// The value is larger than this cluster accepts.
        public static let valueTooLarge = Code(rawValue: "VALUE_TOO_LARGE")
        /// The operations of an update are not valid.
        public static let updateInvalid = Code(rawValue: "UPDATE_INVALID")
        /// The request names more keys than this cluster accepts.
        public static let tooManyKeys = Code(rawValue: "TOO_MANY_KEYS")
        /// The connection watches more than a node allows.
        public static let tooManyWatches = Code(rawValue: "TOO_MANY_WATCHES")
        /// The number of the watch is in use on this connection.
        public static let watchReused = Code(rawValue: "WATCH_REUSED")
        /// The request is larger than this cluster accepts.
        public static let requestTooLarge = Code(rawValue: "REQUEST_TOO_LARGE")
        /// The content type is not supported.
        public static let unsupportedMediaType = Code(rawValue: "UNSUPPORTED_MEDIA_TYPE")
        /// No such route.
        public static let routeNotFound = Code(rawValue: "ROUTE_NOT_FOUND")
        /// The route does not have this method.
        public static let methodNotAllowed = Code(rawValue: "METHOD_NOT_ALLOWED")
        /// Conditional writes cannot be honoured across regions.
        public static let conditionalWriteUnsupported = Code(rawValue: "CONDITIONAL_WRITE_UNSUPPORTED")
        /// The API is not served under this host name.
        public static let hostNotAllowed = Code(rawValue: "HOST_NOT_ALLOWED")
        /// Web pages of this origin may not call the API.
        public static let originNotAllowed = Code(rawValue: "ORIGIN_NOT_ALLOWED")
        /// The credentials are missing or wrong.
        public static let unauthenticated = Code(rawValue: "UNAUTHENTICATED")
        /// The principal may not do this.
        public static let permissionDenied = Code(rawValue: "PERMISSION_DENIED")
        /// The session token, or the exported session, is damaged or forged.
        public static let tokenInvalid = Code(rawValue: "TOKEN_INVALID")
        /// The session token belongs to another cluster.
        public static let tokenForeign = Code(rawValue: "TOKEN_FOREIGN")
        /// The timestamp lies in the future.
        public static let timestampInFuture = Code(rawValue: "TIMESTAMP_IN_FUTURE")
        /// The listing cursor is damaged.
        public static let cursorInvalid = Code(rawValue: "CURSOR_INVALID")
        /// No such open transaction.
        public static let transactionUnknown = Code(rawValue: "TRANSACTION_UNKNOWN")
        /// The transaction was open for too long; nothing of it was written.
        public static let transactionExpired = Code(rawValue: "TRANSACTION_EXPIRED")
        /// The transaction has already ended, or the snapshot was closed.
        public static let transactionFinished = Code(rawValue: "TRANSACTION_FINISHED")
        /// The transaction was aborted; nothing of it was written.
        public static let transactionAborted = Code(rawValue: "TRANSACTION_ABORTED")
        /// The transaction id was used for other writes.
        public static let txIdReused = Code(rawValue: "TX_ID_REUSED")
        /// The transaction id is known with other cohorts.
        public static let attemptMismatch = Code(rawValue: "ATTEMPT_MISMATCH")
        /// The outcome of the commit is not decided yet.
        public static let outcomePending = Code(rawValue: "OUTCOME_PENDING")
        /// The commit may or may not have happened: see ``IsochronError/txId`` and ``IsochronError/sentAfter``.
        public static let outcomeUnknown = Code(rawValue: "OUTCOME_UNKNOWN")
        /// The transaction is too old for its outcome to be known.
        public static let outcomeForgotten = Code(rawValue: "OUTCOME_FORGOTTEN")
        /// A participant has lost its disk, and with it the record of the outcome.
        public static let outcomeLost = Code(rawValue: "OUTCOME_LOST")
        /// The changes after the cursor are no longer kept.
        public static let changesGone = Code(rawValue: "CHANGES_GONE")
        /// The watch has more documents than a client holds. Only this client reports it.
        public static let watchTooLarge = Code(rawValue: "WATCH_TOO_LARGE")
        /// The snapshot has been garbage collected.
        public static let snapshotTooOld = Code(rawValue: "SNAPSHOT_TOO_OLD")
        /// The snapshot is not installed here yet.
        public static let snapshotUnavailable = Code(rawValue: "SNAPSHOT_UNAVAILABLE")
        /// The session's own writes are not visible here yet.
        public static let sessionGap = Code(rawValue: "SESSION_GAP")
        /// The request was not sent: the outcome of an earlier write is not known, see ``IsochronError/blockedBy``.
        /// Only this client reports it; no node sends it.
        public static let sessionBlocked = Code(rawValue: "SESSION_BLOCKED")
        /// No replica of a partition answered.
        public static let replicaUnreachable = Code(rawValue: "REPLICA_UNREACHABLE")
        /// The clock of a node is too far off.
        public static let clockDrift = Code(rawValue: "CLOCK_DRIFT")
        /// The data on disk lie ahead of the clock.
        public static let clockBehindData = Code(rawValue: "CLOCK_BEHIND_DATA")
        /// The node is overloaded.
        public static let overloaded = Code(rawValue: "OVERLOADED")
        /// The node is not ready.
        public static let notReady = Code(rawValue: "NOT_READY")
        /// The timestamp did not become stable in time.
        public static let stableTimeout = Code(rawValue: "STABLE_TIMEOUT")
        /// The protocol of the cluster cannot do this.
        public static let notSupportedByProtocol = Code(rawValue: "NOT_SUPPORTED_BY_PROTOCOL")
        /// A message from or to a server cannot be decoded.
        public static let frameInvalid = Code(rawValue: "FRAME_INVALID")
        /// The frame has an unknown type.
        public static let frameTypeUnknown = Code(rawValue: "FRAME_TYPE_UNKNOWN")
        /// The request id was used before on this connection.
        public static let requestIdReused = Code(rawValue: "REQUEST_ID_REUSED")
        /// More requests in flight than credits were granted.
        public static let creditsExhausted = Code(rawValue: "CREDITS_EXHAUSTED")
        /// The client has used its share of the node for now: see ``IsochronError/retryAfterMs``.
        public static let rateLimited = Code(rawValue: "RATE_LIMITED")
        /// The connection to the cluster is lost and could not be restored in time.
        public static let connectionLost = Code(rawValue: "CONNECTION_LOST")
        /// No node could be reached for as long as the request may take.
        public static let offline = Code(rawValue: "OFFLINE")
        /// The credentials have expired, or were refused, and the app gave no others in time. Only this client reports
        /// it; ``IsochronError/cause`` is the last reason.
        public static let credentialsUnavailable = Code(rawValue: "CREDENTIALS_UNAVAILABLE")
        /// A file of the TypeScript client could not be loaded. This client never reports it.
        public static let codeUnavailable = Code(rawValue: "CODE_UNAVAILABLE")
        /// The platform of the TypeScript client lacks something. This client never reports it.
        public static let platformUnsupported = Code(rawValue: "PLATFORM_UNSUPPORTED")
        /// The client refuses the certificate of the node, or the node does not serve TLS. Only this client reports it;
        /// the message has the reason.
        public static let tlsFailed = Code(rawValue: "TLS_FAILED")
        /// The client has been closed.
        public static let clientClosed = Code(rawValue: "CLIENT_CLOSED")
        /// The cluster file is not valid.
        public static let configInvalid = Code(rawValue: "CONFIG_INVALID")
        /// A certificate or key of the node cannot be used.
        public static let certificateInvalid = Code(rawValue: "CERTIFICATE_INVALID")
        /// The data on disk belongs to another placement.
        public static let placementMismatch = Code(rawValue: "PLACEMENT_MISMATCH")
        /// The peer is not a node of this cluster.
        public static let peerRefused = Code(rawValue: "PEER_REFUSED")
        /// The peer uses another protocol version.
        public static let peerVersionMismatch = Code(rawValue: "PEER_VERSION_MISMATCH")
        /// The peer runs with another cluster file.
        public static let peerConfigMismatch = Code(rawValue: "PEER_CONFIG_MISMATCH")
        /// The node must be rebuilt from its peers.
        public static let rebuildNeeded = Code(rawValue: "REBUILD_NEEDED")
        /// The disk of a node is full.
        public static let storageFull = Code(rawValue: "STORAGE_FULL")
        /// The disk of a node refused a write, or, from a ``SessionStore``, the disk of this device.
        public static let storageFailed = Code(rawValue: "STORAGE_FAILED")
        /// The data on disk have another format.
        public static let storageFormat = Code(rawValue: "STORAGE_FORMAT")
        /// The server met an internal error.
        public static let `internal` = Code(rawValue: "INTERNAL")
    }
}

extension IsochronError.Code: CaseIterable {
    /// All codes, in the order of `ERRORS.md`.
    public static let allCases: [IsochronError.Code] = [
        .invalidRequest, .keyspaceUnknown, .keyNotFound, .keyInvalid, .valueInvalid, .valueTooLarge, .updateInvalid,
        .tooManyKeys, .tooManyWatches, .watchReused, .requestTooLarge, .unsupportedMediaType, .routeNotFound,
        .methodNotAllowed, .conditionalWriteUnsupported, .hostNotAllowed, .originNotAllowed, .unauthenticated,
        .permissionDenied, .tokenInvalid, .tokenForeign, .timestampInFuture, .cursorInvalid, .transactionUnknown,
        .transactionExpired, .transactionFinished, .transactionAborted, .txIdReused, .attemptMismatch, .outcomePending,
        .outcomeUnknown, .outcomeForgotten, .outcomeLost, .snapshotTooOld, .changesGone, .watchTooLarge,
        .snapshotUnavailable, .sessionGap, .sessionBlocked, .replicaUnreachable, .clockDrift, .clockBehindData,
        .overloaded, .notReady,
        .stableTimeout, .notSupportedByProtocol, .frameInvalid, .frameTypeUnknown, .requestIdReused, .creditsExhausted,
        .rateLimited, .connectionLost, .offline, .tlsFailed, .credentialsUnavailable, .codeUnavailable,
        .platformUnsupported, .clientClosed, .configInvalid, .certificateInvalid, .placementMismatch, .peerRefused,
        .peerVersionMismatch, .peerConfigMismatch, .rebuildNeeded, .storageFull, .storageFailed,
        .storageFormat, .internal,
    ]

    private static let known = Set(allCases)
    private static let helped: Set<IsochronError.Code> = [
        .outcomePending, .outcomeUnknown, .snapshotUnavailable, .sessionGap, .sessionBlocked, .replicaUnreachable,
        .clockDrift, .clockBehindData, .overloaded, .notReady, .stableTimeout, .creditsExhausted, .rateLimited,
        .connectionLost, .offline, .credentialsUnavailable, .codeUnavailable, .rebuildNeeded, .storageFull,
        .storageFailed, .internal,
    ]

    /// Whether the code is in ``allCases``.
    public var isKnown: Bool { Self.known.contains(self) }

    /// Whether the same request may succeed later, unless the error itself overrides it.
    public var isRetryable: Bool { Self.helped.contains(self) }
}
