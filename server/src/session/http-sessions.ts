/** What a plain HTTP caller's token means at this moment on this node, and what its next token is. */
import {
  IsochronError,
  type KeyWrite,
  type NodeId,
  type QualifiedKey,
  type Timestamp,
  type Value,
  type Version,
} from '@isochron/core';
import type { SessionRules, SessionTransaction, Snapshot } from '@isochron/protocols';
import { LRUCache } from 'lru-cache';
import type { Serving } from '../http/serving.js';
import type { TransactionsNode } from '../node/api.js';
import type { SessionsMachine } from './machine.js';
import type { SessionCacheResp } from './messages.js';
import { depsField, NOTHING_SEEN, raisedTo } from './snapshot.js';
import type { KeptSession, SessionStore } from './store.js';
import type { SessionClaims, SessionTokens } from './token.js';

/** A caller, for the time of one request. */
export interface Caller {
  /** The highest snapshot that the session has seen. */
  readonly seen: Snapshot;
  readonly hwt: Timestamp;
  /** A snapshot from here on, with `kept` laid over it, shows every write of the session. */
  readonly complete: Timestamp;
  readonly kept: KeptSession | undefined;
}

/** A caller without a token: nothing to guarantee yet. */
export const ANONYMOUS: Caller = { seen: NOTHING_SEEN, hwt: 0, complete: 0, kept: undefined };

/** What became of the caches of a node that closes. */
export interface HandedOver {
  /** Kept by another node now. */
  readonly moved: number;
  /** Gone: their sessions wait until their writes are stable. */
  readonly gapped: number;
}

/** For so long it is not asked again who has a session that nobody had, in ms. */
const NOWHERE_MS = 1000;

export class HttpSessions {
  readonly machine: SessionsMachine;
  readonly store: SessionStore;
  /** What sessions of the cluster's protocol remember. */
  readonly rules: SessionRules;
  readonly #fetching = new Map<string, Promise<KeptSession | undefined>>();
  readonly #nowhere = new LRUCache<string, true>({ max: 10_000, ttl: NOWHERE_MS });

  constructor(
    readonly node: TransactionsNode,
    readonly tokens: SessionTokens,
    readonly serving: Serving,
  ) {
    this.machine = node.sessions;
    this.store = this.machine.store;
    this.rules = node.protocol.rules;
  }

  /**
   * Who is calling. Asks the node that keeps the session's cache, where that is another one, and then all others, as one of them may
   * have taken it over; when nobody has it the caller is incomplete, and a read waits for the gap to close.
   * @throws IsochronError as {@link SessionTokens.decode}
   */
  resolve(token: string | undefined): Caller | Promise<Caller> {
    if (token === undefined) return ANONYMOUS;
    const claims = this.tokens.decode(token, this.node.now());
    const here = this.#keptHere(claims);
    if (here !== undefined) return this.#callerOf(claims, here);
    if (claims.hwt <= Math.max(this.rules.covers(claims.seen), this.node.ust())) return this.#wholeCaller(claims);
    const { cache } = claims;
    const nowhere = cache === undefined || !this.node.topology.hasNode(cache.node) || this.#nowhere.has(cache.session);
    return nowhere ? gappedCaller(claims) : this.#fromPeer(claims, cache);
  }

  /**
   * Waits until the node's stable snapshot closes the caller's gap, if it has one.
   * @throws IsochronError `SESSION_GAP`; `NOT_READY` when the node is about to close
   */
  async close(caller: Caller, waitMs: number): Promise<void> {
    try {
      await this.serving.visibleHere(caller.complete, waitMs);
    } catch (cause) {
      if (!(cause instanceof IsochronError) || cause.code !== 'STABLE_TIMEOUT') throw cause;
      const detail = "The session's own writes were not kept here and are not stable yet. Repeat the request.";
      throw new IsochronError('SESSION_GAP', detail, { cause });
    }
  }

  /** What a caller has seen, as far as this node knows. */
  knownTo({ seen }: Caller): Snapshot {
    return this.rules.stable?.(seen, this.node.ust()) ?? seen;
  }

  /** Whether {@link close} has anything to wait for. */
  hasGap(caller: Caller): boolean {
    return caller.complete > this.node.ust();
  }

  /** The caller's token after it saw a snapshot. */
  tokenAfterRead(caller: Caller, snapshot: Snapshot): string {
    const seen = this.rules.merge(caller.seen, snapshot);
    const { kept } = caller;
    if (kept === undefined) return this.tokens.mintPlain(seen, caller.hwt);
    return this.tokens.mint({
      seen,
      hwt: Math.max(kept.hwt, caller.hwt),
      cache: { session: kept.id, node: this.node.id },
    });
  }

  /**
   * Takes a commit into the caller's cache, made where there is none yet. Returns the caller's next token.
   * @param snapshot what its transaction read from
   */
  committed(caller: Caller, writes: readonly KeyWrite[], commit: Snapshot, snapshot: Snapshot): string {
    const kept = caller.kept ?? this.store.create(caller);
    kept.observe(caller.seen, this.node.ust());
    // A repeated commit may be older than what the session has seen since.
    if (commit.ts > Math.min(kept.seen.ts, this.rules.covers(kept.seen))) kept.committed(writes, commit, snapshot);
    this.store.touch(kept);
    return this.tokenAfterRead({ ...caller, kept }, kept.seen);
  }

  /**
   * What a node kept under this id, from itself or from whoever took it over: a session's cache, or the view of an open transaction. Undefined
   * when nobody has it.
   * @throws IsochronError `REPLICA_UNREACHABLE` when its keeper did not answer and nobody else has it
   */
  async locate(keeper: NodeId, id: string): Promise<SessionCacheResp | undefined> {
    const others = this.node.topology.nodes.filter((node) => node !== this.node.id && node !== keeper);
    if (keeper === this.node.id) return this.machine.find(others, id);
    try {
      const answer = await this.machine.fetch(keeper, id);
      return answer.found ? answer : await this.machine.find(others, id);
    } catch (error) {
      const inherited = await this.machine.find(others, id);
      if (inherited === undefined) throw error;
      return inherited;
    }
  }

  /**
   * Before the node closes: waits a little until the sessions' writes are stable, for then nobody needs the caches; what is not goes to
   * another node, of this region where there is one.
   */
  async handOver(waitMs: number): Promise<HandedOver> {
    const newest = this.store.unstable(this.node.ust()).map(({ hwt }) => hwt);
    if (newest.length > 0) await this.node.visibleHere(Math.max(...newest), waitMs).catch(() => undefined);
    const sessions = this.store.unstable(this.node.ust()).map((kept) => {
      const { id: session, complete, seen, hwt } = kept;
      const entries = kept.entries();
      return { session, transaction: false, complete, ust: seen.ts, ...depsField(seen), hwt, entries };
    });
    const transactions = this.store.overlaid().map(([session, { snapshot, seen, hwt, overlay }]) => {
      const entries = [...overlay.values()];
      return { session, transaction: true, complete: snapshot.ts, ust: seen.ts, ...depsField(seen), hwt, entries };
    });
    const caches = [...sessions, ...transactions];
    const heir = this.#heir();
    if (caches.length === 0 || heir === undefined) return { moved: 0, gapped: caches.length };
    const taken = await Promise.allSettled(caches.map((cache) => this.machine.handOver(heir, cache)));
    const moved = taken.filter(({ status }) => status === 'fulfilled').length;
    return { moved, gapped: caches.length - moved };
  }

  #heir(): NodeId | undefined {
    const { topology, id, region } = this.node;
    const others = [...topology.nodesOf(region), ...topology.nodes].filter((node) => node !== id);
    return others.find((node) => !this.machine.isDown(node));
  }

  #keptHere(claims: SessionClaims): KeptSession | undefined {
    if (claims.cache === undefined) return undefined;
    const { session, node } = claims.cache;
    const own = node === this.node.id ? this.store.get(session) : undefined;
    if (own !== undefined) return own;
    const kept = this.store.adopted(session);
    // The session went on writing elsewhere after it was copied: the copy is of no use.
    return kept !== undefined && kept.hwt >= claims.hwt ? kept : undefined;
  }

  async #fromPeer(claims: SessionClaims, cache: NonNullable<SessionClaims['cache']>): Promise<Caller> {
    let fetching = this.#fetching.get(cache.session);
    if (fetching === undefined) {
      fetching = this.#fetch(claims, cache).finally(() => this.#fetching.delete(cache.session));
      this.#fetching.set(cache.session, fetching);
    }
    const kept = await fetching;
    return kept === undefined ? gappedCaller(claims) : this.#callerOf(claims, kept);
  }

  async #fetch(claims: SessionClaims, cache: NonNullable<SessionClaims['cache']>): Promise<KeptSession | undefined> {
    try {
      const answer = await this.locate(cache.node, cache.session);
      if (answer !== undefined) return this.#adopt(claims, cache.session, answer);
    } catch (error) {
      if (!(error instanceof IsochronError) || error.code !== 'REPLICA_UNREACHABLE') throw error;
    }
    // The caller waits for its gap instead: slower, not wrong.
    this.#nowhere.set(cache.session, true);
    return undefined;
  }

  #adopt(claims: SessionClaims, from: string, answer: SessionCacheResp): KeptSession {
    // Only this node's own knowledge and the token raise `ust` here: the peer may be ahead in stable time.
    const state = { seen: claims.seen, hwt: Math.max(claims.hwt, answer.hwt), complete: completeFor(claims, answer) };
    return this.store.adopt(from, state, answer.entries);
  }

  #callerOf(claims: SessionClaims, kept: KeptSession): Caller {
    return {
      seen: this.rules.merge(claims.seen, kept.seen),
      hwt: Math.max(claims.hwt, kept.hwt),
      complete: completeFor(claims, kept),
      kept,
    };
  }

  /** A caller whose writes are in every snapshot that it can be given. */
  #wholeCaller({ seen, hwt }: SessionClaims): Caller {
    return { seen: raisedTo(this.rules, seen, hwt), hwt, complete: 0, kept: undefined };
  }
}

/** The cache may be older than the token: then it says nothing about the writes that it lacks. */
const completeFor = (claims: SessionClaims, state: { hwt: Timestamp; complete: Timestamp }): Timestamp =>
  claims.hwt > state.hwt ? claims.hwt : state.complete;

const gappedCaller = ({ seen, hwt }: SessionClaims): Caller => ({ seen, hwt, complete: hwt, kept: undefined });

/** Lays a session's own writes over what the coordinator answered. An own write has an empty `txId`. */
export function overlay(
  kept: KeptSession,
  tx: SessionTransaction,
  keys: readonly QualifiedKey[],
  answer: { readonly snapshot: Snapshot; readonly versions: readonly (Version | null)[] },
): (Version | null)[] {
  kept.session.started(tx, answer.snapshot.ts, answer.snapshot.deps);
  return keys.map((key, i) => {
    const own = tx.lookup(key);
    return own?.ts == null ? answer.versions[i]! : ownVersion(own.ts, own.value);
  });
}

/** An own write in the shape of a version. */
export const ownVersion = (ts: Timestamp, value: Value | null): Version => ({ ts, value, txId: '', region: '' });
