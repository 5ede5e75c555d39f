/** A caller, for the time of one request, and its view of its own writes. */
import type { QualifiedKey, Timestamp, Version } from '@isochron/core';
import {
  laidOver,
  type OwnWrite,
  type SessionRules,
  type SessionTransaction,
  type Snapshot,
} from '@isochron/protocols';
import type { SessionClaims } from './claims.js';
import type { KeptSession } from './kept-session.js';
import type { CacheEntry } from './messages.js';
import { NOTHING_SEEN, raisedTo } from './snapshot.js';

export interface Caller {
  /** The highest snapshot that the session has seen. */
  readonly seen: Snapshot;
  readonly hwt: Timestamp;
  /** A snapshot from here on, with `kept` laid over it, shows every write of the session. See {@link completeOf}. */
  readonly complete: Timestamp;
  readonly kept: KeptSession | undefined;
  /** The claims of the token about the last write; absent without a token. */
  readonly last?: Pick<SessionClaims, 'map' | 'hwt'>;
}

/** A caller without a token has no guarantees yet. */
export const ANONYMOUS: Caller = { seen: NOTHING_SEEN, hwt: 0, complete: 0, kept: undefined };

/** By the caller's present cache: other requests of the session may have changed it since the request began. */
export const completeOf = ({ complete, kept }: Caller): Timestamp => Math.max(complete, kept?.complete ?? 0);

/** The lower bound of a caller's snapshots. */
export const floorOf = (rules: SessionRules, caller: Caller): Snapshot =>
  raisedTo(rules, caller.seen, completeOf(caller));

/** Own writes by key, those of a key in their order. */
export type Overlay = ReadonlyMap<QualifiedKey, readonly CacheEntry[]>;

export function overlayOf(entries: readonly CacheEntry[]): Overlay {
  const overlay = new Map<QualifiedKey, CacheEntry[]>();
  for (const entry of entries) {
    const own = overlay.get(entry.key);
    if (own === undefined) overlay.set(entry.key, [entry]);
    else own.push(entry);
  }
  return overlay;
}

/** A key's version with own writes, in their order, laid over it. The `txId` of the result is empty then. */
export function withOwn(version: Version | null, own: readonly OwnWrite[] = []): Version | null {
  if (own.length === 0) return version;
  const value = laidOver(version?.value ?? null, own) ?? null;
  return { ts: own.at(-1)!.ct ?? 0, value, txId: '', region: '' };
}

/** The own writes of a caller around one read: frozen when the read begins (P7), laid over the coordinator's answer. */
export class OwnView {
  readonly #kept: KeptSession;
  readonly #tx: SessionTransaction;
  /** The lower bound of the read's snapshot. */
  readonly floor: Snapshot;

  /** Begins a read. A caller with a gap first waits for it to close. */
  constructor(caller: Caller & { readonly kept: KeptSession }, rules: SessionRules, ust: Timestamp) {
    const { kept } = caller;
    kept.observe(caller.seen, ust);
    this.#kept = kept;
    this.#tx = kept.session.begin();
    this.floor = rules.merge(floorOf(rules, caller), this.#tx.seen);
  }

  /** The caller's view of keys whose versions a coordinator has read from a snapshot. */
  over(keys: readonly QualifiedKey[], snapshot: Snapshot, versions: readonly (Version | null)[]): (Version | null)[] {
    this.#started(snapshot);
    return keys.map((key, i) => {
      return withOwn(versions[i] ?? null, this.#tx.own(key));
    });
  }

  /** All own writes above a snapshot. */
  above(snapshot: Snapshot): CacheEntry[] {
    this.#started(snapshot);
    return [...this.#tx.overlay()].flatMap(([key, own]) =>
      own.map(({ ct = 0, txId = '', value }) => ({ key, ct, txId, value })),
    );
  }

  /** Ends the read, answered or not. */
  end(): void {
    this.#kept.session.end(this.#tx);
  }

  #started({ ts, deps }: Snapshot): void {
    this.#kept.session.started(this.#tx, ts, deps);
  }
}
