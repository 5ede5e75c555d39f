import { CHANNEL_LIMITS } from './entries.js';

/** A message of a session: text, or bytes. */
export type SessionMessage = string | Uint8Array;

/** Where the messages of a channel come from. */
export interface ChannelSource {
  /** The next message; undefined where there is none now. */
  next(): SessionMessage | undefined;
}

export const EMPTY: ChannelSource = { next: () => undefined };

/** A message that waits because its channel is paused. */
interface Held {
  readonly payload: Uint8Array;
  readonly isText: boolean;
}

/** What a held message takes beside its payload, about. */
const HELD_OVERHEAD_BYTES = 128;

/** One channel, as one side of its socket sees it. */
export class Channel {
  /** The message on its way out, of which `offset` bytes have left. */
  message: Uint8Array | undefined;
  isText = false;
  offset = 0;
  /** Bytes that may be sent, and that may come. */
  outCredit: number = CHANNEL_LIMITS.windowBytes;
  inCredit: number = CHANNEL_LIMITS.windowBytes;
  /** How this side is about to close it, or has. */
  closing: { readonly code: number; readonly reason: string } | undefined;
  sentClose = false;
  receivedClose = false;
  isPaused = false;
  #held: Held[] = [];
  #heldBytes = 0;
  #assembly: Uint8Array | undefined;
  #assembled = 0;

  /** @param subprotocol what its open is to name, where this side opens it */
  constructor(
    readonly number: number,
    /** Largest message that is taken in, bytes. */
    public maxMessageBytes: number,
    public source: ChannelSource,
    public subprotocol: string | undefined,
  ) {}

  /** Whether a message is in parts on its way in. */
  get isPartial(): boolean {
    return this.#assembly !== undefined;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Bytes of the message on its way out that have not left. */
  get unsentBytes(): number {
    return this.message === undefined ? 0 : this.message.length - this.offset;
  }

  /** Takes a part. @returns whether the message stays within its bound */
  append(part: Uint8Array): boolean {
    const length = this.#assembled + part.length;
    this.#assembly ??= new Uint8Array();
    if (length > this.maxMessageBytes) return false;
    if (length > this.#assembly.length) {
      // Copied, and doubled: a view of a small part would keep the whole message that it came in.
      const grown = new Uint8Array(Math.min(this.maxMessageBytes, Math.max(2 * length, 4 * CHANNEL_LIMITS.chunkBytes)));
      grown.set(this.#assembly.subarray(0, this.#assembled));
      this.#assembly = grown;
    }
    this.#assembly.set(part, this.#assembled);
    this.#assembled = length;
    return true;
  }

  /** The message whose parts have come. */
  takeAssembled(): Uint8Array {
    const message = this.#assembly?.subarray(0, this.#assembled) ?? new Uint8Array();
    this.#assembly = undefined;
    this.#assembled = 0;
    return message;
  }

  /** Keeps a message until the channel is resumed. @returns bytes that it takes */
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

  /** Drops what waits for its other parts, or for the channel to be resumed. */
  dropIncoming(): void {
    this.takeAssembled();
    this.takeHeld();
  }

  /** Nothing more leaves but a close. */
  dropOutgoing(): void {
    this.message = undefined;
    this.source = EMPTY;
  }
}
