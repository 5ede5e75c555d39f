import type { Channel } from './channel.js';
import { CHANNEL_LIMITS, ENTRY, ENTRY_HEADER_BYTES, type EntryWriter } from './entries.js';

/** A text of at most this many characters fits an entry, whatever they are. */
const SHORT_TEXT = CHANNEL_LIMITS.chunkBytes / 3;
const encoder = new TextEncoder();

/** The outgoing entries of a shared socket: channels take turns, an entry each. */
export class Turns {
  /** Channels that may have an entry to send, in the order of turns. */
  readonly #ready = new Set<Channel>();
  /** Channels whose message is cut and has begun to leave, and channels that wait for such a place. */
  readonly #cutting = new Set<Channel>();
  readonly #waiting = new Set<Channel>();

  /**
   * @param partials messages in parts that may be under way
   * @param closed called when the close of a channel is written
   */
  constructor(
    readonly partials: number,
    readonly closed: (channel: Channel) => void,
  ) {}

  get isEmpty(): boolean {
    return this.#ready.size === 0;
  }

  add(channel: Channel): void {
    this.#ready.add(channel);
  }

  has(channel: Channel): boolean {
    return this.#ready.has(channel);
  }

  /** Drops the outgoing messages of a channel. */
  drop(channel: Channel): void {
    this.#ready.delete(channel);
    this.#waiting.delete(channel);
    this.#cutting.delete(channel);
    this.#offerPlace();
  }

  write(writer: EntryWriter): void {
    // A channel that is added again comes last.
    for (const channel of this.#ready) {
      if (!writer.hasRoom) return;
      this.#ready.delete(channel);
      if (this.#turn(channel, writer)) this.#ready.add(channel);
    }
  }

  /** Writes an entry. @returns whether another entry may follow */
  #turn(channel: Channel, writer: EntryWriter): boolean {
    if (channel.subprotocol !== undefined) {
      writer.open(channel.number, channel.subprotocol);
      channel.subprotocol = undefined;
    }
    if (channel.message !== undefined) return this.#entry(channel, writer);
    const next = channel.source.next();
    if (next === undefined) {
      if (channel.closing !== undefined) this.#close(channel, writer);
      return false;
    }
    const { number, outCredit } = channel;
    channel.isText = typeof next === 'string';
    channel.offset = 0;
    if (typeof next === 'string' && next.length <= SHORT_TEXT && outCredit >= 3 * next.length + ENTRY_HEADER_BYTES) {
      channel.outCredit -= writer.text(number, next);
      return true;
    }
    channel.message = typeof next === 'string' ? encoder.encode(next) : next;
    return this.#entry(channel, writer);
  }

  /** Writes the message of a channel, or its next part. */
  #entry(channel: Channel, writer: EntryWriter): boolean {
    const { message, offset, number } = channel;
    if (message === undefined) return false;
    const size = Math.min(message.length - offset, CHANNEL_LIMITS.chunkBytes);
    const isLast = offset + size === message.length;
    const mayBegin = isLast || this.#cutting.has(channel) || this.#cutting.size < this.partials;
    if (channel.outCredit < size + ENTRY_HEADER_BYTES || !mayBegin) {
      // Bytes that the peer does not read do not delay the close.
      if (channel.closing !== undefined) this.#close(channel, writer);
      else if (!mayBegin) this.#waiting.add(channel);
      // Without credit it cannot use a place that it was offered.
      else this.#offerPlace();
      return false;
    }
    const end = channel.isText ? ENTRY.text : ENTRY.bytes;
    writer.bytes(isLast ? end : ENTRY.part, number, message.subarray(offset, offset + size));
    channel.outCredit -= size + ENTRY_HEADER_BYTES;
    channel.offset += size;
    if (isLast) {
      channel.message = undefined;
      if (this.#cutting.delete(channel)) this.#offerPlace();
    } else this.#cutting.add(channel);
    return true;
  }

  #close(channel: Channel, writer: EntryWriter): void {
    const { code, reason } = channel.closing!;
    writer.close(channel.number, code, reason);
    this.drop(channel);
    this.closed(channel);
  }

  /** Offers a free place among the messages in parts to the next channel that waits for a place. */
  #offerPlace(): void {
    if (this.#cutting.size >= this.partials) return;
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      this.#ready.add(next);
      return;
    }
  }
}
