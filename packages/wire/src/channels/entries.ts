/**
 * The messages of a shared socket, a WebSocket that carries many sessions (`isochron.v1+shared`). A message is binary
 * and holds entries, one behind the other: kind (1 byte), channel (4), length of the payload (4), payload; numbers are
 * big-endian.
 */

/** Subprotocol of a shared socket. */
export const SHARED_SUBPROTOCOL = 'isochron.v1+shared';

export const CHANNEL_LIMITS = {
  /** Channels of one socket; a closed one counts until both sides have closed it. */
  channels: 1024,
  /** Entries of one message. */
  entries: 4096,
  /** Payload of one entry, bytes: a larger message of a session is cut, so that others get their turn. */
  chunkBytes: 64 * 1024,
  /** A message of this many bytes takes no further entry. */
  messageBytes: 64 * 1024,
  /** Bytes of entries with payload that a side may send on a channel beyond the other side's grants. */
  windowBytes: 1024 * 1024,
  /** Messages in parts that a client may have under way on one socket. */
  partials: 4,
  /** Bytes of messages that wait on one socket because their channels are paused. */
  heldBytes: 16 * 1024 * 1024,
} as const;

export const ENTRY_HEADER_BYTES = 9;
/** No message is larger: an open and its first entry may begin just below `messageBytes`. */
export const MAX_MESSAGE_BYTES = CHANNEL_LIMITS.messageBytes + CHANNEL_LIMITS.chunkBytes + 256;
/** The highest number of a channel. */
export const MAX_CHANNEL = 2 ** 32 - 1;

/** Kinds of entries. Numbers are never used again. */
export const ENTRY = {
  /** Opens a channel; the payload names the session's subprotocol. The first entry of its channel. */
  open: 1,
  /** A part of a message, but not its last part. */
  part: 2,
  /** The last part of a text message, usually all of it. */
  text: 3,
  /** The last part of a binary message. */
  bytes: 4,
  /** Ends the channel for this side: code (2 bytes) and reason, as a WebSocket has them. */
  close: 5,
  /** The other side may send this many bytes (4) more on the channel. */
  credit: 6,
} as const;

const MAX_SUBPROTOCOL_BYTES = 64;
const [MIN_CLOSE_CODE, MAX_CLOSE_CODE, MAX_REASON_BYTES] = [1000, 4999, 123];

/** The peer broke a rule of shared sockets: the socket is to be closed with the code. */
export class ChannelFault extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** A fault that ends the socket with *protocol error*. */
export const invalid = (message: string): ChannelFault => new ChannelFault(4400, message);

/** Takes the entries of a message, in their order. */
export interface EntryVisitor {
  open(channel: number, subprotocol: string): void;
  /** `payload` is a view of the message. */
  data(channel: number, payload: Uint8Array, kind: 2 | 3 | 4): void;
  close(channel: number, code: number, reason: string): void;
  credit(channel: number, bytes: number): void;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Reads a message. @throws ChannelFault when it is damaged; the entries before the damage have been visited */
export function readEntries(message: Uint8Array, visitor: EntryVisitor): void {
  if (message.length > MAX_MESSAGE_BYTES) throw new ChannelFault(1009, 'a message is too large');
  let at = 0;
  for (let entries = 0; at < message.length; entries++) {
    if (entries === CHANNEL_LIMITS.entries) throw invalid('a message has too many entries');
    if (at + ENTRY_HEADER_BYTES > message.length) throw invalid('an entry is cut off');
    const kind = message[at]!;
    const channel = uint32(message, at + 1);
    const start = at + ENTRY_HEADER_BYTES;
    const length = uint32(message, at + 5);
    if (length > CHANNEL_LIMITS.chunkBytes) throw invalid('a payload is too large');
    at = start + length;
    if (at > message.length) throw invalid('an entry is cut off');
    visit(kind, channel, message.subarray(start, at), visitor);
  }
}

function visit(kind: number, channel: number, payload: Uint8Array, visitor: EntryVisitor): void {
  switch (kind) {
    case ENTRY.open:
      if (payload.length > MAX_SUBPROTOCOL_BYTES) throw invalid('a subprotocol is too long');
      visitor.open(channel, decoder.decode(payload));
      return;
    case ENTRY.part:
      if (payload.length === 0) throw invalid('a part is empty');
      visitor.data(channel, payload, kind);
      return;
    case ENTRY.text:
    case ENTRY.bytes:
      visitor.data(channel, payload, kind);
      return;
    case ENTRY.close:
      readClose(channel, payload, visitor);
      return;
    case ENTRY.credit:
      if (payload.length !== 4) throw invalid('a credit is damaged');
      visitor.credit(channel, uint32(payload, 0));
      return;
    default:
      throw invalid('an entry is of no known kind');
  }
}

function readClose(channel: number, payload: Uint8Array, visitor: EntryVisitor): void {
  if (payload.length < 2 || payload.length > 2 + MAX_REASON_BYTES) throw invalid('a close is damaged');
  const code = (payload[0]! << 8) | payload[1]!;
  if (code < MIN_CLOSE_CODE || code > MAX_CLOSE_CODE) throw invalid('a close has no valid code');
  visitor.close(channel, code, decoder.decode(payload.subarray(2)));
}

const uint32 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;

/** Writes one message after the other, in memory of its own. */
export class EntryWriter {
  readonly #memory = new Uint8Array(MAX_MESSAGE_BYTES);
  #length = 0;
  #entries = 0;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Whether the message takes two more entries: an open, and the entry that needs it. */
  get hasRoom(): boolean {
    return this.#length < CHANNEL_LIMITS.messageBytes && this.#entries + 2 <= CHANNEL_LIMITS.entries;
  }

  open(channel: number, subprotocol: string): void {
    this.bytes(ENTRY.open, channel, encoder.encode(subprotocol));
  }

  close(channel: number, code: number, reason: string): void {
    const text = encoder.encode(reason).subarray(0, MAX_REASON_BYTES);
    this.bytes(ENTRY.close, channel, Uint8Array.of(code >> 8, code & 0xff, ...text));
  }

  credit(channel: number, bytes: number): void {
    this.#header(ENTRY.credit, channel, 4);
    this.#uint32(this.#length, bytes);
    this.#length += 4;
  }

  /** An entry with payload. */
  bytes(kind: number, channel: number, payload: Uint8Array): void {
    this.#header(kind, channel, payload.length);
    this.#memory.set(payload, this.#length);
    this.#length += payload.length;
  }

  /** A text message of at most a third of `chunkBytes` characters. @returns bytes of the entry */
  text(channel: number, text: string): number {
    const start = this.#length;
    this.#header(ENTRY.text, channel, 0);
    const { written } = encoder.encodeInto(text, this.#memory.subarray(this.#length));
    this.#uint32(start + 5, written);
    this.#length += written;
    return ENTRY_HEADER_BYTES + written;
  }

  /** The message; afterwards there is room for the next message. */
  take(): Uint8Array<ArrayBuffer> {
    const message = this.#memory.slice(0, this.#length);
    this.#length = 0;
    this.#entries = 0;
    return message;
  }

  #header(kind: number, channel: number, length: number): void {
    this.#entries++;
    this.#memory[this.#length] = kind;
    this.#uint32(this.#length + 1, channel);
    this.#uint32(this.#length + 5, length);
    this.#length += ENTRY_HEADER_BYTES;
  }

  #uint32(at: number, value: number): void {
    this.#memory[at] = value >>> 24;
    this.#memory[at + 1] = value >>> 16;
    this.#memory[at + 2] = value >>> 8;
    this.#memory[at + 3] = value;
  }
}
