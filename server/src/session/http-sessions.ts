/** Drives the sessions of plain HTTP callers: signs and reads their tokens, and lets requests wait. */
import { IsochronError, type NodeId, type Timestamp } from '@isochron/core';
import type { SessionRules, Snapshot } from '@isochron/protocols';
import {
  type Caller,
  Callers,
  type CommittedWrites,
  completeOf,
  type HandedOver,
  type Serving,
  type SessionCacheResp,
  type SessionClaims,
  type SessionStore,
  type SessionTokens,
} from '@isochron/sessions';
import type { TransactionsNode } from '../node/api.js';
import { promised } from '../node/promised.js';

export class HttpSessions {
  readonly callers: Callers;
  readonly store: SessionStore;
  /** The session rules of the cluster's protocol. */
  readonly rules: SessionRules;

  constructor(
    readonly node: TransactionsNode,
    readonly tokens: SessionTokens,
    readonly serving: Serving,
  ) {
    const { id, topology, region, sessions, protocol } = node;
    this.rules = protocol.rules;
    this.store = sessions.store;
    const near = topology.nodesOf(region);
    const { rules } = this;
    const cutsAfter = (version: number) => node.cutsAfter(version);
    this.callers = new Callers({ id, nodes: topology.nodes, near, rules, ust: () => node.ust(), cutsAfter }, sessions);
  }

  /**
   * The claims of a token.
   * @throws IsochronError as {@link SessionTokens.decode}, {@link Callers.refuseDeferred}
   */
  claims(token: string, holder: string): SessionClaims {
    const claims = this.tokens.decode(token, this.node.latest(), holder);
    this.callers.refuseDeferred(claims);
    return claims;
  }

  /** The caller; see {@link Callers.resolve}. @throws IsochronError as {@link claims} */
  resolve(token: string, holder: string): Caller | Promise<Caller> {
    const claims = this.claims(token, holder);
    let caller: Caller | undefined;
    let settle = (found: Caller): void => {
      caller = found;
    };
    this.callers.resolve(claims, (found) => settle(found));
    if (caller !== undefined) return caller;
    return new Promise((resolve) => {
      settle = resolve;
    });
  }

  /**
   * Waits until the node's stable snapshot closes the caller's gap, if it has one.
   * @param client whose share of the node the wait uses
   * @throws IsochronError `SESSION_GAP`; `NOT_READY` when the node is about to close; `OVERLOADED`
   */
  async close(client: string, caller: Caller, waitMs: number): Promise<void> {
    try {
      await promised<Timestamp>((done) => this.serving.visibleHere(client, completeOf(caller), waitMs, done));
    } catch (cause) {
      if (!(cause instanceof IsochronError) || cause.code !== 'STABLE_TIMEOUT') throw cause;
      const detail = "The session's own writes were not kept here and are not stable yet. Repeat the request.";
      throw new IsochronError('SESSION_GAP', detail, { cause });
    }
  }

  /** The snapshot of a caller, as far as this node has it. */
  knownTo(caller: Caller): Snapshot {
    return this.callers.knownTo(caller);
  }

  /** What a commit of a caller depends on whose transaction has read from a snapshot. */
  depending(caller: Caller, snapshot: Snapshot): Snapshot {
    return this.callers.depending(caller, snapshot);
  }

  /** Whether {@link close} would wait. */
  hasGap(caller: Caller): boolean {
    return this.callers.hasGap(caller);
  }

  /** The caller's token after it saw a snapshot. */
  tokenAfterRead(caller: Caller, snapshot: Snapshot, holder: string): string {
    return this.tokens.mint(this.callers.afterRead(caller, snapshot), holder);
  }

  /** Takes a commit into the caller's cache; or into a new cache. Returns the caller's next token. */
  committed(caller: Caller, committed: CommittedWrites, holder: string): string {
    return this.tokens.mint(this.callers.committed(caller, committed), holder);
  }

  /**
   * The view of an open transaction, from the node that opened it or from the node that took it over. Undefined when no
   * node has it.
   * @throws IsochronError `REPLICA_UNREACHABLE` when its keeper did not answer and no other node has it
   */
  locate(keeper: NodeId, transaction: string): Promise<SessionCacheResp | undefined> {
    return new Promise((resolve, reject) => {
      this.callers.locate(keeper, { session: transaction }, (answer, unreachable) => {
        if (unreachable) reject(keeperUnreachable(keeper));
        else resolve(answer);
      });
    });
  }

  /**
   * Before the node closes: waits a little until the sessions' writes are stable, as no node needs the caches then. The
   * other caches go to another node, of this region if possible.
   */
  async handOver(waitMs: number): Promise<HandedOver> {
    const newest = this.callers.newestUnstable();
    // The wait ends with the writes visible, or by its time-out.
    if (newest > 0) await new Promise<void>((resolve) => this.node.visibleHere(newest, waitMs, () => resolve()));
    return new Promise((resolve) => this.callers.handOver(resolve));
  }
}

const keeperUnreachable = (node: NodeId): IsochronError =>
  new IsochronError('REPLICA_UNREACHABLE', `Node ${node}, which keeps this session's writes, does not answer.`);
