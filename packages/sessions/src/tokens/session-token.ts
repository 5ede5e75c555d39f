/**
 * Session tokens (D13) under protocols with transactions: a caller carries them between requests, opaque to it. The
 * record of `signed.ts`, holding
 *
 *     ust 8 · hwt 8 · length and session id · length and node id
 *
 * for PaRiS (version 1), at most 256 bytes of text. Under another protocol the version is 2, and behind them come
 *
 *     length and protocol · number of entries · the entries of what was seen, 8 each
 *
 * A token without a session id proves only what was seen and written. One with it names the node that keeps the
 * session's write cache; its version is 4 (PaRiS) or 5, and the number of the cache's changes that its bearer depends
 * on, 8, comes last. Versions 1 and 2 with a session id are of nodes that did not count changes: the id is ignored, and
 * their bearer waits until its writes are stable.
 */
import type { Timestamp } from '@isochron/core';
import type { SessionRules, Snapshot } from '@isochron/protocols';
import type { SessionClaims } from '../claims.js';
import { sameSnapshot } from '../snapshot.js';
import type { RecordWriter } from './record-writer.js';
import {
  damaged,
  type Fields,
  SignedTokens,
  TOKEN_VERSIONS,
  type TokenCluster,
  type TokenVersion,
  UNNAMED_PROTOCOL,
} from './signed.js';
import type { SnapshotChecks } from './snapshot-checks.js';

/** Longest token of a session without entries, in characters. */
export const MAX_TOKEN_LENGTH = 256;

/** Without a cache, and with one. */
const versionsOf = (isUnnamed: boolean) =>
  isUnnamed
    ? ([TOKEN_VERSIONS.plain, TOKEN_VERSIONS.cache] as const)
    : ([TOKEN_VERSIONS.withProtocol, TOKEN_VERSIONS.cacheWithProtocol] as const);

/** The tokens of one cluster. */
export class SessionTokens extends SignedTokens<SessionClaims> {
  #lastSeen: Snapshot = { ts: -1 };
  #lastHwt: Timestamp = -1;
  #lastHolder = '';
  #lastToken = '';

  constructor(
    cluster: TokenCluster,
    /** The session rules of the cluster's protocol. */
    readonly rules: SessionRules,
    readonly checks: SnapshotChecks,
  ) {
    super(versionsOf(cluster.protocol === UNNAMED_PROTOCOL), MAX_TOKEN_LENGTH + 11 * checks.entries, cluster);
  }

  /**
   * A token for a principal, see `holderOf`. A `hwt` whose write is part of the seen snapshot adds nothing, and is left
   * out together with its cache.
   */
  mint({ seen, hwt, cache }: SessionClaims, holder = ''): string {
    if (cache !== undefined && this.#isLive(seen, hwt)) return this.#sign({ seen, hwt, cache }, holder);
    return this.mintPlain(seen, hwt, holder);
  }

  /** A token without a cache: the same text for repeated arguments. */
  mintPlain(seen: Snapshot, hwt: Timestamp, holder = ''): string {
    const live = this.#isLive(seen, hwt) ? hwt : 0;
    if (live !== this.#lastHwt || holder !== this.#lastHolder || !sameSnapshot(seen, this.#lastSeen)) {
      this.#lastToken = this.#sign({ seen, hwt: live }, holder);
      this.#lastHolder = holder;
      this.#lastSeen = seen;
      this.#lastHwt = live;
    }
    return this.#lastToken;
  }

  protected read(fields: Fields, version: TokenVersion): SessionClaims {
    const [ts, hwt] = [fields.timestamp(), fields.timestamp()];
    const [session, node] = [fields.text(), fields.text()];
    const seen = this.protocol === UNNAMED_PROTOCOL ? { ts } : { ts, ...this.#entriesIn(fields) };
    if (version === TOKEN_VERSIONS.plain || version === TOKEN_VERSIONS.withProtocol) return fields.end({ seen, hwt });
    if (session === '' || node === '') throw damaged();
    return fields.end({ seen, hwt, cache: { session, node, changes: fields.count() } });
  }

  protected judge({ seen: { ts, deps }, hwt }: SessionClaims, latest: Timestamp): void {
    this.checks.refuseFuture({ ts: Math.max(ts, hwt), deps }, latest, 'The session token');
  }

  /** Whether the write at `hwt` may be missing in a snapshot, or must still be sorted before the session's next one. */
  #isLive(seen: Snapshot, hwt: Timestamp): boolean {
    return hwt > Math.min(seen.ts, this.rules.covers(seen));
  }

  #entriesIn(fields: Fields): Pick<Snapshot, 'deps'> {
    fields.text(); // the protocol
    const deps = Array.from({ length: fields.byte() }, () => fields.timestamp());
    if (!this.checks.fits(deps.length === 0 ? undefined : deps)) throw damaged();
    return deps.length === 0 ? {} : { deps };
  }

  #sign({ seen, hwt, cache }: SessionClaims, holder: string): string {
    const isUnnamed = this.protocol === UNNAMED_PROTOCOL;
    const [plain, named] = versionsOf(isUnnamed);
    const write = (record: RecordWriter): void => {
      record.timestamp(seen.ts);
      record.timestamp(hwt);
      record.text(cache?.session ?? '');
      record.text(cache?.node ?? '');
      if (!isUnnamed) this.#writeProtocol(record, seen);
      if (cache !== undefined) record.count(cache.changes);
    };
    return this.sign(cache === undefined ? plain : named, write, holder);
  }

  #writeProtocol(record: RecordWriter, { deps = [] }: Snapshot): void {
    record.text(this.protocol);
    record.byte(deps.length);
    for (const entry of deps) record.timestamp(entry);
  }
}
