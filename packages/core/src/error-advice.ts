/** What to do about each error, as in `ERRORS.md`: a test compares the two. Backquotes mark text to type. */
import type { ErrorCode } from './errors.js';

export const ERROR_ADVICE: Readonly<Record<ErrorCode, string>> = {
  INVALID_REQUEST:
    'A field is missing, has the wrong type or is not known. `detail` names it; compare with `/openapi.json`.',
  KEYSPACE_UNKNOWN: 'The cluster file has no keyspace of this name. Check the spelling, or add it to the file.',
  KEY_NOT_FOUND:
    'The key has no value in the snapshot that was read: it was never written, was deleted, or was written later.',
  KEY_INVALID: 'A key is 1 to 1,024 bytes of UTF-8. Shorten it; over HTTP, percent-encode it in the path.',
  VALUE_INVALID:
    'A document is I-JSON of at most 128 levels: each member once, whole characters, and numbers that a double holds. ' +
    'The message begins with the place of the fault. Store a larger whole number as text.',
  VALUE_TOO_LARGE:
    'The value exceeds the limit of this cluster (1 MiB unless configured). Split it over several keys of one ' +
    'transaction.',
  UPDATE_INVALID:
    'An operation has an unknown kind, a path that is no JSON Pointer, or a wrong member: the message names it. ' +
    'docs/updates.md lists the operations.',
  TOO_MANY_KEYS:
    'One request names more keys than are allowed (1,000 unless configured), or their values are more than one ' +
    'answer holds. Split a read: same snapshot (`at`) in each part.',
  TOO_MANY_WATCHES:
    'A connection may watch 1,000 scopes, with 10,000 named keys in all. End watches that are not shown, or watch a ' +
    'range of keys.',
  WATCH_REUSED: 'The connection watches another scope under this number. Count up for every scope.',
  REQUEST_TOO_LARGE: 'The whole request is larger than the node accepts. Send less at once.',
  UNSUPPORTED_MEDIA_TYPE: 'Send `Content-Type: application/json`.',
  ROUTE_NOT_FOUND: 'No such path. `/docs` lists all of them; a slash in a key must be sent as `%2F`.',
  METHOD_NOT_ALLOWED: 'The path exists, but not with this method. The `Allow` header names those it has.',
  CONDITIONAL_WRITE_UNSUPPORTED:
    '`If-Match` on a write cannot be honoured: another region may write at the same moment, and the write does ' +
    'not wait for it. Leave it out; the last writer wins.',
  HOST_NOT_ALLOWED:
    'The `Host` of the request is no name of this API. Without API keys only loopback names are; `isochron node ' +
    '--allow-host NAME` adds others.',
  ORIGIN_NOT_ALLOWED:
    'A web page of another origin called. Without API keys only pages of this machine may; `isochron node ' +
    '--cors-origin ORIGIN` names others.',
  UNAUTHENTICATED: 'The credentials are missing or wrong. Sign in again and send the new ones.',
  PERMISSION_DENIED:
    'An access rule refused it, or no rule or role of the principal allows it; nothing was done. Ask for permission, ' +
    'or use credentials that have it.',
  TOKEN_INVALID:
    'The session token is truncated, changed, not issued by a cluster, or issued under another `protocol` of ' +
    'this one. Start a new session without it.',
  TOKEN_FOREIGN:
    'The session token was issued by another cluster, or under another `cluster` id or placement of this one: ' +
    'give it a new id when its data is replaced. Start a new session.',
  TIMESTAMP_IN_FUTURE: 'A timestamp lies further ahead than clocks may differ. Use one that the cluster gave out.',
  CURSOR_INVALID: 'The cursor of the listing was changed or belongs to another listing. Start the listing again.',
  TRANSACTION_UNKNOWN:
    "No open transaction has this id: it was never started, is another caller's, or own writes that it has to " +
    'show went with its node. Start a new one; a repeated commit is never lost by this.',
  TRANSACTION_EXPIRED:
    'The transaction stayed open longer than allowed (30 s unless configured); nothing of it was written. Start ' +
    'a new one, and keep user input out of it.',
  TRANSACTION_FINISHED: 'The transaction was committed or aborted before. Ask for its outcome, or start a new one.',
  TRANSACTION_ABORTED: 'The transaction was aborted and nothing of it was written. Run it again as a new transaction.',
  TX_ID_REUSED:
    'The transaction id (`Idempotency-Key`) belongs to other writes or another caller. Use a fresh id for each ' +
    'transaction.',
  ATTEMPT_MISMATCH:
    'The transaction is known with another list of participants, so this try does not continue it. Ask for its ' +
    'outcome before doing anything else.',
  OUTCOME_PENDING:
    'A participant of the commit cannot be reached, so its outcome is not known yet. Repeat it under the same ' +
    'transaction id, or ask at `/v1/transactions/:id`.',
  OUTCOME_UNKNOWN:
    'The answer to the commit got lost; it may have taken effect. Repeat it under the same id, or ask for it ' +
    '(`transaction` of the problem, `txId` and `sentAfter` of the SDK error). The SDKs report it as not ' +
    'retryable, as another call is another write; `outcome` of the error becomes what became of it, and a ' +
    'call with an `id` may be repeated.',
  OUTCOME_FORGOTTEN:
    'The commit was repeated after the time for which outcomes are kept (24 h unless configured); its status is ' +
    '`forgotten`. Read the keys to see whether it took effect.',
  OUTCOME_LOST:
    'A participant has lost its disk since the commit was made, and with it the record of whether an earlier sending ' +
    'took effect; this sending did not. Its status is `forgotten`. Read the keys to see, and write again under a new ' +
    'id if they lack it.',
  CHANGES_GONE:
    'The cursor of the change feed is older than `changeRetentionMs`. Read the data anew in a snapshot, and follow ' +
    'the feed from there.',
  WATCH_TOO_LARGE:
    'The clients report it: a watch holds at most 10,000 documents and 16 MiB. Watch fewer keys, or a shorter range; ' +
    '`limit` and `where` do not make a watch smaller.',
  SNAPSHOT_TOO_OLD: 'Versions of this snapshot have been garbage collected. Read again in a newer snapshot.',
  SNAPSHOT_UNAVAILABLE:
    'The timestamp asked for is not stable in this region yet, or access rules permit the write only with documents ' +
    'that are not. Try again shortly, or read without `at`.',
  SESSION_GAP:
    "The session's own writes are not visible on this node yet, and it did not answer without them, nor refuse what " +
    'they may permit. Try again, allow a longer `Prefer: wait`, or use the node that took the writes.',
  SESSION_DEFERRED:
    'A node of the cluster was suspended just after the session had written, and what the session wrote last may not ' +
    'be visible before that node is back. The writes are not lost. Begin without the token, as another session; a ' +
    'client that was exported with its writes goes on by itself.',
  SESSION_BLOCKED:
    'The TypeScript and Swift clients report it, and nodes of a commit that was sent behind another one ' +
    '(`after`), which their clients repeat. A write waits for its turn behind one whose outcome is not known ' +
    '(`blockedBy` of the SDK error), because a node that took part in that one does not answer. Nothing of ' +
    'the later write was sent. Try again, or give the order up with `client.detach()`.',
  REPLICA_UNREACHABLE:
    'No replica of a partition answered, here or in another region. Try again; `isochron status` shows which ' +
    'links are down.',
  CLOCK_DRIFT:
    'The clock of a node is further off than allowed, or not compared yet: it takes no writes, and peers close ' +
    'its links. Operators: check its time service (`docs/clocks.md`).',
  CLOCK_BEHIND_DATA:
    'A node does not start: its disk is ahead of its clock. Set the clock; if it is right, `docs/clocks.md` ' +
    '("Data from the future") has the way back.',
  OVERLOADED:
    'The node has more work than it can take. Wait for the time in `Retry-After`, then try again; add nodes if it ' +
    'goes on.',
  NOT_READY:
    'The node is starting, verifying its disk, recovering or about to close; of `/readyz`, or cut off, behind' +
    ' or without room (docs/operations.md). Try again after the time in `Retry-After`, or use another ' +
    'node; the SDK does. A commit refused so has not begun.',
  STABLE_TIMEOUT:
    'The write is safe, but not every node served it in the time given. Ask again with a longer timeout; a node ' +
    'or a region may be down.',
  NOT_SUPPORTED_BY_PROTOCOL:
    'The replication protocol chosen in the cluster file cannot do this; `capabilities` of `/v1/cluster` lists ' +
    'what it can do. Use another operation, or another protocol.',
  FRAME_INVALID:
    'A WebSocket frame could not be decoded. Check that it matches the subprotocol agreed on (JSON or ' +
    'MessagePack).',
  FRAME_TYPE_UNKNOWN:
    'A WebSocket frame has a type that this version does not know. Check the spelling, or update the server.',
  REQUEST_ID_REUSED: 'A request id was used twice on one connection. Count up for every request.',
  CREDITS_EXHAUSTED:
    'More requests were in flight than the server had granted. Wait for an answer before sending the next.',
  RATE_LIMITED:
    'This principal, or this address where callers need no credentials, has sent more requests or bytes than it may ' +
    'in a second, or too many wrong credentials in a minute. Nothing of the request was done. Wait for the time in ' +
    '`Retry-After` (a session: `retryAfterMs`), then try again; the SDKs do. Operators: `--limit`.',
  CONNECTION_LOST:
    'The connection broke and could not be restored in time. Try again: the SDK reconnects, to another region if ' +
    'need be.',
  OFFLINE:
    'No node could be reached for as long as the request may take (`requestTimeoutMs`): the SDKs report it, ' +
    'no node does. Nothing of a write was sent. Show what is known, and try again when the status is ' +
    '`online`.',
  TLS_FAILED:
    'The Swift SDK reports it (the TypeScript SDK CONNECTION_LOST): a certificate that the client refuses (expired, ' +
    'for another host, of an authority that it does not trust), or a port without TLS. The message names the reason. ' +
    'Correct the certificate of the node or the URL, or give the client the authority as `ca`.',
  CREDENTIALS_UNAVAILABLE:
    'The credentials of the client have expired, or were refused, and its `auth` returned no others that the cluster ' +
    'accepts for as long as the request may take: the SDKs report it, no node does. Nothing of a write was sent. ' +
    '`cause` is the last reason. Sign in again; the client goes on calling `auth`.',
  CODE_UNAVAILABLE:
    'A file of the client that is fetched on demand could not be loaded: the network failed, or the application was ' +
    'deployed anew without its former files. The TypeScript SDK reports it; nothing was sent. Repeat the call; where ' +
    'it fails again, load the page anew. `cause` is the error of the platform.',
  PLATFORM_UNSUPPORTED:
    'The platform has no WebSocket or no `crypto.getRandomValues`: the TypeScript SDK reports it. The message names ' +
    'what is missing and the package that adds it.',
  CLIENT_CLOSED: 'The client was closed while the request waited. Open a new client to go on.',
  CONFIG_INVALID: 'The cluster file is wrong. The message names the line and the reason; correct it and start again.',
  CERTIFICATE_INVALID:
    'A file with a certificate or key is missing, of another kind, does not fit the others, or its time is over. The ' +
    'message names it: `isochron certs` makes new ones (docs/security.md).',
  PLACEMENT_MISMATCH:
    'The data on disk was written under another placement of partitions, or another `protocol`. Start with the ' +
    'former cluster file, or with an empty data folder.',
  PEER_REFUSED:
    'A node that is not in the cluster file, or has the wrong secret, tried to connect. Compare the file and the ' +
    'secret of both nodes.',
  PEER_VERSION_MISMATCH:
    'The other node uses another version of the peering protocol. Run the same version on all nodes.',
  PEER_CONFIG_MISMATCH:
    'The other node runs with another cluster file. Give all nodes the same file, then restart them.',
  NODE_EVICTED:
    'An operator has evicted this node (`isochron nodes evict`): the cluster went on without it, and no node runs under ' +
    'its id again. Do not start it again; keep its data folder until nothing of it is needed any more.',
  REBUILD_NEEDED:
    "The node's disk was lost, rolled back or damaged. It stops, sets its old data aside and comes back with a " +
    'copy from its peers; other nodes answer meanwhile.',
  STORAGE_FULL:
    'The disk of a node that the write needs is full, or its quota used up; nothing was written. Reads go on.' +
    ' Operators: free space or raise the quota (docs/operations.md).',
  STORAGE_FAILED:
    'The disk refused a write; nothing was acknowledged. Operators: look for a full or failing disk. A commit ' +
    'may be repeated under the same transaction id.',
  STORAGE_FORMAT:
    'Another version of Isochron wrote the data folder, in a format that this version does not read; nothing was ' +
    'changed. Start that version, or move the data folder away: the node fetches its data from its peers. Folders of ' +
    'builds before 0.1.0 are not read by any release.',
  INTERNAL: 'The server met an error of its own, which its log describes. Try again; report it if it comes back.',
};
