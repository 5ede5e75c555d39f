import {
  type AnyMessage,
  invariant,
  isTimestamp,
  type Kind,
  MalformedMessage,
  type MessageSchema,
  type Timestamp,
  withoutAbsentEnd,
} from '@isochron/core';
import { pack, unpack } from './msgpack.js';
import { NameTable } from './names.js';
import { packedSize } from './packed-size.js';

/** Longest name of a machine, in UTF-16 units. */
export const MAX_MACHINE_NAME_LENGTH = 64;
/** Messages in one frame, by default. */
export const DEFAULT_MAX_ENVELOPES = 65_536;

/** A message between two machines; the link determines their nodes. */
export interface FrameEnvelope<M extends AnyMessage> {
  /** Name of the machine that the message is for, on the receiving node. */
  readonly to: string;
  /** Name of the machine that sent it, on the sending node. */
  readonly from: string;
  readonly message: M;
}

/** The unit of a link. */
export interface Frame<M extends AnyMessage> {
  /** The sender's clock when the frame was made (T2). */
  readonly hlc: Timestamp;
  readonly envelopes: readonly FrameEnvelope<M>[];
}

/** A message type, prepared: names and kinds of its fields by position. */
interface Shape {
  readonly type: string;
  readonly tag: number;
  readonly names: readonly string[];
  readonly kinds: readonly Kind<unknown>[];
}

/** Position of the first field in an encoded envelope `[to, from, tag, field…]`. */
const FIRST_FIELD = 3;

/**
 * Frames as bytes: `[hlc, [[to, from, tag, field…], …]]` in MessagePack, fields by position. A decoded
 * frame has the declared shape; fields that a newer minor version appended are ignored.
 */
export class FrameCodec<M extends AnyMessage> {
  readonly maxEnvelopes: number;
  readonly #byType = new Map<string, Shape>();
  readonly #byTag = new Map<number, Shape>();
  readonly #names = new NameTable();

  /** Throws `InvariantViolation` when the schema uses a tag twice. */
  constructor(schema: MessageSchema<M>, options: { readonly maxEnvelopes?: number } = {}) {
    this.maxEnvelopes = options.maxEnvelopes ?? DEFAULT_MAX_ENVELOPES;
    for (const shape of shapesOf(schema)) {
      const other = this.#byTag.get(shape.tag);
      invariant(other === undefined, () => `tag ${shape.tag} is used by ${other?.type} and by ${shape.type}`);
      this.#byType.set(shape.type, shape);
      this.#byTag.set(shape.tag, shape);
    }
  }

  /**
   * Bytes of a frame. At most `maxEnvelopes` messages: a peer refuses more.
   * @param sizes if given, gets each envelope's bytes
   */
  encode(frame: Frame<M>, sizes?: number[]): Uint8Array {
    const { envelopes } = frame;
    invariant(envelopes.length <= this.maxEnvelopes, () => `${envelopes.length} messages in one frame`);
    const raw = new Array<unknown>(envelopes.length);
    for (let i = 0; i < raw.length; i++) {
      const fields = this.#encodeEnvelope(envelopes[i]!);
      raw[i] = fields;
      sizes?.push(packedSize(fields));
    }
    return pack([frame.hlc, raw]);
  }

  /** The frame in `bytes`, which are not kept. Throws `MalformedMessage` if any part is not as declared. */
  decode(bytes: Uint8Array): Frame<M> {
    const raw = unpack(bytes);
    if (!Array.isArray(raw)) throw new MalformedMessage('expected a frame');
    const [hlc, envelopes] = raw as unknown[];
    if (!isTimestamp(hlc)) throw new MalformedMessage('hlc: expected a timestamp');
    if (!Array.isArray(envelopes) || envelopes.length > this.maxEnvelopes) {
      throw new MalformedMessage(`expected an array of at most ${this.maxEnvelopes} messages`);
    }
    const decoded = new Array<FrameEnvelope<M>>(envelopes.length);
    for (let i = 0; i < decoded.length; i++) decoded[i] = this.#decodeEnvelope(envelopes[i]);
    return { hlc, envelopes: decoded };
  }

  #encodeEnvelope({ to, from, message }: FrameEnvelope<M>): unknown[] {
    const shape = this.#byType.get(message.type);
    invariant(shape !== undefined, () => `message type ${message.type} is not in the schema`);
    const { names, kinds } = shape;
    const fields = message as Readonly<Record<string, unknown>>;
    const raw = new Array<unknown>(FIRST_FIELD + names.length);
    raw[0] = to;
    raw[1] = from;
    raw[2] = shape.tag;
    for (let i = 0; i < names.length; i++) raw[FIRST_FIELD + i] = kinds[i]!.encode(fields[names[i]!]);
    return withoutAbsentEnd(raw);
  }

  #decodeEnvelope(raw: unknown): FrameEnvelope<M> {
    if (!Array.isArray(raw)) throw new MalformedMessage('expected a message');
    const to = this.#machineName(raw[0]);
    const from = this.#machineName(raw[1]);
    const shape = this.#byTag.get(raw[2]);
    if (shape === undefined) throw new MalformedMessage(`unknown message tag ${printable(raw[2])}`);
    return { to, from, message: decodeMessage(shape, raw) as M };
  }

  #machineName(raw: unknown): string {
    if (typeof raw !== 'string' || raw.length === 0 || raw.length > MAX_MACHINE_NAME_LENGTH) {
      throw new MalformedMessage(`expected a machine name of 1 to ${MAX_MACHINE_NAME_LENGTH} characters`);
    }
    return this.#names.intern(raw);
  }
}

function decodeMessage(shape: Shape, raw: readonly unknown[]): AnyMessage {
  const { type, names, kinds } = shape;
  const message: AnyMessage & Record<string, unknown> = { type };
  let i = 0;
  try {
    for (; i < names.length; i++) {
      const field = kinds[i]!.decode(raw[FIRST_FIELD + i]);
      if (field !== undefined) message[names[i]!] = field;
    }
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    throw new MalformedMessage(`${type}.${names[i]}: ${error.message}`, { cause: error });
  }
  return message;
}

function shapesOf<M extends AnyMessage>(schema: MessageSchema<M>): Shape[] {
  const entries = Object.entries<{ readonly tag: number; readonly fields: object }>(schema);
  return entries.map(([type, { tag, fields }]) => {
    invariant(Number.isInteger(tag) && tag >= 0, () => `the tag of ${type} is not an unsigned integer`);
    return { type, tag, names: Object.keys(fields), kinds: Object.values(fields) };
  });
}

const printable = (raw: unknown): string => (typeof raw === 'number' ? String(raw) : `of type ${typeof raw}`);
