/**
 * Session tokens (D13) under protocols with transactions: a caller carries them between requests, opaque to it. The
 * fields in the record of `signed.ts` are
 *
 *     version of the map · ust 8 · hwt 8 · number of entries · the entries of what was seen, 8 each
 *
 * A token with a write cache names it behind them, with the node that keeps the cache, and the number of its changes
 * that the bearer depends on:
 *
 *     length and session id · length and node id · changes 8
 */
import { IsochronError, type Timestamp } from '@isochron/core';
import type { SessionRules, Snapshot } from '@isochron/protocols';
import type { SessionClaims } from '../claims.js';
import { sameSnapshot } from '../snapshot.js';
import type { RecordWriter } from './record-writer.js';
import { damaged, type Fields, SignedTokens, type TokenCluster } from './signed.js';
import type { SnapshotChecks } from './snapshot-checks.js';

/** Longest token of a session without entries, in characters. */
export const MAX_TOKEN_LENGTH = 256;

/** The tokens of one cluster, as one of its nodes makes and takes them. */
export class SessionTokens extends SignedTokens<SessionClaims> {
  #lastMap = -1;
  #lastSeen: Snapshot = { ts: -1 };
  #lastHwt: Timestamp = -1;
  #lastHolder = '';
  #lastToken = '';

  constructor(
    cluster: TokenCluster,
    /** The session rules of the cluster's protocol. */
    readonly rules: SessionRules,
    readonly checks: SnapshotChecks,
    /** Version of the map that the node has adopted: no snapshot in its tokens belongs to a later map. */
    readonly map: () => number = () => 0,
  ) {
    super(MAX_TOKEN_LENGTH + 11 * checks.entries, cluster);
  }

  /**
   * A token for a principal, see `holderOf`. A `hwt` whose write is part of the seen snapshot adds nothing, and is left
   * out together with its cache.
   */
  mint({ map = this.map(), seen, hwt, cache }: SessionClaims, holder = ''): string {
    if (cache !== undefined && this.#isLive(seen, hwt)) return this.#sign({ map, seen, hwt, cache }, holder);
    return this.mintPlain(seen, hwt, holder, map);
  }

  /**
   * A token without a cache: the same text for repeated arguments.
   * @param map the version that the token names, by default the map of the node
   */
  mintPlain(seen: Snapshot, hwt: Timestamp, holder = '', map = this.map()): string {
    const live = this.#isLive(seen, hwt) ? hwt : 0;
    const isRepeated = map === this.#lastMap && live === this.#lastHwt;
    if (!isRepeated || holder !== this.#lastHolder || !sameSnapshot(seen, this.#lastSeen)) {
      this.#lastToken = this.#sign({ map, seen, hwt: live }, holder);
      this.#lastHolder = holder;
      this.#lastMap = map;
      this.#lastSeen = seen;
      this.#lastHwt = live;
    }
    return this.#lastToken;
  }

  protected read(fields: Fields): SessionClaims {
    const map = fields.uint();
    const [ts, hwt] = [fields.timestamp(), fields.timestamp()];
    if (map > this.map()) throw ofAHigherMap();
    const deps = Array.from({ length: fields.byte() }, () => fields.timestamp());
    if (!this.checks.fits(deps.length === 0 ? undefined : deps)) throw damaged();
    const seen = deps.length === 0 ? { ts } : { ts, deps };
    const head = { ...(map > 0 && { map }), seen, hwt };
    if (fields.isAtEnd) return head;
    const [session, node] = [fields.text(), fields.text()];
    if (session === '' || node === '') throw damaged();
    return fields.end({ ...head, cache: { session, node, changes: fields.count() } });
  }

  protected judge({ seen: { ts, deps }, hwt }: SessionClaims, latest: Timestamp): void {
    this.checks.refuseFuture({ ts: Math.max(ts, hwt), deps }, latest, 'The session token');
  }

  /** Whether the write at `hwt` may be missing in a snapshot, or must still be sorted before the session's next one. */
  #isLive(seen: Snapshot, hwt: Timestamp): boolean {
    return hwt > Math.min(seen.ts, this.rules.covers(seen));
  }

  #sign({ map, seen: { ts, deps = [] }, hwt, cache }: SessionClaims & { map: number }, holder: string): string {
    const write = (record: RecordWriter): void => {
      record.uint(map);
      record.timestamp(ts);
      record.timestamp(hwt);
      record.byte(deps.length);
      for (const entry of deps) record.timestamp(entry);
      if (cache === undefined) return;
      record.text(cache.session);
      record.text(cache.node);
      record.count(cache.changes);
    };
    return this.sign(write, holder);
  }
}

/** M6 */
const ofAHigherMap = (): IsochronError =>
  new IsochronError('NOT_READY', 'This node has not adopted the newest map of the cluster yet. Ask another node.');
