import { CHANNEL_LIMITS } from './entries.js';

/** A message of a session: text, or bytes. */
export type SessionMessage = string | Uint8Array;

/** The source of a channel's messages. */
export interface ChannelSource {
  /** The next message; undefined if none is ready. */
  next(): SessionMessage | undefined;
}

export const EMPTY: ChannelSource = { next: () => undefined };

/** A message that waits because its channel is paused. */
interface Held {
  readonly payload: Uint8Array;
  readonly isText: boolean;
}

/** Approximate bytes of a held message beside its payload. */
const HELD_OVERHEAD_BYTES = 128;

/** One side's state of a channel. */
export class Channel {
  /** The outgoing message, of which `offset` bytes have left. */
  message: Uint8Array | undefined;
  isText = false;
  offset = 0;
  /** Bytes that may be sent, and that may be received. */
  outCredit: number = CHANNEL_LIMITS.windowBytes;
  inCredit: number = CHANNEL_LIMITS.windowBytes;
  /** The pending or sent close of this side. */
  closing: { readonly code: number; readonly reason: string } | undefined;
  sentClose = false;
  receivedClose = false;
  isPaused = false;
  #held: Held[] = [];
  #heldBytes = 0;
  #assembly: Uint8Array | undefined;
  #assembled = 0;

  /** @param subprotocol the name in its open, if this side opens it */
  constructor(
    readonly number: number,
    /** Largest accepted message, bytes. */
    public maxMessageBytes: number,
    public source: ChannelSource,
    public subprotocol: string | undefined,
  ) {}

  /** Whether an incoming message is still in parts. */
  get isPartial(): boolean {
    return this.#assembly !== undefined;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Bytes of the outgoing message that have not left. */
  get unsentBytes(): number {
    return this.message === undefined ? 0 : this.message.length - this.offset;
  }

  /** Adds a part. @returns whether the message stays within its bound */
  append(part: Uint8Array): boolean {
    const length = this.#assembled + part.length;
    this.#assembly ??= new Uint8Array();
    if (length > this.maxMessageBytes) return false;
    if (length > this.#assembly.length) {
      // Copied, and doubled: a view of a small part would keep its whole message alive.
      const grown = new Uint8Array(Math.min(this.maxMessageBytes, Math.max(2 * length, 4 * CHANNEL_LIMITS.chunkBytes)));
      grown.set(this.#assembly.subarray(0, this.#assembled));
      this.#assembly = grown;
    }
    this.#assembly.set(part, this.#assembled);
    this.#assembled = length;
    return true;
  }

  /** The assembled message. */
  takeAssembled(): Uint8Array {
    const message = this.#assembly?.subarray(0, this.#assembled) ?? new Uint8Array();
    this.#assembly = undefined;
    this.#assembled = 0;
    return message;
  }

  /** Keeps a message until the channel is resumed. @returns its bytes */
  hold(payload: Uint8Array, isText: boolean): number {
    this.#held.push({ payload: payload.slice(), isText });
    this.#heldBytes += payload.length + HELD_OVERHEAD_BYTES;
    return payload.length + HELD_OVERHEAD_BYTES;
  }

  takeHeld(): readonly Held[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  /** Drops incomplete and held messages. */
  dropIncoming(): void {
    this.takeAssembled();
    this.takeHeld();
  }

  /** Only a close leaves from now on. */
  dropOutgoing(): void {
    this.message = undefined;
    this.source = EMPTY;
  }
}
