/** Hands session caches from the node that keeps them to the caller's present node (D13). */
import type { Deps, NodeId } from '@isochron/core';
import type { Address, Effects, Handlers, Input, Machine } from '@isochron/protocols';
import { overlayOf } from './caller.js';
import { Exchange } from './exchange.js';
import type { KeptSession } from './kept-session.js';
import type { SessionCacheReq, SessionCacheResp, SessionHandover, SessionMessage } from './messages.js';
import { depsField } from './snapshot.js';
import { type OpenTransaction, SessionStore, type StoreOptions } from './store.js';

/** Name of this machine on every node. */
export const SESSIONS_MACHINE = 'sessions';
/** Timer that the driver fires when the machine asks for a step (`wake`). */
export const ASKED_TIMER = 'asked';
/** How long another node may take to hand over a cache, in ms. Longer than a round trip between distant regions. */
const FETCH_TIMEOUT_MS = 1000;
/** How long the view of a transaction is kept after its node has closed: its lease there is over by then, too. */
const INHERITED_TRANSACTION_MS = 60_000;

export interface SessionsOptions extends StoreOptions {
  /** Asks the driver for a step with the timer {@link ASKED_TIMER}: a message is to be sent. */
  readonly wake: () => void;
  /** Whether these can be the entries of a session of the cluster beside a timestamp. */
  readonly fits: (deps: Deps | undefined) => boolean;
  readonly fetchTimeoutMs?: number;
  /** The first number of requests: another one in each incarnation of a node. */
  readonly firstRef?: number;
}

/**
 * The wanted cache: a session's cache with at least `changes` changes, or, without the number, the view of an open
 * transaction.
 */
export interface WantedCache {
  readonly session: string;
  readonly changes?: number | undefined;
}

/** Undefined when the node does not answer; `found` is false when it has no such cache, or an older one. */
export type OnCache = (answer: SessionCacheResp | undefined) => void;

/** Keeps the caches of this node's HTTP sessions, sends them to other nodes, and fetches theirs. */
export class SessionsMachine implements Machine<SessionMessage> {
  readonly store: SessionStore;
  readonly #exchange: Exchange;
  readonly #fits: SessionsOptions['fits'];
  readonly #handlers: Handlers<SessionMessage, [Address, Effects<SessionMessage>]> = {
    SessionCacheReq: (message, from, out) => out.send(from, this.#answer(message)),
    SessionCacheResp: (message, from) => {
      if (!message.found || this.#fits(message.deps)) this.#exchange.answered(message, from);
    },
    SessionHandover: (message, from, out) => {
      // Invalid entries are refused: the session waits until its writes are stable instead (D12).
      if (!this.#fits(message.deps)) return;
      this.#inherit(message);
      out.send(from, { type: 'SessionHandoverResp', ref: message.ref });
    },
    SessionHandoverResp: (message, from) => this.#exchange.answered(message, from),
  };

  constructor(options: SessionsOptions) {
    const { fetchTimeoutMs = FETCH_TIMEOUT_MS, firstRef = 0 } = options;
    this.store = new SessionStore(options);
    this.#exchange = new Exchange(SESSIONS_MACHINE, fetchTimeoutMs, options.wake, firstRef);
    this.#fits = options.fits;
  }

  /** Requests to other nodes without an answer. */
  get fetching(): number {
    return this.#exchange.size;
  }

  /** Asks another node. */
  fetch(node: NodeId, { session, changes }: WantedCache, done: OnCache): void {
    const wanted = changes === undefined ? {} : { changes };
    this.#exchange.ask(
      node,
      'SessionCacheResp',
      (ref) => ({ type: 'SessionCacheReq', ref, session, ...wanted }),
      (answer) => done(answer?.type === 'SessionCacheResp' ? answer : undefined),
    );
  }

  /** Asks several nodes at once, for the first one that has it; undefined when none of them has it, or none answers. */
  find(nodes: readonly NodeId[], wanted: WantedCache, done: OnCache): void {
    let left = nodes.length;
    if (left === 0) done(undefined);
    for (const node of nodes) {
      this.fetch(node, wanted, (answer) => {
        left--;
        if (answer?.found === true && left >= 0) {
          left = -1;
          done(answer);
        } else if (left === 0) done(undefined);
      });
    }
  }

  /**
   * Hands a session's cache, or the view of an open transaction, to another node; `done` gets whether that node has it.
   */
  handOver(node: NodeId, cache: Omit<SessionHandover, 'type' | 'ref'>, done: (taken: boolean) => void): void {
    this.#exchange.ask(
      node,
      'SessionHandoverResp',
      (ref) => ({ type: 'SessionHandover', ref, ...cache }),
      (answer) => done(answer !== undefined),
    );
  }

  /** Whether the link to a node is known to be down. */
  isDown(node: NodeId): boolean {
    return this.#exchange.isDown(node);
  }

  step(input: Input<SessionMessage>, out: Effects<SessionMessage>): void {
    if (input.kind === 'message') this.#dispatch(input.message, input.from, out);
    else if (input.kind === 'link') this.#exchange.link(input.node, input.up);
    else if (input.kind === 'timer') this.#exchange.expire(input.now, out);
    this.#exchange.send(input.now, out);
  }

  invariants(): void {}

  describe(): object {
    return { sessions: this.store.size, fetching: this.fetching };
  }

  #dispatch(message: SessionMessage, from: Address, out: Effects<SessionMessage>): void {
    const handler = this.#handlers[message.type] as
      | ((message: SessionMessage, from: Address, out: Effects<SessionMessage>) => void)
      | undefined;
    handler?.(message, from, out);
  }

  #inherit({ session, transaction, complete, ust, deps, hwt, entries, changes = 0, map }: SessionHandover): void {
    const seen = { ts: ust, deps };
    if (!transaction) this.store.adopt(session, seen, { seen, hwt, complete, entries, changes, map });
    else {
      const overlay = overlayOf(entries);
      this.store.keepTransaction(session, { snapshot: { ts: complete }, seen, hwt, overlay }, INHERITED_TRANSACTION_MS);
    }
  }

  #answer({ ref, session, changes = 0 }: SessionCacheReq): SessionCacheResp {
    const own = this.store.get(session);
    if (own !== undefined && own.changes >= changes) return cacheOf(ref, own, own.changes);
    const adopted = this.store.adopted(session, changes);
    if (adopted !== undefined) return cacheOf(ref, adopted, adopted.contained);
    const open = this.store.openTransaction(session);
    return open === undefined ? nothingOf(ref) : viewOf(ref, open);
  }
}

/** A session's copy for another node. */
export const copyOf = (kept: KeptSession) => ({
  complete: kept.completeElsewhere,
  ust: kept.seen.ts,
  ...depsField(kept.seen),
  hwt: kept.hwt,
  entries: kept.entries(),
  ...(kept.map > 0 && { map: kept.map }),
});

const cacheOf = (ref: number, kept: KeptSession, changes: number): SessionCacheResp => {
  const copy = copyOf(kept);
  const gapped = copy.complete > kept.session.rules.covers(kept.seen);
  return { type: 'SessionCacheResp', ref, found: true, gapped, ...copy, changes };
};

const viewOf = (ref: number, { snapshot, seen, hwt, overlay }: OpenTransaction): SessionCacheResp => ({
  type: 'SessionCacheResp',
  ref,
  found: true,
  gapped: false,
  complete: snapshot.ts,
  ust: seen.ts,
  ...depsField(seen),
  hwt,
  entries: [...overlay.values()].flat(),
});

const nothingOf = (ref: number): SessionCacheResp => ({
  type: 'SessionCacheResp',
  ref,
  found: false,
  gapped: false,
  complete: 0,
  ust: 0,
  hwt: 0,
  entries: [],
});
