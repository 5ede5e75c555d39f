/**
 * Session tokens (D13): what a caller carries between requests, opaque to it. Base64url of
 *
 *     version 1 · cluster and history 8 · ust 8 · hwt 8 · length and session id · length and node id · MAC 16
 *
 * at most 256 bytes of text. The MAC is HMAC-SHA256 under a key derived from the cluster secret, cut to 16 bytes.
 * A token without a session id proves only `(ust, hwt)`; one with it names the node that keeps the session's write cache.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { IsochronError, isTimestamp, type NodeId, packWall, type Timestamp, type WallMs } from '@isochron/core';
import { LRUCache } from 'lru-cache';
import { canonicalJson } from '../config/canonical.js';
import type { ClusterConfig } from '../config/cluster-file.js';

/** Longest token, in characters. */
export const MAX_TOKEN_LENGTH = 256;
const VERSION = 1;
const TAG_BYTES = 8;
const MAC_BYTES = 16;
const FIXED_BYTES = 1 + TAG_BYTES + 8 + 8;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** What a token says. */
export interface SessionClaims {
  /** Highest stable snapshot that the session has seen. */
  readonly ust: Timestamp;
  /** Commit timestamp of its last write; 0 when that is not above `ust`. */
  readonly hwt: Timestamp;
  /** The write cache of the session, and the node that keeps it. */
  readonly cache?: { readonly session: string; readonly node: NodeId } | undefined;
}

/** Signs and verifies the tokens of one cluster. Recent results are kept, so that a hot session costs no HMAC. */
export class SessionTokens {
  readonly #key: Buffer;
  readonly #tag: Buffer;
  readonly #maxAheadMs: number;
  readonly #decoded = new LRUCache<string, SessionClaims>({ max: 4096 });
  #lastUst: Timestamp = -1;
  #lastHwt: Timestamp = -1;
  #lastToken = '';

  /** @param epoch counts the changes of placement; tokens do not outlive one. */
  constructor(secret: string, config: ClusterConfig, epoch = 0) {
    this.#key = createHmac('sha256', secret).update('isochron session token 1').digest();
    const regions = config.regions.map((region) => ({ id: region.id, nodes: region.nodes.map((node) => node.id) }));
    const identity = canonicalJson({ cluster: config.cluster, epoch, regions, keyspaces: config.keyspaces });
    this.#tag = createHash('sha256').update(identity).digest().subarray(0, TAG_BYTES);
    this.#maxAheadMs = config.settings.maxClockDriftMs / 2;
  }

  /** A token. A `hwt` that `ust` has passed says nothing that `ust` does not, and is left out together with its cache. */
  mint(claims: SessionClaims): string {
    if (claims.hwt > claims.ust && claims.cache !== undefined) return this.#sign(claims);
    return this.mintPlain(claims.ust, claims.hwt);
  }

  /** A token without a cache: the same text again as long as the same timestamps are asked for. */
  mintPlain(ust: Timestamp, hwt: Timestamp): string {
    const live = hwt > ust ? hwt : 0;
    if (ust !== this.#lastUst || live !== this.#lastHwt) {
      this.#lastToken = this.#sign({ ust, hwt: live });
      this.#lastUst = ust;
      this.#lastHwt = live;
    }
    return this.#lastToken;
  }

  /**
   * Reads a token.
   * @throws IsochronError `TOKEN_INVALID` damaged or forged, `TOKEN_FOREIGN` of another cluster, `TIMESTAMP_IN_FUTURE` (T1)
   */
  decode(token: string, now: WallMs): SessionClaims {
    const known = this.#decoded.get(token);
    if (known !== undefined) return known;
    const claims = this.#verify(token);
    this.refuseFuture(Math.max(claims.ust, claims.hwt), now, 'The session token');
    this.#decoded.set(token, claims);
    return claims;
  }

  /** T1 for what a client claims: at most half the cluster's drift limit ahead of this node's wall clock. */
  refuseFuture(ts: Timestamp, now: WallMs, what: string): void {
    if (ts <= packWall(now + this.#maxAheadMs)) return;
    throw new IsochronError('TIMESTAMP_IN_FUTURE', `${what} names a time more than ${this.#maxAheadMs} ms ahead.`);
  }

  #sign(claims: SessionClaims): string {
    const session = Buffer.from(claims.cache?.session ?? '', 'latin1');
    const node = Buffer.from(claims.cache?.node ?? '', 'latin1');
    const record = Buffer.alloc(FIXED_BYTES + 2 + session.length + node.length + MAC_BYTES);
    record[0] = VERSION;
    this.#tag.copy(record, 1);
    writeTimestamp(record, claims.ust, 1 + TAG_BYTES);
    writeTimestamp(record, claims.hwt, 1 + TAG_BYTES + 8);
    let at = record.writeUInt8(session.length, FIXED_BYTES);
    at += session.copy(record, at);
    at = record.writeUInt8(node.length, at);
    at += node.copy(record, at);
    this.#mac(record.subarray(0, at)).copy(record, at);
    return record.toString('base64url');
  }

  #mac(body: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(body).digest().subarray(0, MAC_BYTES);
  }

  #verify(token: string): SessionClaims {
    if (token.length > MAX_TOKEN_LENGTH || !BASE64URL.test(token)) throw damaged();
    const record = Buffer.from(token, 'base64url');
    // A last character with spare bits set decodes to the same bytes: only the one canonical text is a token.
    if (record.length < FIXED_BYTES + 2 + MAC_BYTES || record.toString('base64url') !== token) throw damaged();
    if (record[0] !== VERSION) throw damaged();
    // The cluster comes before the MAC: another cluster signs with another key, and the caller should hear which it is.
    if (!record.subarray(1, 1 + TAG_BYTES).equals(this.#tag)) {
      throw new IsochronError(
        'TOKEN_FOREIGN',
        'This session token was made by another cluster. Start a new session here.',
      );
    }
    const body = record.subarray(0, record.length - MAC_BYTES);
    if (!timingSafeEqual(this.#mac(body), record.subarray(body.length))) throw damaged();
    return readClaims(body);
  }
}

function readClaims(body: Buffer): SessionClaims {
  const ust = readTimestamp(body, 1 + TAG_BYTES);
  const hwt = readTimestamp(body, 1 + TAG_BYTES + 8);
  const nodeAt = FIXED_BYTES + 1 + body[FIXED_BYTES]!;
  if (nodeAt >= body.length || nodeAt + 1 + body[nodeAt]! !== body.length) throw damaged();
  const session = body.toString('latin1', FIXED_BYTES + 1, nodeAt);
  const node = body.toString('latin1', nodeAt + 1);
  return session === '' ? { ust, hwt } : { ust, hwt, cache: { session, node } };
}

function writeTimestamp(record: Buffer, ts: Timestamp, at: number): void {
  record.writeUInt32BE(Math.floor(ts / 2 ** 32), at);
  record.writeUInt32BE(ts % 2 ** 32, at + 4);
}

function readTimestamp(record: Buffer, at: number): Timestamp {
  const ts = record.readUInt32BE(at) * 2 ** 32 + record.readUInt32BE(at + 4);
  if (!isTimestamp(ts)) throw damaged();
  return ts;
}

const damaged = (): IsochronError =>
  new IsochronError(
    'TOKEN_INVALID',
    'The session token is damaged or was not made by this cluster. Start a new session.',
  );
