/** The services of the driver to the parts of one client: time, timers, randomness, sockets, and the ends of turns. */
import type { RandomSource } from '@isochron/core/backoff';
import type { ClientEffects, SocketId } from './effects.js';

/** The user of a socket. */
export interface SocketListener {
  opened(): void;
  received(data: unknown): void;
  /** It is closed, by either side. No other event of it follows. */
  closed(code: number | undefined, reason: string): void;
  /** Is to close it. */
  close(): void;
}

/** A timer that has been set. */
export interface Timer {
  readonly atMs: number;
  readonly run: () => void;
}

/** A timer this late, without any step meanwhile, shows that the program stood still, as in a sleeping machine, ms. */
const STALL_MS = 1000;

export class Loop {
  /** The clock of time limits in this step, ms: the driver's steady clock without the time of stalls. */
  nowMs = 0;
  /** Length of all stalls: times during which the program stood still, ms. */
  stalledMs = 0;
  /** No timer has come in time since a stall: a second one is a platform that slows down timers. */
  #isSlow = false;
  readonly #out: ClientEffects;
  /** The next one is the last. */
  readonly #timers: Timer[] = [];
  #wakesAtMs = Number.POSITIVE_INFINITY;
  readonly #sockets = new Map<SocketId, SocketListener>();
  #lastSocket: SocketId = 0;
  #turn: (() => void)[] = [];
  #onAllClosed: () => void = () => {};

  constructor(
    out: ClientEffects,
    readonly random: RandomSource,
  ) {
    this.#out = out;
  }

  /** The driver's steady clock in this step, ms: for ages and expiries, which go on during a stall. */
  get steadyMs(): number {
    return this.nowMs + this.stalledMs;
  }

  /**
   * A step begins. Returns whether the program stood still before it: no time limit counts that time, since neither
   * an answer nor a repetition could be processed.
   * @param isTimer a message is no sign for timers: it comes in time where they are slowed down
   */
  begin(steadyMs: number, isTimer?: boolean): boolean {
    const nowMs = steadyMs - this.stalledMs;
    const lateMs = nowMs - this.#wakesAtMs;
    const idleMs = Math.min(lateMs, nowMs - this.nowMs);
    const isStall = idleMs > STALL_MS && !this.#isSlow;
    if (isTimer || isStall) this.#isSlow = lateMs > STALL_MS;
    if (isStall) this.stalledMs += idleMs;
    this.nowMs = steadyMs - this.stalledMs;
    return isStall;
  }

  get out(): ClientEffects {
    return this.#out;
  }

  after(ms: number, run: () => void): Timer {
    const timer = { atMs: this.nowMs + ms, run };
    let at = this.#timers.length;
    while (at > 0 && this.#timers[at - 1]!.atMs <= timer.atMs) at--;
    this.#timers.splice(at, 0, timer);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    const at = timer === undefined ? -1 : this.#timers.indexOf(timer);
    if (at >= 0) this.#timers.splice(at, 1);
  }

  /** Runs a function once the driver's turn is over, together with all others of this turn. */
  atTurnsEnd(run: () => void): void {
    if (this.#turn.push(run) === 1) this.#out.turn();
  }

  /** The turn is over. */
  turned(): void {
    const those = this.#turn;
    this.#turn = [];
    for (const run of those) run();
  }

  /** Runs the timers that are due. */
  wake(): void {
    this.#wakesAtMs = Number.POSITIVE_INFINITY;
    while (this.#timers.length > 0 && this.#timers.at(-1)!.atMs <= this.nowMs) this.#timers.pop()!.run();
  }

  /** A step is over: requests the next timer if it is earlier, and cancels the last one if no timer is left. */
  rest(): void {
    const next = this.#timers.at(-1)?.atMs ?? Number.POSITIVE_INFINITY;
    // A cancelled timer may still wake the machine; without any timer nothing does.
    if (next >= this.#wakesAtMs && (Number.isFinite(next) || next === this.#wakesAtMs)) return;
    this.#wakesAtMs = next;
    this.#out.setTimer(next + this.stalledMs);
  }

  open(url: string, listener: SocketListener): SocketId {
    this.#lastSocket++;
    this.#sockets.set(this.#lastSocket, listener);
    this.#out.open(this.#lastSocket, url);
    return this.#lastSocket;
  }

  socket(id: SocketId): SocketListener | undefined {
    return this.#sockets.get(id);
  }

  /** A socket is closed. */
  closed(id: SocketId, code: number | undefined, reason: string): void {
    const listener = this.#sockets.get(id);
    this.#sockets.delete(id);
    listener?.closed(code, reason);
    if (this.#sockets.size === 0) this.#onAllClosed();
  }

  /** Closes all sockets and gives up all timers. `done` is called once they are closed, or cut off after `waitMs`. */
  closeAll(waitMs: number, done: () => void): void {
    this.#timers.length = 0;
    for (const listener of this.#sockets.values()) listener.close();
    this.#onAllClosed = () => {
      this.#timers.length = 0;
      this.#sockets.clear();
      this.#onAllClosed = () => {};
      done();
    };
    if (this.#sockets.size === 0) this.#onAllClosed();
    else
      this.after(waitMs, () => {
        for (const id of this.#sockets.keys()) this.#out.close(id, true);
        this.#onAllClosed();
      });
  }

  debug(message: string): void {
    this.#out.log('debug', message);
  }

  warn(message: string): void {
    this.#out.log('warn', message);
  }
}
