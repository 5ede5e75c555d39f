/** Shared sockets: the bytes of entries, damaged messages, and the events of a client's channels. */

import type { Random } from '@isochron/core';
import type { ChannelSource } from '@isochron/wire/channels/channel';
import { type ChannelEvents, type ChannelRefusal, Channels } from '@isochron/wire/channels/channels';
import { CHANNEL_LIMITS, ChannelFault, ENTRY, EntryWriter, readEntries } from '@isochron/wire/channels/entries';

const SEQUENCES = 60;
const STEPS = 40;
const { chunkBytes } = CHANNEL_LIMITS;
const SUBPROTOCOL = 'isochron.v1+json';

/** An entry: its name (`text`), its number (`code`, `bytes`), and its payload: `length` bytes, all of them `fill`. */
interface ShownEntry {
  readonly kind: number;
  readonly channel: number;
  readonly text?: string;
  readonly number?: number;
  readonly fill?: number;
  readonly length?: number;
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

export function channels(random: Random): object {
  return {
    entries: KINDS.map((write) => {
      const writer = new EntryWriter();
      write(writer);
      const message = writer.take();
      return { hex: hexOf(message), entries: shown(message) };
    }),
    faults: DAMAGED.map((message) => ({ hex: hexOf(message), ...faultOf(message) })),
    sequences: Array.from({ length: SEQUENCES }, () => new Conversation(random).run()),
  };
}

const KINDS: readonly ((writer: EntryWriter) => void)[] = [
  (writer) => writer.open(1, SUBPROTOCOL),
  (writer) => writer.bytes(ENTRY.part, 1, Uint8Array.of(7)),
  (writer) => writer.text(1, ''),
  (writer) => writer.text(0xfffffffe, 'aaaa'),
  (writer) => writer.bytes(ENTRY.bytes, 0x01020304, Uint8Array.of(8, 8)),
  (writer) => writer.bytes(ENTRY.bytes, 3, new Uint8Array(300).fill(255)),
  (writer) => writer.close(2, 1013, 'no \u00e9'),
  (writer) => writer.close(2, 4999, ''),
  (writer) => writer.credit(3, 65536),
  (writer) => writer.credit(3, 0xffffffff),
  (writer) => {
    writer.open(1, SUBPROTOCOL);
    writer.text(1, 'b');
    writer.close(1, 1000, '');
  },
];

const entry = (kind: number, channel: number, ...payload: readonly number[]): number[] => {
  const writer = new EntryWriter();
  writer.bytes(kind, channel, Uint8Array.from(payload));
  return [...writer.take()];
};

/** Messages to a client with one channel, of number 1. Most of them end its socket. */
const DAMAGED: readonly Uint8Array[] = [
  [],
  [3],
  entry(ENTRY.text, 1, 97).slice(0, -1),
  [...entry(ENTRY.text, 1, 97), ...entry(ENTRY.text, 1, 97).slice(0, 8)],
  entry(ENTRY.open, 1, 120),
  entry(ENTRY.open, 2, 120),
  entry(ENTRY.open, 2, ...Array<number>(65).fill(120)),
  entry(ENTRY.part, 1),
  entry(ENTRY.text, 2, 97),
  entry(ENTRY.text, 0, 97),
  entry(0, 1),
  entry(7, 1),
  entry(255, 1),
  entry(ENTRY.close, 1),
  entry(ENTRY.close, 1, 3),
  entry(ENTRY.close, 1, 0, 1),
  entry(ENTRY.close, 1, 3, 231),
  entry(ENTRY.close, 1, 0x13, 0x88),
  entry(ENTRY.close, 1, 3, 232, ...Array<number>(124).fill(97)),
  entry(ENTRY.credit, 1),
  entry(ENTRY.credit, 1, 0, 0, 1),
  entry(ENTRY.credit, 1, 0, 0, 0, 1),
  entry(ENTRY.credit, 1, 255, 255, 255, 255),
  [3, 0, 0, 0, 1, 0, 1, 0, 1],
  [3, 0, 0, 0, 1, 255, 255, 255, 255],
].map((bytes) => Uint8Array.from(bytes));

function faultOf(message: Uint8Array): { fault?: string } {
  const client = new Side();
  client.channels.open('x', client.sourceOf(1));
  while (client.channels.takeMessage() !== undefined);
  try {
    client.channels.receive(message);
    return {};
  } catch (error) {
    if (error instanceof ChannelFault) return { fault: `${error.code} ${error.message}` };
    throw error;
  }
}

function shown(message: Uint8Array): ShownEntry[] {
  const entries: ShownEntry[] = [];
  readEntries(message, {
    open: (channel, text) => entries.push({ kind: ENTRY.open, channel, text }),
    data: (channel, payload, kind) =>
      entries.push({ kind, channel, length: payload.length, ...(payload.length > 0 && { fill: payload[0]! }) }),
    close: (channel, number, text) => entries.push({ kind: ENTRY.close, channel, number, text }),
    credit: (channel, number) => entries.push({ kind: ENTRY.credit, channel, number }),
  });
  return entries;
}

/** One side of a socket, and its events since they were last taken. */
class Side implements ChannelEvents {
  readonly channels: Channels;
  readonly opened?: (channel: number) => ChannelSource;
  readonly open = new Set<number>();
  readonly #out = new Map<number, (string | Uint8Array)[]>();
  #events: object[] = [];

  constructor(isServer = false) {
    const [partialsOut, partialsIn] = isServer ? [Number.POSITIVE_INFINITY, 4] : [4, Number.POSITIVE_INFINITY];
    this.channels = new Channels(this, { maxMessageBytes: 8 * chunkBytes, partialsOut, partialsIn });
    if (isServer)
      this.opened = (channel) => {
        this.open.add(channel);
        return this.sourceOf(channel);
      };
  }

  sourceOf(channel: number): ChannelSource {
    const out: (string | Uint8Array)[] = [];
    this.#out.set(channel, out);
    return { next: () => out.shift() };
  }

  send(channel: number, message: string | Uint8Array): void {
    this.#out.get(channel)!.push(message);
    this.channels.ready(channel);
  }

  events(): object[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  received(channel: number, payload: Uint8Array, isText: boolean): void {
    const fill = payload.length > 0 ? { fill: payload[0]! } : {};
    this.#events.push({ received: channel, isText, length: payload.length, ...fill });
  }

  refused(channel: number, why: ChannelRefusal): void {
    throw new Error(`channel ${channel}: ${why}`);
  }

  closed(channel: number, code: number, reason: string): void {
    this.open.delete(channel);
    this.#events.push({ closed: channel, code, reason });
  }

  writable(): void {}
}

/** A client and a server that act in random turns. The steps are those of the client. */
class Conversation {
  readonly #client = new Side();
  readonly #server = new Side(true);
  readonly #steps: object[] = [];
  #opened = 0;

  constructor(readonly random: Random) {}

  run(): object[] {
    for (let i = 0; i < STEPS; i++) this.#step();
    // Until no data is under way.
    while (this.#take() || this.#receive());
    return this.#steps;
  }

  #step(): void {
    const draw = this.random.below(10);
    if (draw === 0) this.#open();
    else if (draw === 1) this.#close();
    else if (draw === 2) this.#pause();
    else if (draw < 5) this.#take();
    else if (draw < 6) this.#receive();
    else if (draw < 8) this.#answer();
    else this.#send();
  }

  #open(): void {
    const channel = ++this.#opened;
    this.#client.channels.open(SUBPROTOCOL, this.#client.sourceOf(channel));
    this.#client.open.add(channel);
    this.#steps.push({ do: 'open', channel });
  }

  #send(): void {
    const channel = this.#any(this.#client.open);
    if (channel === undefined) return;
    const { message, shape } = this.#message(4);
    this.#steps.push({ do: 'send', channel, ...shape });
    this.#client.send(channel, message);
  }

  #answer(): void {
    const channel = this.#any(this.#server.open);
    if (channel !== undefined) this.#server.send(channel, this.#message(8).message);
  }

  #close(): void {
    const channel = this.random.below(3) === 0 ? this.#any(this.#client.open) : undefined;
    if (channel === undefined) return;
    this.#client.open.delete(channel);
    this.#client.channels.close(channel, 1000, '');
    this.#steps.push({ do: 'close', channel });
  }

  /** The server stops reading from a channel for a while, or closes it. */
  #pause(): void {
    const channel = this.#any(this.#server.open);
    if (channel === undefined) return;
    const { channels } = this.#server;
    const what = this.random.below(6);
    if (what < 3) channels.pause(channel);
    else if (what < 5) channels.resume(channel);
    else {
      channels.close(channel, 1012, 'restart');
      this.#server.open.delete(channel);
    }
  }

  #take(): boolean {
    const message = this.#client.channels.takeMessage();
    this.#steps.push({ do: 'take', ...(message !== undefined && { entries: shown(message) }) });
    if (message !== undefined) this.#server.channels.receive(message);
    return message !== undefined;
  }

  #receive(): boolean {
    const message = this.#server.channels.takeMessage();
    if (message === undefined) return false;
    this.#client.channels.receive(message);
    this.#steps.push({ do: 'receive', entries: shown(message), events: this.#client.events() });
    return true;
  }

  #any(open: ReadonlySet<number>): number | undefined {
    return open.size === 0 ? undefined : [...open][this.random.below(open.size)];
  }

  /** Mostly short; sometimes several chunks, just below a chunk, or empty. */
  #message(chunks: number): { message: string | Uint8Array; shape: object } {
    const kind = this.random.below(6);
    const length =
      kind === 0
        ? this.random.below(chunks * chunkBytes)
        : kind === 1
          ? chunkBytes - 1 + this.random.below(3)
          : this.random.below(200);
    const fill = 97 + this.random.below(26);
    const isText = this.random.below(2) === 0;
    const message = isText ? String.fromCharCode(fill).repeat(length) : new Uint8Array(length).fill(fill);
    return { message, shape: { isText, length, fill } };
  }
}
