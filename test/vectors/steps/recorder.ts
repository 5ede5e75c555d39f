/** Drives one client machine with the inputs of a trace, and records the effects of each. */

import { jsonCodec } from '@isochron/client/link/codec';
import type { Caller } from '@isochron/client/link/exchange';
import { Homing } from '@isochron/client/link/homing';
import { openRenewal } from '@isochron/client/link/renewal';
import {
  type Call,
  type ClientEffects,
  type ClientInput,
  ClientMachine,
  type Encoded,
  type RandomSource,
  type SocketId,
} from '@isochron/client/machine';
import { importSession } from '@isochron/client/session/imported';
import { CLIENT_KIT } from '@isochron/client/session/kit';
import { mergedPage } from '@isochron/client/session/listing';
import { openOperations } from '@isochron/client/session/operations';
import { openTransactions } from '@isochron/client/session/transactions';
import { IsochronError } from '@isochron/core/errors';
import type { Value } from '@isochron/core/ids';
import { CATALOGUE, type ProtocolName, Session } from '@isochron/protocols';
import type { ClientFrame } from '@isochron/wire/session-frames';
import type { VectorValue } from '../format.js';
import type { Step, StepCall, StepEffect, StepInput, StepSettings } from './format.js';
import { CANCELLED, errorOut, settledOut, statusOut } from './outward.js';

/** An input without its time. */
type Untimed<I> = I extends ClientInput ? Omit<I, 'nowMs'> : never;

/** The source of draws. */
export interface Draws {
  readonly random: RandomSource;
  readonly newId: () => string;
}

interface Recorded extends Caller<unknown> {
  readonly f: string;
  settled: boolean;
}

export class Recorder implements ClientEffects {
  readonly machine: ClientMachine;
  readonly #draws: Draws;
  readonly #callers = new Map<number, Recorded>();
  #out: StepEffect[] = [];
  #random: number[] = [];
  #ids: string[] = [];
  #writes: readonly string[] = [];

  constructor(settings: StepSettings, atMs: number, draws: Draws) {
    this.#draws = draws;
    const { endpoints, token, session, credentials, auth, times } = settings;
    const options = {
      endpoints,
      token,
      session: session === undefined ? undefined : importSession(session, CLIENT_KIT),
    };
    const machineSettings = {
      ...times,
      client: 'isochron-steps/1',
      credentials,
      renewal: auth && openRenewal,
      Homing,
      codec: jsonCodec,
      newId: () => keep(this.#ids, this.#draws.newId()),
    };
    const random = (): number => keep(this.#random, this.#draws.random());
    this.machine = new ClientMachine(options, machineSettings, this, random, atMs);
  }

  /** The callers that still wait. */
  get waiting(): number[] {
    return [...this.#callers].filter(([, { settled }]) => !settled).map(([id]) => id);
  }

  /** The request of a call that is not settled. */
  callOf(caller: number): string | undefined {
    return this.#callers.get(caller)?.f;
  }

  step(input: StepInput, atMs: number): Step {
    this.#out = [];
    this.#random = [];
    this.#ids = [];
    try {
      this.#take(input, atMs);
    } catch (error) {
      this.#out.push({ do: 'throw', error: errorOut(error) });
    }
    const writes = this.machine.core.queue.writes.map(({ write }) => write?.states.join(' ') ?? 'queued');
    const hasMoved = writes.join() !== this.#writes.join();
    this.#writes = writes;
    return {
      at: atMs,
      ...input,
      ...(this.#random.length === 0 ? {} : { random: this.#random }),
      ...(this.#ids.length === 0 ? {} : { ids: this.#ids }),
      out: this.#out,
      ...(this.#out.some((effect) => effect.do === 'changed')
        ? { status: statusOut(this.machine.core.status(atMs)) }
        : {}),
      ...(hasMoved ? { writes } : {}),
    };
  }

  #take(input: StepInput, nowMs: number): void {
    switch (input.do) {
      case 'write':
        this.machine.handle(input.handle).tx.write(input.key, valueIn(input.value));
        break;
      case 'export':
        this.#out.push({ do: 'exported', session: this.machine.core.export() });
        break;
      default:
        this.machine.step({ ...this.#inputOf(input), nowMs });
    }
  }

  #inputOf(input: Exclude<StepInput, { do: 'write' | 'export' }>): Untimed<ClientInput> {
    switch (input.do) {
      case 'call':
        return { kind: 'call', call: callIn(input.call), caller: this.#caller(input.caller, input.call.f) };
      case 'cancel':
        return { kind: 'cancel', caller: this.#known(input.caller), reason: CANCELLED };
      case 'begin':
        return { kind: 'begin', handle: input.handle, mode: input.mode, at: input.snapshot };
      case 'loaded':
        return { kind: 'loaded', protocol: input.protocol, engine: engineOf(input.protocol, input.failed) };
      case 'credentials':
        return { kind: 'credentials', credentials: input.credentials };
      default: {
        const { do: kind, ...fields } = input;
        return { kind, ...fields } as Untimed<ClientInput>;
      }
    }
  }

  #known(id: number): Recorded {
    const caller = this.#callers.get(id);
    if (caller === undefined) throw new TypeError(`there is no caller ${id}`);
    return caller;
  }

  #caller(id: number, f: string): Recorded {
    const settle = (effect: StepEffect): void => {
      if (caller.settled) throw new TypeError(`the call ${id} is settled twice`);
      caller.settled = true;
      this.#out.push(effect);
    };
    const caller: Recorded = {
      f,
      settled: false,
      resolve: (value) => settle({ do: 'resolve', caller: id, value: settledOut(f, value) }),
      reject: (reason) => settle({ do: 'reject', caller: id, error: errorOut(reason) }),
    };
    this.#callers.set(id, caller);
    return caller;
  }

  // Effects of the machine.

  open(socket: SocketId, url: string): void {
    this.#out.push({ do: 'open', socket, url });
  }

  send(socket: SocketId, message: Encoded): void {
    const decoded = JSON.parse(message as string) as ClientFrame | ClientFrame[];
    this.#out.push({ do: 'send', socket, frames: Array.isArray(decoded) ? decoded : [decoded] });
  }

  close(socket: SocketId, abrupt: boolean): void {
    this.#out.push({ do: 'close', socket, abrupt });
  }

  load(protocol: string): void {
    this.#out.push({ do: 'load', protocol });
  }

  authenticate(): void {
    this.#out.push({ do: 'authenticate' });
  }

  setTimer(atMs: number): void {
    this.#out.push({ do: 'setTimer', at: Number.isFinite(atMs) ? atMs : null });
  }

  turn(): void {
    this.#out.push({ do: 'turn' });
  }

  changed(): void {
    this.#out.push({ do: 'changed' });
  }

  /** The texts of logs are each SDK's own. */
  log(): void {}
}

function keep<T>(into: T[], drawn: T): T {
  into.push(drawn);
  return drawn;
}

const valueIn = (value: VectorValue): Value | null =>
  value === null || typeof value === 'string' ? value : Uint8Array.from(Buffer.from(value.bytes, 'base64'));

function callIn(call: StepCall): Call {
  if (call.f === 'list') return { ...call, merge: mergedPage };
  return call.f === 'write' ? { ...call, value: valueIn(call.value) } : call;
}

/** The client of a protocol, or the error in its place. */
function engineOf(protocol: string, failed: IsochronError['code'] | undefined) {
  if (failed !== undefined) return new IsochronError(failed, `no client of ${protocol}`);
  const entry = CATALOGUE[protocol as ProtocolName];
  return entry.kind === 'operations'
    ? openOperations(entry.session)
    : openTransactions((id, state) => new Session(id, entry.session, state));
}
