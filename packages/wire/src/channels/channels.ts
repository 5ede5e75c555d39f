/**
 * The channels of a shared socket, for both sides and without I/O. Messages of the socket go in and come out; sessions
 * open, send, receive and close.
 *
 * The guarantees: the messages of a channel arrive whole and in their order. Channels take turns, an entry each. A side
 * sends at most a window on a channel beyond the bytes that the other side has read. A number is used once; a channel
 * keeps its place until both sides have closed it, and later entries of it are dropped. Whatever the peer sends, memory
 * is bounded, and only a {@link ChannelFault} is thrown.
 */
import { Channel, type ChannelSource, EMPTY } from './channel.js';
import {
  CHANNEL_LIMITS,
  ENTRY,
  ENTRY_HEADER_BYTES,
  type EntryVisitor,
  EntryWriter,
  invalid,
  MAX_CHANNEL,
  readEntries,
} from './entries.js';
import { Turns } from './turns.js';

/** Close code without room for a channel or message (*try again later*), and its reason. */
export const NO_ROOM = { code: 1013, reason: 'OVERLOADED' } as const;

/** Why the driver is to close a channel: a message is too large, or too much waits because channels are paused. */
export type ChannelRefusal = 'too large' | 'too much';

/** The events of a socket's channels, for its driver. */
export interface ChannelEvents {
  /** The peer has opened a channel. Absent: it may not. @returns the source of its answers */
  opened?(channel: number, subprotocol: string): ChannelSource;
  /** `payload` may be a view of the received message. */
  received(channel: number, payload: Uint8Array, isText: boolean): void;
  refused(channel: number, why: ChannelRefusal): void;
  /** The peer has closed the channel, or answered the close of this side. The last event of a channel. */
  closed(channel: number, code: number, reason: string): void;
  /** Data is ready: `takeMessage` is to be called, once for all of a turn. */
  writable(): void;
}

export interface ChannelRules {
  /** Largest accepted message of a session, bytes. */
  readonly maxMessageBytes: number;
  /** Messages in parts that may be under way on the socket: outgoing and incoming. */
  readonly partialsOut: number;
  readonly partialsIn: number;
}

export class Channels {
  readonly #channels = new Map<number, Channel>();
  readonly #turns: Turns;
  /** Channels that have read so much that the peer is to be granted more. */
  readonly #grants = new Set<Channel>();
  /** Numbers of the peer's refused channels. */
  readonly #refusals: number[] = [];
  readonly #writer = new EntryWriter();
  readonly #visitor: EntryVisitor;
  #last = 0;
  #partialsIn = 0;
  #heldBytes = 0;

  constructor(
    readonly events: ChannelEvents,
    readonly rules: ChannelRules,
  ) {
    this.#turns = new Turns(rules.partialsOut, (channel) => this.#closeSent(channel));
    this.#visitor = {
      open: (number, subprotocol) => this.#opened(number, subprotocol),
      data: (number, payload, kind) => this.#data(number, payload, kind),
      close: (number, code, reason) => this.#closed(number, code, reason),
      credit: (number, bytes) => this.#credit(number, bytes),
    };
  }

  /** Channels that are not closed by both sides. */
  get size(): number {
    return this.#channels.size;
  }

  /** Whether no further channel can be opened. */
  get isFull(): boolean {
    return this.#channels.size >= CHANNEL_LIMITS.channels || this.#last === MAX_CHANNEL;
  }

  /** Opens a channel: messages of `source` may be sent at once. @returns its number */
  open(subprotocol: string, source: ChannelSource): number {
    this.#last++;
    this.#channels.set(this.#last, new Channel(this.#last, this.rules.maxMessageBytes, source, subprotocol));
    this.ready(this.#last);
    return this.#last;
  }

  /** The source of a channel has a message to send. */
  ready(number: number): void {
    const channel = this.#channels.get(number);
    if (channel === undefined || channel.sentClose || channel.message !== undefined) return;
    this.#turns.add(channel);
    this.events.writable();
  }

  /** Whether no message waits in the channel or in its source. */
  isIdle(number: number): boolean {
    const channel = this.#channels.get(number);
    return channel === undefined || (channel.message === undefined && !this.#turns.has(channel));
  }

  /** Bytes of the channel's present message that have not left. */
  unsentBytes(number: number): number {
    return this.#channels.get(number)?.unsentBytes ?? 0;
  }

  /** Bytes that have left on the channel and that the peer has not granted again: it has not read them. */
  untakenBytes(number: number): number {
    return CHANNEL_LIMITS.windowBytes - (this.#channels.get(number)?.outCredit ?? CHANNEL_LIMITS.windowBytes);
  }

  /** Sets the largest accepted message of the channel, if other than the socket's. */
  limit(number: number, maxMessageBytes: number): void {
    const channel = this.#channels.get(number);
    if (channel !== undefined) channel.maxMessageBytes = maxMessageBytes;
  }

  /** Messages on the channel wait from now on: at most a window. */
  pause(number: number): void {
    const channel = this.#channels.get(number);
    if (channel !== undefined) channel.isPaused = true;
  }

  /** Delivers the messages that waited, and goes on. */
  resume(number: number): void {
    const channel = this.#channels.get(number);
    if (channel === undefined || !channel.isPaused) return;
    channel.isPaused = false;
    this.#heldBytes -= channel.heldBytes;
    for (const { payload, isText } of channel.takeHeld())
      if (channel.closing === undefined) this.events.received(number, payload, isText);
    this.#taken(channel);
  }

  /**
   * Closes a channel, after the messages of its source that the peer reads. Entries that arrive on it are dropped,
   * except the peer's close. No effect on a closed channel.
   */
  close(number: number, code: number, reason: string): void {
    const channel = this.#channels.get(number);
    if (channel === undefined || channel.closing !== undefined) return;
    channel.closing = { code, reason };
    this.#dropIncoming(channel);
    this.#turns.add(channel);
    this.events.writable();
  }

  /** Takes a message of the socket. @throws ChannelFault if the socket is to be closed */
  receive(message: Uint8Array): void {
    readEntries(message, this.#visitor);
  }

  /** The next message of the socket; undefined if there is none. */
  takeMessage(): Uint8Array<ArrayBuffer> | undefined {
    const writer = this.#writer;
    for (const channel of this.#grants) {
      if (!writer.hasRoom) break;
      this.#grants.delete(channel);
      writer.credit(channel.number, CHANNEL_LIMITS.windowBytes - channel.inCredit);
      channel.inCredit = CHANNEL_LIMITS.windowBytes;
    }
    while (this.#refusals.length > 0 && writer.hasRoom)
      writer.close(this.#refusals.pop()!, NO_ROOM.code, NO_ROOM.reason);
    this.#turns.write(writer);
    return writer.isEmpty ? undefined : writer.take();
  }

  #opened(number: number, subprotocol: string): void {
    if (this.events.opened === undefined) throw invalid('only clients open channels');
    if (number <= this.#last) throw invalid(`channel ${number} has been used`);
    this.#last = number;
    if (this.#channels.size < CHANNEL_LIMITS.channels) {
      const channel = new Channel(number, this.rules.maxMessageBytes, EMPTY, undefined);
      this.#channels.set(number, channel);
      channel.source = this.events.opened(number, subprotocol);
      return;
    }
    // A peer that does not read its refusals must not add to them.
    if (this.#refusals.length >= CHANNEL_LIMITS.entries) throw invalid('too many channels are opened');
    this.#refusals.push(number);
    this.events.writable();
  }

  #data(number: number, payload: Uint8Array, kind: number): void {
    const channel = this.#find(number);
    if (channel === undefined || channel.closing !== undefined) return;
    channel.inCredit -= payload.length + ENTRY_HEADER_BYTES;
    if (channel.inCredit < 0) throw invalid(`channel ${number} was sent more than granted`);
    if (kind !== ENTRY.part && !channel.isPartial) {
      this.#message(channel, payload, kind === ENTRY.text);
      return;
    }
    if (!channel.isPartial && this.#partialsIn === this.rules.partialsIn)
      throw invalid('too many messages are sent in parts');
    if (!channel.isPartial) this.#partialsIn++;
    if (!channel.append(payload)) this.events.refused(number, 'too large');
    else if (kind === ENTRY.part) this.#taken(channel);
    else {
      this.#partialsIn--;
      this.#message(channel, channel.takeAssembled(), kind === ENTRY.text);
    }
  }

  #message(channel: Channel, payload: Uint8Array, isText: boolean): void {
    if (payload.length > channel.maxMessageBytes) this.events.refused(channel.number, 'too large');
    else if (channel.isPaused) {
      this.#heldBytes += channel.hold(payload, isText);
      if (this.#heldBytes > CHANNEL_LIMITS.heldBytes) this.events.refused(channel.number, 'too much');
    } else {
      this.events.received(channel.number, payload, isText);
      this.#taken(channel);
    }
  }

  /** Grants the peer more, in good time. */
  #taken(channel: Channel): void {
    if (channel.isPaused || channel.closing !== undefined || channel.inCredit > CHANNEL_LIMITS.windowBytes / 2) return;
    this.#grants.add(channel);
    this.events.writable();
  }

  #credit(number: number, bytes: number): void {
    const channel = this.#find(number);
    if (channel === undefined || channel.sentClose) return;
    channel.outCredit += bytes;
    if (channel.outCredit > CHANNEL_LIMITS.windowBytes) throw invalid(`channel ${number} was granted too much`);
    if (channel.message === undefined) return;
    this.#turns.add(channel);
    this.events.writable();
  }

  #closed(number: number, code: number, reason: string): void {
    const channel = this.#find(number);
    if (channel === undefined || channel.receivedClose) return;
    channel.receivedClose = true;
    this.#dropIncoming(channel);
    channel.dropOutgoing();
    this.#turns.drop(channel);
    if (channel.sentClose) this.#channels.delete(number);
    else {
      channel.closing ??= { code, reason: '' };
      this.#turns.add(channel);
      this.events.writable();
    }
    this.events.closed(number, code, reason);
  }

  #closeSent(channel: Channel): void {
    channel.sentClose = true;
    channel.dropOutgoing();
    if (channel.receivedClose) this.#channels.delete(channel.number);
  }

  #dropIncoming(channel: Channel): void {
    if (channel.isPartial) this.#partialsIn--;
    this.#heldBytes -= channel.heldBytes;
    this.#grants.delete(channel);
    channel.dropIncoming();
  }

  /** Undefined if it is closed. */
  #find(number: number): Channel | undefined {
    if (number > this.#last) throw invalid(`channel ${number} was never opened`);
    return this.#channels.get(number);
  }
}
