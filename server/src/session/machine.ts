/** Hands session caches from the node that keeps them to the node that the caller has come to (D13). */
import { IsochronError, type NodeId } from '@isochron/core';
import type { Address, Effects, Handlers, Input, Machine } from '@isochron/protocols';
import type { SessionCacheReq, SessionCacheResp, SessionMessage } from './messages.js';
import { SessionStore, type SessionStoreLimits } from './store.js';

/** Name under which every node's host knows this machine. */
export const SESSIONS_MACHINE = 'sessions';
/** How long another node may take to hand over a cache, in ms. Longer than a round trip between distant regions. */
const FETCH_TIMEOUT_MS = 1000;

export interface SessionsOptions {
  /** Puts a message on its way from this node's `sessions` machine. */
  readonly post: (to: Address, message: SessionMessage) => void;
  readonly limits?: Partial<SessionStoreLimits>;
  readonly fetchTimeoutMs?: number;
}

interface Pending {
  readonly node: NodeId;
  readonly resolve: (answer: SessionCacheResp) => void;
  readonly reject: (error: IsochronError) => void;
  readonly timer: NodeJS.Timeout;
}

/** Keeps the caches of this node's HTTP sessions, answers for them, and asks other nodes for theirs. */
export class SessionsMachine implements Machine<SessionMessage> {
  readonly store: SessionStore;
  readonly #post: SessionsOptions['post'];
  readonly #fetchTimeoutMs: number;
  readonly #pending = new Map<number, Pending>();
  #lastRef = 0;
  readonly #handlers: Handlers<SessionMessage, [Address, Effects<SessionMessage>]> = {
    SessionCacheReq: (message, from, out) => out.send(from, this.#answer(message)),
    SessionCacheResp: (message, from) => this.#answered(message, from),
  };

  constructor(options: SessionsOptions) {
    this.store = new SessionStore(options.limits);
    this.#post = options.post;
    this.#fetchTimeoutMs = options.fetchTimeoutMs ?? FETCH_TIMEOUT_MS;
  }

  /**
   * Asks another node for a session's cache, or for the frozen view of an open transaction.
   * @throws IsochronError `REPLICA_UNREACHABLE` when it does not answer in time
   */
  fetch(node: NodeId, session: string): Promise<SessionCacheResp> {
    this.#lastRef = (this.#lastRef + 1) % 2 ** 32;
    const ref = this.#lastRef;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(ref)?.reject(unreachable(node)), this.#fetchTimeoutMs);
      timer.unref();
      this.#pending.set(ref, { node, resolve, reject, timer });
      this.#post({ node, machine: SESSIONS_MACHINE }, { type: 'SessionCacheReq', ref, session });
    });
  }

  step(input: Input<SessionMessage>, out: Effects<SessionMessage>): void {
    if (input.kind === 'message') this.#dispatch(input.message, input.from, out);
    else if (input.kind === 'link' && !input.up) this.#lost(input.node);
  }

  invariants(): void {}

  describe(): object {
    return { sessions: this.store.size, fetching: this.#pending.size };
  }

  #dispatch(message: SessionMessage, from: Address, out: Effects<SessionMessage>): void {
    if (message.type === 'SessionCacheReq') this.#handlers.SessionCacheReq(message, from, out);
    else this.#handlers.SessionCacheResp(message, from, out);
  }

  #answer({ ref, session }: SessionCacheReq): SessionCacheResp {
    const kept = this.store.get(session);
    if (kept !== undefined) {
      const { complete, ust, hwt } = kept;
      return {
        type: 'SessionCacheResp',
        ref,
        found: true,
        gapped: complete > ust,
        complete,
        ust,
        hwt,
        entries: kept.entries(),
      };
    }
    const open = this.store.openTransaction(session);
    const none = { complete: 0, ust: 0, hwt: 0, entries: [] };
    if (open === undefined) return { type: 'SessionCacheResp', ref, found: false, gapped: false, ...none };
    const { snapshot: complete, ust, hwt, overlay } = open;
    return {
      type: 'SessionCacheResp',
      ref,
      found: true,
      gapped: false,
      complete,
      ust,
      hwt,
      entries: [...overlay.values()],
    };
  }

  #answered(message: SessionCacheResp, from: Address): void {
    // An answer from a node that was not asked, or after the timeout, changes nothing.
    if (this.#pending.get(message.ref)?.node === from.node) this.#settle(message.ref)?.resolve(message);
  }

  #lost(node: NodeId): void {
    for (const [ref, pending] of [...this.#pending]) {
      if (pending.node === node) this.#settle(ref)?.reject(unreachable(node));
    }
  }

  #settle(ref: number): Pending | undefined {
    const pending = this.#pending.get(ref);
    this.#pending.delete(ref);
    clearTimeout(pending?.timer);
    return pending;
  }
}

const unreachable = (node: NodeId): IsochronError =>
  new IsochronError('REPLICA_UNREACHABLE', `Node ${node}, which keeps this session's writes, does not answer.`);
