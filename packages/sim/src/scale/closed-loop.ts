/**
 * A client with one session: transaction after transaction, each when the one before has ended, as the papers' clients
 * do.
 */
import {
  type Call,
  type ClientEffects,
  type ClientInput,
  ClientMachine,
  type Codec,
  type Encoded,
  type HandleId,
  jsonCodec,
  type OpenEngine,
} from '@isochron/client';
import { DEFAULT_TIMES } from '@isochron/client/times';
import type { QualifiedKey } from '@isochron/core';
import type { ServedConnection } from '@isochron/sessions';
import type { Scheduled } from '@isochron/simulated-world/event-queue';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import type { ClientLink, ScaleNode } from './scale-node.js';

/** The wait after a refusal. */
const BACK_OFF_MS = 50;
const TIMEOUT_MS = 60_000;
const URL = 'ws://node';

/** Frames cross as they are, under numbers: the cost model has the costs of their encoding. */
class Numbered implements Codec {
  readonly subprotocol = jsonCodec.subprotocol;
  readonly value = jsonCodec.value;
  readonly #frames = new Map<string, ClientFrame>();
  #last = 0;

  encode(frame: ClientFrame): string {
    const number = String(++this.#last);
    this.#frames.set(number, frame);
    return number;
  }

  pack(numbers: readonly Encoded[]): string {
    return numbers.join(',');
  }

  decode(data: unknown): unknown {
    return data;
  }

  /** The frames of a message, which leave with it. */
  take(message: Encoded): readonly ClientFrame[] {
    return String(message)
      .split(',')
      .map((number) => {
        const frame = this.#frames.get(number)!;
        this.#frames.delete(number);
        return frame;
      });
  }
}

type ClientFrame = Parameters<Codec['encode']>[0];

/** An input without its time. */
type Untimed<I> = I extends ClientInput ? Omit<I, 'nowMs'> : never;

/** An endless sequence of transactions. */
export interface Transactions {
  nextTransaction(): { readonly reads: readonly QualifiedKey[]; readonly writes: readonly QualifiedKey[] };
  nextValue(): string;
}

/** Receives the events of transactions. */
export interface LoopListener {
  begin(): void;
  /** @param ms from its start until its client received the commit or the refusal */
  end(outcome: 'committed' | 'refused', ms: number): void;
}

export class ClosedLoop implements ClientLink {
  readonly #machine: ClientMachine;
  readonly #node: ScaleNode;
  readonly #transactions: Transactions;
  readonly #listener: LoopListener;
  readonly #time: VirtualTime;
  readonly #oneWayMs: number;
  #served: ServedConnection | undefined;
  #timer: Scheduled | undefined;
  #handle: HandleId = 0;
  #beganAt = 0;
  #underWay = false;
  /** The calls that the present step has settled. */
  readonly #settled: (() => void)[] = [];

  /** @param oneWayMs between the client and its node */
  constructor(
    id: string,
    engine: OpenEngine,
    node: ScaleNode,
    transactions: Transactions,
    listener: LoopListener,
    time: VirtualTime,
    oneWayMs: number,
    random: () => number,
  ) {
    this.#node = node;
    this.#transactions = transactions;
    this.#listener = listener;
    this.#time = time;
    this.#oneWayMs = oneWayMs;
    const codec = new Numbered();
    const settings = {
      client: 'scale',
      credentials: undefined,
      ...DEFAULT_TIMES,
      requestTimeoutMs: TIMEOUT_MS,
      connectTimeoutMs: TIMEOUT_MS,
      commitTimeoutMs: TIMEOUT_MS,
      returnAfterMs: Number.POSITIVE_INFINITY,
      Homing: undefined,
      codec,
      newId: () => id,
    };
    const effects: ClientEffects = {
      open: (socket) => this.#open(socket),
      send: (_socket, message) => {
        const served = this.#served!;
        const frames = codec.take(message);
        time.after(oneWayMs, () => node.receives(served, frames));
      },
      close: (socket) => void time.after(0, () => this.#give({ kind: 'closed', socket })),
      load: (protocol) => void time.after(0, () => this.#give({ kind: 'loaded', protocol, engine })),
      authenticate: () => {},
      setTimer: (atMs) => {
        if (this.#timer !== undefined) time.cancel(this.#timer);
        this.#timer = Number.isFinite(atMs) ? time.at(atMs, () => this.#give({ kind: 'timer' })) : undefined;
      },
      turn: () => void time.after(0, () => this.#give({ kind: 'turn' })),
      changed: () => {},
      log: () => {},
    };
    this.#machine = new ClientMachine({ endpoints: [URL] }, settings, effects, random, time.now);
  }

  /** Whether one of its transactions is under way. */
  get underWay(): boolean {
    return this.#underWay;
  }

  /** Connects, and begins the first transaction. */
  start(): void {
    this.#call({ f: 'connect' }, () => this.#begin());
  }

  /** A message of the node reaches the client after the delay. */
  sent(message: object): void {
    this.#time.after(this.#oneWayMs, () => this.#give({ kind: 'message', socket: 1, data: message }));
  }

  #open(socket: number): void {
    this.#time.after(2 * this.#oneWayMs, () => {
      this.#served = this.#node.admit(this);
      this.#give({ kind: 'opened', socket });
    });
  }

  #begin(): void {
    const { reads, writes } = this.#transactions.nextTransaction();
    const handle = ++this.#handle;
    this.#underWay = true;
    this.#beganAt = this.#time.now;
    this.#listener.begin();
    this.#give({ kind: 'begin', handle, mode: 'transaction' });
    this.#call({ f: 'read', handle, keys: reads }, () => this.#commit(handle, writes));
  }

  #commit(handle: HandleId, writes: readonly QualifiedKey[]): void {
    const tx = this.#machine.handle(handle).tx;
    for (const key of writes) tx.write(key, JSON.stringify(this.#transactions.nextValue()));
    if (tx.hasWrites) this.#call({ f: 'commit', handle }, () => this.#end('committed'));
    else {
      this.#give({ kind: 'end', handle });
      this.#end('committed');
    }
  }

  #end(outcome: 'committed' | 'refused'): void {
    this.#underWay = false;
    this.#listener.end(outcome, this.#time.now - this.#beganAt);
    if (outcome === 'committed') this.#begin();
    else this.#time.after(BACK_OFF_MS, () => this.#begin());
  }

  #call(call: Call, done: () => void): void {
    const reject = (): void => {
      if ('handle' in call && call.f === 'read') this.#give({ kind: 'end', handle: call.handle! });
      this.#end('refused');
    };
    const caller = { resolve: () => this.#settled.push(done), reject: () => this.#settled.push(reject) };
    this.#give({ kind: 'call', call, caller });
  }

  /** Calls that a step settles go on after the step. */
  #give(input: Untimed<ClientInput>): void {
    this.#machine.step({ ...input, nowMs: this.#time.now } as ClientInput);
    for (let next = this.#settled.shift(); next !== undefined; next = this.#settled.shift()) next();
  }
}
