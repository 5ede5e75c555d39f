/** Drives the client machine: sockets, timers, promises, and the signals of callers. */

import { OutcomeUnknownError, toIsochronError } from '@isochron/client/errors';
import { type Caller, UNAWAITED } from '@isochron/client/link/exchange';
import {
  type Call,
  type ClientEffects,
  type ClientInput,
  ClientMachine,
  type ClientOptions,
  type Encoded,
  type HandleId,
  type SocketId,
} from '@isochron/client/machine';
import type { ClientStatus } from '@isochron/client/session/core';
import type { HandleMode } from '@isochron/client/session/snapshot-handle';
import type { IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';
import type { Limits } from '@isochron/core/limits';
import type { SessionTransaction } from '@isochron/protocols/kernel/transactions/session';
import { NamedWrites } from './api/named-writes.js';
import { randomSessionId } from './ids.js';
import { createInside } from './inside.js';
import type { Settings, WebSocketLike } from './options.js';
import { loadEngine } from './protocols.js';
import { reasonOf } from './signals.js';

type StatusListener = (status: ClientStatus) => void;

/** Events of a browser, or of a worker, after which the network may have changed, gone or come back. */
const NETWORK_EVENTS = ['online', 'offline', 'pageshow', 'visibilitychange', 'focus', 'resume'];
/** A wall clock this much ahead of the steady clock shows that the machine slept: a steady clock may stop then. */
const SLEEP_MS = 5000;
/** The longest delay of a timer. The machine asks again after a timer that comes early. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** An input that gets its time from the driver. */
type Untimed<I> = I extends ClientInput ? Omit<I, 'nowMs'> & { nowMs?: number } : never;

export class Driver implements ClientEffects {
  readonly machine: ClientMachine;
  /** The transactions of this client whose functions run. */
  readonly inside = createInside<{ readonly isFinished: boolean }>();
  readonly named = new NamedWrites();
  /** The decisions of named claims. */
  readonly decided = new NamedWrites();
  readonly #sockets = new Map<SocketId, WebSocketLike>();
  readonly #listeners = new Set<StatusListener>();
  #lastHandle: HandleId = 0;
  readonly #closing = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasNews = false;
  /** Calls of the application that results of the present step are for. */
  readonly #due: (() => void)[] = [];
  #isCalling = false;
  #status: ClientStatus | undefined;
  #statusText = '';
  /** The wall clock minus the steady clock. */
  #aheadMs = Number.POSITIVE_INFINITY;

  /** @throws IsochronError INVALID_REQUEST for endpoints that are no URLs */
  constructor(
    options: ClientOptions,
    readonly settings: Settings,
  ) {
    const machineSettings = { ...settings, client: 'isochron-js/0.1.0', newId: randomSessionId };
    this.machine = new ClientMachine(options, machineSettings, this, settings.random, performance.now());
    const { signal } = this.#closing;
    for (const event of NETWORK_EVENTS)
      (globalThis as Partial<EventTarget>).addEventListener?.(event, () => this.networkChanged(), { signal });
  }

  networkChanged(): void {
    this.step({ kind: 'network' });
  }

  get limits(): Limits {
    return this.machine.core.limits;
  }

  /** Whether the cluster's protocol has updates. */
  get hasUpdates(): boolean {
    return this.machine.core.can('updates');
  }

  /** One object until anything but its ages changes. */
  get status(): ClientStatus {
    const now = (): ClientStatus => this.machine.core.status(performance.now());
    const status = {
      ...now(),
      get stalenessMs() {
        return now().stalenessMs;
      },
      get oldestPendingCommitMs() {
        return now().oldestPendingCommitMs;
      },
    };
    const text = JSON.stringify({ ...status, stalenessMs: 0, oldestPendingCommitMs: 0 });
    if (text !== this.#statusText) [this.#status, this.#statusText] = [status, text];
    return this.#status!;
  }

  /** Age of a timestamp in ms by the node's clock; undefined before anything was stable. */
  ageMs(timestamp: Timestamp): number | undefined {
    return this.machine.core.clock.ageMs(timestamp, performance.now());
  }

  subscribe(listener: StatusListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins a call; rejects with the reason of the signal when that fires first. */
  call<T>(call: Call, signal?: AbortSignal): Promise<T> {
    return new Promise<unknown>((resolve, refuse) => {
      const reject = (error: unknown): void => {
        if (error instanceof OutcomeUnknownError)
          error.outcome = new Promise((settle) => {
            error.settle = settle;
          });
        refuse(error);
      };
      const settle: Caller<unknown> = { resolve, reject, cancellable: undefined };
      const caller = signal === undefined ? settle : this.#signalled(signal, settle);
      this.step({ kind: 'call', call, caller });
      if (call.f === 'close') this.#closing.abort();
      // The call has begun all the same: its resources, as a commit's snapshot, end with it.
      if (signal?.aborted) this.step({ kind: 'cancel', caller, reason: reasonOf(signal) });
    }) as Promise<T>;
  }

  /** Goes on without the undecided commit, as another session; returns its transaction's id. */
  detach(): TxId | undefined {
    let detached: unknown;
    const resolve = (txId: unknown): void => {
      detached = txId;
    };
    this.step({ kind: 'call', call: { f: 'detach' }, caller: { ...UNAWAITED, resolve } });
    return detached as TxId | undefined;
  }

  /** @throws IsochronError NOT_SUPPORTED_BY_PROTOCOL where the protocol has no transactions */
  begin(mode: HandleMode, at?: Timestamp): Handle {
    const id = ++this.#lastHandle;
    this.step({ kind: 'begin', handle: id, mode, at });
    return { id, tx: this.machine.handle(id).tx };
  }

  end({ id }: Handle): void {
    this.step({ kind: 'end', handle: id });
  }

  step(input: Untimed<ClientInput>): void {
    const nowMs = performance.now();
    input.nowMs = nowMs;
    this.machine.step(input as ClientInput);
    const aheadMs = Date.now() - nowMs;
    if (aheadMs - this.#aheadMs > SLEEP_MS) this.machine.step({ kind: 'network', nowMs });
    this.#aheadMs = aheadMs;
    this.#callDue();
    if (!this.#hasNews) return;
    this.#hasNews = false;
    if (this.#listeners.size === 0) return;
    const { status } = this;
    // An error of the application must not stop the machine: each is reported, and the others go on.
    for (const listener of this.#listeners) (async () => listener(status))().catch(console.error);
  }

  /** Runs a function once the machine's present step is over, in the order of the calls. It must not throw. */
  afterStep(run: () => void): void {
    this.#due.push(run);
  }

  /** A function may begin further steps: what they cause comes after it. */
  #callDue(): void {
    if (this.#isCalling) return;
    this.#isCalling = true;
    for (let run = this.#due.shift(); run !== undefined; run = this.#due.shift()) run();
    this.#isCalling = false;
  }

  // The effects of the machine.

  open(id: SocketId, url: string): void {
    const { WebSocket, codec } = this.settings;
    let socket: WebSocketLike;
    try {
      socket = new WebSocket(url, [codec.subprotocol]);
    } catch (thrown) {
      const { message } = toIsochronError(thrown);
      queueMicrotask(() => this.step({ kind: 'closed', socket: id, reason: message }));
      return;
    }
    socket.binaryType = 'arraybuffer';
    this.#sockets.set(id, socket);
    let failure = '';
    socket.addEventListener('open', () => this.step({ kind: 'opened', socket: id }));
    socket.addEventListener('message', ({ data }) => this.step({ kind: 'message', socket: id, data }));
    socket.addEventListener('error', ({ message = '' }) => {
      failure = message;
    });
    socket.addEventListener('close', ({ code, reason }) => {
      this.#sockets.delete(id);
      this.step({ kind: 'closed', socket: id, code, reason: reason || failure });
    });
  }

  send(id: SocketId, message: Encoded): void {
    this.#sockets.get(id)?.send(message);
  }

  close(id: SocketId, abrupt: boolean): void {
    const socket = this.#sockets.get(id);
    if (abrupt && socket?.terminate !== undefined) socket.terminate();
    else socket?.close(1000);
  }

  load(protocol: string): void {
    const loaded = (engine: Awaited<ReturnType<typeof loadEngine>> | IsochronError): void =>
      this.step({ kind: 'loaded', protocol, engine });
    loadEngine(protocol).then(loaded, (error: unknown) => loaded(toIsochronError(error)));
  }

  authenticate(): void {
    this.settings.authenticate?.(this);
  }

  setTimer(atMs: number): void {
    clearTimeout(this.#timer);
    if (Number.isFinite(atMs))
      this.#timer = setTimeout(
        () => this.step({ kind: 'timer' }),
        Math.min(MAX_DELAY_MS, Math.max(0, atMs - performance.now())),
      );
  }

  turn(): void {
    queueMicrotask(() => this.step({ kind: 'turn' }));
  }

  changed(): void {
    this.#hasNews = true;
  }

  log(level: 'debug' | 'warn', message: string): void {
    this.settings.logger[level](message);
  }

  /** A caller that waits no longer than its signal. */
  #signalled(signal: AbortSignal, { resolve, reject }: Caller<unknown>): Caller<unknown> {
    const onAbort = (): void => this.step({ kind: 'cancel', caller, reason: reasonOf(signal) });
    const once =
      (settle: (value: unknown) => void) =>
      (value: unknown): void => {
        signal.removeEventListener('abort', onAbort);
        settle(value);
      };
    const caller: Caller<unknown> = { resolve: once(resolve), reject: once(reject) };
    signal.addEventListener('abort', onAbort);
    return caller;
  }
}

/** An open snapshot. */
export interface Handle {
  readonly id: HandleId;
  /** The reads and writes of the snapshot. */
  readonly tx: SessionTransaction;
}
