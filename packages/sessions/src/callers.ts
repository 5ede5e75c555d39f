/** Resolves a plain HTTP caller's token on this node, and makes the claims of its next token. */
import { IsochronError, type NodeId, RecentMap, type SessionCut, type Timestamp, TransientMap } from '@isochron/core';
import type { SessionRules, Snapshot } from '@isochron/protocols';
import { type Caller, completeOf, OwnView } from './caller.js';
import type { CacheName, SessionClaims } from './claims.js';
import type { CommittedWrites, KeptSession } from './kept-session.js';
import { copyOf, type SessionsMachine, type WantedCache } from './machine.js';
import type { SessionCacheResp, SessionHandover } from './messages.js';
import { depsField, hasAllUpTo, raisedTo } from './snapshot.js';

/** The node that serves the callers. */
export interface CallersNode {
  readonly id: NodeId;
  /** All nodes, this one too, and those of its region. */
  readonly nodes: readonly NodeId[];
  readonly near: readonly NodeId[];
  readonly rules: SessionRules;
  /** Its stable time. */
  ust(): Timestamp;
  /** The adopted maps above a version that have suspended nodes (M10). */
  cutsAfter(version: number): readonly SessionCut[];
}

/** The caches of a node that closes. */
export interface HandedOver {
  /** Kept by another node now. */
  readonly moved: number;
  /** Lost: their sessions wait until their writes are stable. */
  readonly gapped: number;
}

/** The last write of a session, and the version of the map that is named with it; absent for 0. */
type LastWrite = Pick<SessionClaims, 'map' | 'hwt'>;

/** `unreachable`: the keeper did not answer, and no other node has it. */
export type OnLocated = (answer: SessionCacheResp | undefined, unreachable: boolean) => void;

/** Pause after a search that found a cache on no node, ms. */
const NOWHERE_MS = 1000;

export class Callers {
  readonly #fetching = new TransientMap<string, (() => void)[]>();
  /** Until when no node is asked for a session's cache. */
  readonly #nowhere = new RecentMap<string, number>(10_000);

  constructor(
    readonly node: CallersNode,
    readonly machine: SessionsMachine,
  ) {}

  /**
   * A map since that of a token may have deferred the session's last write: no snapshot has to contain it, and the
   * cache that is kept does not show it (M10).
   * @throws IsochronError SESSION_DEFERRED
   */
  refuseDeferred(last: LastWrite): void {
    if (this.#cutOf(last) === undefined) return;
    const detail =
      'A node was suspended after the session had written, and what it wrote last may wait for the return of that node. Begin without the token.';
    throw new IsochronError('SESSION_DEFERRED', detail);
  }

  /** The first map that may have deferred a write. */
  #cutOf({ map = 0, hwt }: LastWrite): SessionCut | undefined {
    return this.node.cutsAfter(map).find(({ horizon }) => hwt > horizon);
  }

  /**
   * Resolves a token to its caller; calls back at once if this node can. Otherwise it asks the node that keeps the
   * session's cache, and then all others, as one of them may have taken it over. If no node has all that the token
   * names, the caller is incomplete, and a read waits for the gap to close.
   */
  resolve(claims: SessionClaims, done: (caller: Caller) => void): void {
    const here = this.#callerHere(claims);
    const { cache } = claims;
    if (here !== undefined) done(here);
    else if (cache === undefined || !this.node.nodes.includes(cache.node) || this.#isNowhere(cache))
      done(gappedCaller(claims));
    else this.#fromPeer(claims, cache, done);
  }

  /** The highest snapshot that a caller has seen, by its token and by this node. */
  knownTo({ seen }: Caller): Snapshot {
    return this.node.rules.stable?.(seen, this.node.ust()) ?? seen;
  }

  /** What a commit of a caller depends on whose transaction has read from a snapshot. */
  depending(caller: Caller, snapshot: Snapshot): Snapshot {
    return this.node.rules.depending?.(snapshot, this.knownTo(caller)) ?? snapshot;
  }

  /** Whether a read of the caller has to wait until `completeOf` is stable. */
  hasGap(caller: Caller): boolean {
    return completeOf(caller) > this.node.ust();
  }

  /** Begins a read of a caller whose own writes are kept here. */
  view(caller: Caller & { readonly kept: KeptSession }): OwnView {
    return new OwnView(caller, this.node.rules, this.node.ust());
  }

  /**
   * The claims of the caller's token after a read from a snapshot.
   * @throws IsochronError SESSION_DEFERRED where a map that was adopted meanwhile may have deferred the last write or
   * a write in the cache
   */
  afterRead(caller: Caller, snapshot: Snapshot): SessionClaims {
    for (const last of [caller.last, caller.kept]) if (last !== undefined) this.refuseDeferred(last);
    return this.#claims(caller, snapshot);
  }

  #claims(caller: Caller, snapshot: Snapshot): SessionClaims {
    const seen = this.node.rules.merge(caller.seen, snapshot);
    const { kept } = caller;
    if (kept === undefined) return { seen, hwt: caller.hwt };
    const cache = { session: kept.id, node: this.node.id, changes: kept.changes };
    return { seen, hwt: Math.max(kept.hwt, caller.hwt), cache };
  }

  /**
   * Adds a commit to the caller's cache, a new one for a caller without. Returns the claims of the caller's next token.
   * Where a map may have deferred the commit, or a write before, they name the map below, so that no node takes them
   * (M10).
   */
  committed(caller: Caller, committed: CommittedWrites): SessionClaims {
    const { store } = this.machine;
    const { map, commit } = committed;
    const writes = [map === undefined ? undefined : { map, hwt: commit.ts }, caller.last, caller.kept];
    const cut = writes.flatMap((write) => (write && this.#cutOf(write)) ?? [])[0];
    if (cut !== undefined) {
      const ts = Math.min(caller.seen.ts, cut.horizon);
      return { map: cut.map - 1, seen: { ...caller.seen, ts }, hwt: Math.max(caller.hwt, commit.ts) };
    }
    const kept = (caller.kept && this.#inForce(caller.kept)) ?? store.create({ ...caller, map });
    kept.observe(caller.seen, this.node.ust());
    // A repeated commit may be older than what the session has seen since.
    if (!hasAllUpTo(this.node.rules, kept.seen, committed.commit.ts)) kept.committed(committed);
    store.touch(kept);
    return this.#claims({ ...caller, kept }, kept.seen);
  }

  /** The cache that a node kept under an id, from that node or from the one that took it over. */
  locate(keeper: NodeId, wanted: WantedCache, done: OnLocated): void {
    const others = this.node.nodes.filter((node) => node !== this.node.id && node !== keeper);
    const elsewhere = (unreachable: boolean): void =>
      this.machine.find(others, wanted, (answer) => done(answer, unreachable && answer === undefined));
    if (keeper === this.node.id) elsewhere(false);
    else
      this.machine.fetch(keeper, wanted, (answer) => {
        if (answer?.found === true) done(answer, false);
        else elsewhere(answer === undefined);
      });
  }

  /** The highest own write that is not stable; 0 when no other node needs the caches of this one. */
  newestUnstable(): Timestamp {
    return Math.max(0, ...this.machine.store.unstable(this.node.ust()).map(({ hwt }) => hwt));
  }

  /** Before the node closes: hands unstable caches to another node, of this region if there is one. */
  handOver(done: (result: HandedOver) => void): void {
    const caches = this.#leaving();
    const heir = this.#heir();
    let [moved, gapped] = [0, 0];
    const count = (taken: boolean): void => {
      if (taken) moved++;
      else gapped++;
      if (moved + gapped === caches.length) done({ moved, gapped });
    };
    if (caches.length === 0) done({ moved, gapped });
    for (const cache of caches) {
      if (heir === undefined) count(false);
      else this.machine.handOver(heir, cache, count);
    }
  }

  #leaving(): Omit<SessionHandover, 'type' | 'ref'>[] {
    const { store } = this.machine;
    const sessions = store.unstable(this.node.ust()).map((kept) => {
      return { session: kept.id, transaction: false, ...copyOf(kept), changes: kept.changes };
    });
    const transactions = store.overlaid().map(([session, { snapshot, seen, hwt, overlay }]) => {
      const entries = [...overlay.values()].flat();
      return { session, transaction: true, complete: snapshot.ts, ust: seen.ts, ...depsField(seen), hwt, entries };
    });
    return [...sessions, ...transactions];
  }

  #heir(): NodeId | undefined {
    const others = [...this.node.near, ...this.node.nodes].filter((node) => node !== this.node.id);
    return others.find((node) => !this.machine.isDown(node));
  }

  /** The caller, if no other node has to be asked. */
  #callerHere(claims: SessionClaims): Caller | undefined {
    const kept = this.#keptHere(claims);
    if (kept !== undefined) return this.#callerOf(claims, kept);
    const covered = Math.max(this.node.rules.covers(claims.seen), this.node.ust());
    return claims.hwt <= covered ? this.#wholeCaller(claims) : undefined;
  }

  #keptHere({ cache }: SessionClaims): KeptSession | undefined {
    if (cache === undefined) return undefined;
    const { session, node, changes } = cache;
    const own = node === this.node.id ? this.machine.store.get(session) : undefined;
    // A copy with fewer changes lacks writes that the token's bearer has made, or has seen.
    const kept = own ?? this.machine.store.adopted(session, changes);
    return kept && this.#inForce(kept);
  }

  /** A cache is dropped once a map may have deferred one of its writes: no snapshot has to contain that (M10). */
  #inForce(kept: KeptSession): KeptSession | undefined {
    const newest = this.node.cutsAfter(kept.map).at(-1);
    if (newest === undefined) return kept;
    if (this.#cutOf(kept) !== undefined) {
      this.machine.store.drop(kept);
      return undefined;
    }
    kept.map = newest.map;
    return kept;
  }

  /** One fetch at a time for each session. A fetch may have left before the changes that a later request needs. */
  #fromPeer(claims: SessionClaims, cache: CacheName, done: (caller: Caller) => void): void {
    const waiting = this.#fetching.get(cache.session);
    if (waiting !== undefined) {
      waiting.push(() => this.resolve(claims, done));
      return;
    }
    const others: (() => void)[] = [];
    this.#fetching.set(cache.session, others);
    this.locate(cache.node, cache, (answer) => {
      this.#fetching.delete(cache.session);
      if (answer === undefined) this.#nowhere.set(cache.session, this.#now() + NOWHERE_MS);
      // Without an answer the caller waits for its gap instead: slower, not wrong.
      done(answer === undefined ? gappedCaller(claims) : this.#callerOf(claims, this.#adopt(claims, cache, answer)));
      for (const other of others) other();
    });
  }

  #adopt({ seen }: SessionClaims, { session }: CacheName, answer: SessionCacheResp): KeptSession {
    // Only this node's own stable time and the token raise `ust` here: the peer may be ahead in stable time.
    const { ust, deps, changes = 0, ...copy } = answer;
    return this.machine.store.adopt(session, seen, { ...copy, seen: { ts: ust, deps }, changes });
  }

  #callerOf(claims: SessionClaims, kept: KeptSession): Caller {
    return {
      seen: this.node.rules.merge(claims.seen, kept.seen),
      hwt: Math.max(claims.hwt, kept.hwt),
      last: claims,
      complete: kept.complete,
      kept,
    };
  }

  /** A caller whose writes are in every snapshot that it can get. */
  #wholeCaller(claims: SessionClaims): Caller {
    const { seen, hwt } = claims;
    return { seen: raisedTo(this.node.rules, seen, hwt), hwt, complete: 0, kept: undefined, last: claims };
  }

  #isNowhere({ session }: CacheName): boolean {
    return this.#now() < (this.#nowhere.get(session) ?? 0);
  }

  #now(): number {
    return this.machine.store.options.now();
  }
}

/** A caller with own writes that this node may lack. */
const gappedCaller = (claims: SessionClaims): Caller => ({
  seen: claims.seen,
  hwt: claims.hwt,
  complete: claims.hwt,
  kept: undefined,
  last: claims,
});
