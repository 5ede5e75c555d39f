/**
 * One client of a cluster as a state machine. Inputs are calls, socket events, timers and ends of turns; outputs are
 * messages, sockets to open and to close, timers, and settled calls. It does no I/O and has no clock: an SDK, the
 * simulator and the recorder of step traces drive the same machine.
 *
 * Its guarantees: every call is settled once. A write takes effect at most once, and is repeated under its id until its
 * outcome is known (D4, D5). A session's writes take effect in their order (P8). All data of a server is validated
 * before use (D12).
 */

import type { RandomSource } from '@isochron/core/backoff';
import { IsochronError } from '@isochron/core/errors';
import type { Content, QualifiedKey, Timestamp, TxId } from '@isochron/core/ids';
import { TransientMap } from '@isochron/core/transient-map';
import { Update } from '@isochron/core/updates/update';
import type { SessionTransaction } from '@isochron/protocols/kernel/transactions/session';
import type { ClientEffects, SocketId } from './effects.js';
import { toIsochronError } from './errors.js';
import type { Caller, Cancellable } from './link/exchange.js';
import type { ChangesRequest, ReadChanges } from './live/changes.js';
import type { LiveObserver, LiveScope } from './live/observer.js';
import { Loop } from './loop.js';
import type { DecideClaim } from './session/claim.js';
import { commit } from './session/commits.js';
import { ClientCore, type OpenLive } from './session/core.js';
import type { OpenEngine } from './session/engine.js';
import type { ListRequest, MergePage } from './session/listing.js';
import type { Committed } from './session/outcome.js';
import { readKeys } from './session/reads.js';
import { type HandleMode, SnapshotHandle } from './session/snapshot-handle.js';
import type { ClientOptions, ClientSettings } from './settings.js';

export type { RandomSource } from '@isochron/core/backoff';
export type { ClientEffects, SocketId } from './effects.js';
export type { Encoded } from './link/codec.js';
export type { ClientOptions, ClientSettings } from './settings.js';

/** A snapshot to read from, by the number that its driver gives it. */
export type HandleId = number;
/** The calls of an application, and their results. */
export type Call =
  /** Connects to the nearest endpoint. */
  | { readonly f: 'connect' }
  /** Values in the order of the keys, null for an absent one: in a given snapshot, or in one of the call's own. */
  | { readonly f: 'read'; readonly handle?: HandleId | undefined; readonly keys: readonly QualifiedKey[] }
  /** A {@link MergedPage}. `merge` is `mergedPage` of `session/listing`, which drivers load when it is used. */
  | { readonly f: 'list'; readonly merge: MergePage; readonly handle: HandleId; readonly request: ListRequest }
  /** Opens a snapshot on the server, without reading anything. */
  | { readonly f: 'open'; readonly handle: HandleId }
  /** A write of one key: {@link Committed}. */
  | { readonly f: 'write'; readonly key: QualifiedKey; readonly value: Content }
  /**
   * Whether the `init` that a write committed made the key's document: {@link Claimed}, once that is stable. `decide`
   * is `decideClaim` of `session/claim`, which drivers load when it is used.
   */
  | {
      readonly f: 'claimed';
      readonly decide: DecideClaim;
      readonly key: QualifiedKey;
      readonly commit: Committed;
      readonly timeoutMs: number;
    }
  /** The writes of a handle: {@link Committed}. The handle ends when the commit's turn has come. */
  | { readonly f: 'commit'; readonly handle: HandleId }
  /** Waits until every node of every region serves a timestamp. */
  | { readonly f: 'stable'; readonly ts: Timestamp; readonly timeoutMs: number }
  /**
   * One page of the change feed: {@link ChangesPage}. Rejects with CHANGES_GONE for a cursor that is too old.
   * `read` is `readChanges` of `live/changes`, which drivers load when it is used.
   */
  | ({ readonly f: 'changes'; readonly read: ReadChanges } & ChangesRequest)
  /** The status of a transaction: {@link TransactionStatus}. */
  | { readonly f: 'status'; readonly txId: TxId; readonly sentAfter?: Timestamp | undefined }
  /** Gives up the order behind the undecided commit: its transaction's id, or undefined. */
  | { readonly f: 'detach' }
  /**
   * Ends reads and watches, and goes on with writes for at most this long, by default not at all. Then it gives
   * everything up, and waits until the sockets are closed: {@link CloseReport}.
   */
  | { readonly f: 'close'; readonly flushMs?: number };

/** All inputs of a client. `nowMs` is the driver's steady clock. */
export type ClientInput =
  /** `caller` is settled with the outcome, once. */
  | { readonly kind: 'call'; readonly nowMs: number; readonly call: Call; readonly caller: Caller<unknown> }
  /** The caller does not wait any more: the call is rejected with the reason, unless it is settled already. */
  | { readonly kind: 'cancel'; readonly nowMs: number; readonly caller: Caller<unknown>; readonly reason: unknown }
  /** Opens a snapshot under this number. With `at` exactly that one, without own writes above it. */
  | {
      readonly kind: 'begin';
      readonly nowMs: number;
      readonly handle: HandleId;
      readonly mode: HandleMode;
      readonly at?: Timestamp | undefined;
    }
  /** Ends a snapshot. */
  | { readonly kind: 'end'; readonly nowMs: number; readonly handle: HandleId }
  | { readonly kind: 'opened'; readonly nowMs: number; readonly socket: SocketId }
  | { readonly kind: 'message'; readonly nowMs: number; readonly socket: SocketId; readonly data: unknown }
  | {
      readonly kind: 'closed';
      readonly nowMs: number;
      readonly socket: SocketId;
      readonly code?: number | undefined;
      readonly reason?: string;
    }
  /** The client of a protocol that `load` asked for, or the error of loading it. */
  | {
      readonly kind: 'loaded';
      readonly nowMs: number;
      readonly protocol: string;
      readonly engine: OpenEngine | IsochronError;
    }
  /** The credentials that `authenticate` asked for, or the error that came instead. */
  | { readonly kind: 'credentials'; readonly nowMs: number; readonly credentials: unknown }
  /**
   * The network may have changed, gone or come back: the connection is tested, or, without one, searched for at once.
   */
  | { readonly kind: 'network'; readonly nowMs: number }
  /**
   * Observes scopes from now on.
   * @param open begins live queries: from `live/live`, which drivers load when they are used
   */
  | {
      readonly kind: 'watch';
      readonly nowMs: number;
      readonly open: OpenLive;
      readonly observer: LiveObserver;
      readonly scopes: readonly LiveScope[];
    }
  /** Ends an observer. */
  | { readonly kind: 'unwatch'; readonly nowMs: number; readonly observer: LiveObserver }
  | { readonly kind: 'timer'; readonly nowMs: number }
  /** The turn that the machine asked for is over. */
  | { readonly kind: 'turn'; readonly nowMs: number };

export class ClientMachine {
  readonly #loop: Loop;
  /** The client's state, for queries between two steps. */
  readonly core: ClientCore;
  readonly #handles = new TransientMap<HandleId, SnapshotHandle>();

  /** @throws IsochronError INVALID_REQUEST for endpoints that are no URLs */
  constructor(
    options: ClientOptions,
    settings: ClientSettings,
    readonly out: ClientEffects,
    random: RandomSource,
    nowMs: number,
  ) {
    this.#loop = new Loop(out, random);
    this.#loop.begin(nowMs);
    this.core = new ClientCore(this.#loop, options, settings);
  }

  /** An open snapshot. @throws IsochronError TRANSACTION_FINISHED */
  handle(id: HandleId): SnapshotHandle {
    const handle = this.#handles.get(id);
    if (handle === undefined) throw new IsochronError('TRANSACTION_FINISHED', 'it has ended, or never began');
    return handle;
  }

  step(input: ClientInput): void {
    if (this.#loop.begin(input.nowMs, input.kind === 'timer')) this.core.woke();
    switch (input.kind) {
      case 'call':
        this.#call(input.call, input.caller);
        break;
      case 'cancel':
        input.caller.cancellable?.cancel(input.reason);
        break;
      case 'begin':
        this.#handles.set(input.handle, new SnapshotHandle(this.core, input.mode, input.at));
        break;
      case 'end':
        this.#handles.get(input.handle)?.end();
        this.#handles.delete(input.handle);
        break;
      case 'opened':
        this.#loop.socket(input.socket)?.opened();
        break;
      case 'message':
        this.#loop.socket(input.socket)?.received(input.data);
        break;
      case 'closed':
        this.#loop.closed(input.socket, input.code, input.reason ?? '');
        break;
      case 'loaded':
        this.core.loaded(input.protocol, input.engine);
        break;
      case 'credentials':
        this.core.connector.renewal?.took(input.credentials);
        break;
      case 'network':
        this.core.connector.networkChanged();
        break;
      case 'watch':
        this.core.live ??= input.open(this.core);
        this.core.live.watch(input.observer, input.scopes);
        break;
      case 'unwatch':
        this.core.live?.unwatch(input.observer);
        break;
      case 'timer':
        this.#loop.wake();
        break;
      case 'turn':
        this.#loop.turned();
        break;
    }
    this.core.live?.flush();
    this.core.endFlush();
    this.#loop.rest();
  }

  #call(call: Call, caller: Caller<unknown>): void {
    try {
      caller.cancellable = this.#begin(call, caller);
    } catch (error) {
      caller.reject(toIsochronError(error));
    }
  }

  #begin(call: Call, caller: Caller<unknown>): Cancellable | undefined {
    const core = this.core;
    switch (call.f) {
      case 'connect':
        return core.connect(caller);
      case 'read': {
        const { handle, keys } = call;
        return handle === undefined ? core.engine.read(keys, caller) : readKeys(this.handle(handle), keys, caller);
      }
      case 'list':
        return call.merge(this.handle(call.handle), call.request, caller);
      case 'open':
        return this.handle(call.handle).open(caller);
      case 'write':
        if (call.value instanceof Update) core.requireUpdates();
        return core.engine.write(call.key, call.value, caller);
      case 'claimed':
        core.requireUpdates();
        return call.decide(core, call.key, call.commit, call.timeoutMs, caller);
      case 'commit':
        return this.#commit(call.handle, caller);
      case 'stable':
        return core.stable(call.ts, call.timeoutMs, {
          resolve: () => caller.resolve(undefined),
          reject: (reason) => caller.reject(reason),
        });
      case 'changes':
        return call.read(core, call, caller);
      case 'status':
        return core.txStatus(call.txId, call.sentAfter, caller);
      case 'detach':
        caller.resolve(core.detach());
        return undefined;
      case 'close':
        core.close(caller, call.flushMs);
        return undefined;
    }
  }

  #commit(id: HandleId, caller: Caller<unknown>): Cancellable | undefined {
    const handle = this.handle(id);
    this.#handles.delete(id);
    const begin = (): SessionTransaction => {
      handle.handOver();
      return handle.tx;
    };
    return commit(this.core, handle.tx.writes, begin, handle, caller);
  }
}
