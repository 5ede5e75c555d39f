/** Hands session caches from the node that keeps them to the node that the caller has come to (D13). */
import { type Deps, IsochronError, type NodeId } from '@isochron/core';
import type { Address, Effects, Handlers, Input, Machine } from '@isochron/protocols';
import type { SessionCacheReq, SessionCacheResp, SessionHandover, SessionMessage } from './messages.js';
import { depsField } from './snapshot.js';
import { type OpenSession, SessionStore, type SessionStoreLimits } from './store.js';

/** Name under which every node's host knows this machine. */
export const SESSIONS_MACHINE = 'sessions';
/** How long another node may take to hand over a cache, in ms. Longer than a round trip between distant regions. */
const FETCH_TIMEOUT_MS = 1000;
/** How long the view of a transaction is kept whose node has closed: its lease there is over by then, too. */
const INHERITED_TRANSACTION_MS = 60_000;

export interface SessionsOptions {
  /** Puts a message on its way from this node's `sessions` machine. */
  readonly post: (to: Address, message: SessionMessage) => void;
  readonly session: OpenSession;
  /** Whether these can be what a session of the cluster has seen beside a timestamp. */
  readonly fits: (deps: Deps | undefined) => boolean;
  readonly limits?: Partial<SessionStoreLimits>;
  readonly fetchTimeoutMs?: number;
}

/** What another node answers. */
type Answer = Extract<SessionMessage, { type: `${string}Resp` }>;

interface Pending {
  readonly node: NodeId;
  readonly awaits: Answer['type'];
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: IsochronError) => void;
  readonly timer: NodeJS.Timeout;
}

/** Keeps the caches of this node's HTTP sessions, answers for them, and asks other nodes for theirs. */
export class SessionsMachine implements Machine<SessionMessage> {
  readonly store: SessionStore;
  readonly #post: SessionsOptions['post'];
  readonly #fits: SessionsOptions['fits'];
  readonly #fetchTimeoutMs: number;
  readonly #pending = new Map<number, Pending>();
  readonly #down = new Set<NodeId>();
  #lastRef = 0;
  readonly #handlers: Handlers<SessionMessage, [Address, Effects<SessionMessage>]> = {
    SessionCacheReq: (message, from, out) => out.send(from, this.#answer(message)),
    SessionCacheResp: (message, from) => this.#answered(message, from),
    SessionHandover: (message, from, out) => {
      // What cannot be is not taken: the session waits until its writes are stable instead (D12).
      if (!this.#fits(message.deps)) return;
      this.#inherit(message);
      out.send(from, { type: 'SessionHandoverResp', ref: message.ref });
    },
    SessionHandoverResp: (message, from) => this.#answered(message, from),
  };

  constructor(options: SessionsOptions) {
    this.store = new SessionStore(options.session, options.limits);
    this.#post = options.post;
    this.#fits = options.fits;
    this.#fetchTimeoutMs = options.fetchTimeoutMs ?? FETCH_TIMEOUT_MS;
  }

  /**
   * Asks another node for a session's cache, or for the frozen view of an open transaction.
   * @throws IsochronError `REPLICA_UNREACHABLE` when it does not answer in time
   */
  async fetch(node: NodeId, session: string): Promise<SessionCacheResp> {
    const answer = await this.#ask(node, 'SessionCacheResp', (ref) => ({ type: 'SessionCacheReq', ref, session }));
    return answer as SessionCacheResp;
  }

  /** Asks several nodes at once; undefined when none of them has it, or none answers. */
  find(nodes: readonly NodeId[], session: string): Promise<SessionCacheResp | undefined> {
    const having = async (node: NodeId): Promise<SessionCacheResp> => {
      const answer = await this.fetch(node, session);
      if (!answer.found) throw unreachable(node);
      return answer;
    };
    return Promise.any(nodes.map(having)).catch(() => undefined);
  }

  /**
   * Hands a session's cache, or the view of an open transaction, to another node. Resolves when that one has it.
   * @throws IsochronError `REPLICA_UNREACHABLE`
   */
  async handOver(node: NodeId, cache: Omit<SessionHandover, 'type' | 'ref'>): Promise<void> {
    await this.#ask(node, 'SessionHandoverResp', (ref) => ({ type: 'SessionHandover', ref, ...cache }));
  }

  /** Whether the link to a node is known to be down. */
  isDown(node: NodeId): boolean {
    return this.#down.has(node);
  }

  step(input: Input<SessionMessage>, out: Effects<SessionMessage>): void {
    if (input.kind === 'message') this.#dispatch(input.message, input.from, out);
    else if (input.kind === 'link') {
      if (input.up) this.#down.delete(input.node);
      else this.#lost(input.node);
    }
  }

  invariants(): void {}

  describe(): object {
    return { sessions: this.store.size, fetching: this.#pending.size };
  }

  #ask(node: NodeId, awaits: Answer['type'], message: (ref: number) => SessionMessage): Promise<Answer> {
    if (this.#down.has(node)) return Promise.reject(unreachable(node));
    this.#lastRef = (this.#lastRef + 1) % 2 ** 32;
    const ref = this.#lastRef;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(ref)?.reject(unreachable(node)), this.#fetchTimeoutMs);
      timer.unref();
      this.#pending.set(ref, { node, awaits, resolve, reject, timer });
      this.#post({ node, machine: SESSIONS_MACHINE }, message(ref));
    });
  }

  #dispatch(message: SessionMessage, from: Address, out: Effects<SessionMessage>): void {
    const handler = this.#handlers[message.type] as
      | ((message: SessionMessage, from: Address, out: Effects<SessionMessage>) => void)
      | undefined;
    handler?.(message, from, out);
  }

  #inherit({ session, transaction, complete, ust, deps, hwt, entries }: SessionHandover): void {
    const seen = { ts: ust, deps };
    if (!transaction) this.store.adopt(session, { complete, seen, hwt }, entries);
    else {
      const overlay = new Map(entries.map((entry) => [entry.key, entry]));
      this.store.keepTransaction(session, { snapshot: { ts: complete }, seen, hwt, overlay }, INHERITED_TRANSACTION_MS);
    }
  }

  #answer({ ref, session }: SessionCacheReq): SessionCacheResp {
    const kept = this.store.get(session) ?? this.store.adopted(session);
    if (kept !== undefined) {
      const { complete, seen, hwt, session: own } = kept;
      return {
        type: 'SessionCacheResp',
        ref,
        found: true,
        gapped: complete > own.rules.covers(seen),
        complete,
        ust: seen.ts,
        ...depsField(seen),
        hwt,
        entries: kept.entries(),
      };
    }
    const open = this.store.openTransaction(session);
    const none = { complete: 0, ust: 0, hwt: 0, entries: [] };
    if (open === undefined) return { type: 'SessionCacheResp', ref, found: false, gapped: false, ...none };
    const { snapshot, seen, hwt, overlay } = open;
    return {
      type: 'SessionCacheResp',
      ref,
      found: true,
      gapped: false,
      complete: snapshot.ts,
      ust: seen.ts,
      ...depsField(seen),
      hwt,
      entries: [...overlay.values()],
    };
  }

  #answered(message: Answer, from: Address): void {
    // An answer from a node that was not asked, to another question or after the timeout changes nothing.
    const pending = this.#pending.get(message.ref);
    if (pending?.node === from.node && pending.awaits === message.type) this.#settle(message.ref)?.resolve(message);
  }

  #lost(node: NodeId): void {
    this.#down.add(node);
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
