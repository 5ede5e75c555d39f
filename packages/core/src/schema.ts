import { isTimestamp } from './hlc.js';
import type { Content, Timestamp, Value } from './ids.js';
import { Update } from './updates/update.js';

/**
 * Shapes of messages, as data. One description gives the compact encoding (fields by position, no names on the wire)
 * and the validation of a peer's messages (D12): a decoder returns only values of the declared shape.
 */
export interface Kind<T> {
  /** To plain arrays, numbers, strings and bytes. */
  encode(value: T): unknown;
  /** Back, or throws {@link MalformedMessage}. */
  decode(raw: unknown): T;
  /** The newest timestamp in it, 0 without any; absent where the kind has no timestamps. */
  readonly newest?: ((value: T) => Timestamp) | undefined;
}

/** A peer's message does not have the declared shape. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

function leaf<T>(what: string, accepts: (raw: unknown) => boolean): Kind<T> {
  return {
    encode: (value) => value,
    decode: (raw) => {
      if (!accepts(raw)) throw new MalformedMessage(`expected ${what}`);
      return raw as T;
    },
  };
}

/** A timestamp below the decode limit. */
export const timestamp: Kind<Timestamp> = { ...leaf<Timestamp>('a timestamp', isTimestamp), newest: (ts) => ts };
/** A whole number up to the decode limit of timestamps: a reference, or milliseconds of a wall clock. */
export const count: Kind<number> = leaf('a whole number', isTimestamp);
/** An unsigned integer below 2^32. */
export const uint: Kind<number> = leaf(
  'an unsigned integer',
  (raw) => Number.isInteger(raw) && (raw as number) >= 0 && (raw as number) < 2 ** 32,
);
export const boolean: Kind<boolean> = leaf('a boolean', (raw) => typeof raw === 'boolean');
/** A string of at most `max` UTF-16 units. */
export const text = (max: number): Kind<string> =>
  leaf(`a string of at most ${max}`, (raw) => typeof raw === 'string' && raw.length <= max);
/** JSON text or bytes. */
export const value: Kind<Value> = leaf('a value', (raw) => typeof raw === 'string' || raw instanceof Uint8Array);

/** What a write stores: JSON text, bytes, null for a delete, or an update as a list of one text, its operations. */
export const content: Kind<Content> = {
  encode: (written) => (written instanceof Update ? [written.operations] : written),
  decode: (raw) => {
    if (raw === null || raw === undefined) return null;
    if (!Array.isArray(raw)) return value.decode(raw);
    if (raw.length !== 1 || typeof raw[0] !== 'string') throw new MalformedMessage('expected operations');
    return new Update(raw[0]);
  },
};

export function nullable<T>(kind: Kind<T>): Kind<T | null> {
  return {
    encode: (v) => (v === null ? null : kind.encode(v)),
    decode: (raw) => (raw === null || raw === undefined ? null : kind.decode(raw)),
    newest: kind.newest && ((v) => (v === null ? 0 : kind.newest!(v))),
  };
}

/** A field that may be absent: at the end of a struct or a message it then takes no byte. */
export function optional<T>(kind: Kind<T>): Kind<T | undefined> {
  return {
    encode: (v) => (v === undefined ? undefined : kind.encode(v)),
    decode: (raw) => (raw === null || raw === undefined ? undefined : kind.decode(raw)),
    newest: kind.newest && ((v) => (v === undefined ? 0 : kind.newest!(v))),
  };
}

/** One of a fixed list of strings, sent as its position. Append only. */
export function oneOf<const T extends string>(...names: T[]): Kind<T> {
  return {
    encode: (v) => names.indexOf(v),
    decode: (raw) => {
      const name = typeof raw === 'number' ? names[raw] : undefined;
      if (name === undefined) throw new MalformedMessage(`expected one of ${names.join(', ')}`);
      return name;
    },
  };
}

/** An array of at most `max` items. */
export function list<T>(kind: Kind<T>, max = 1_000_000): Kind<readonly T[]> {
  return {
    encode: (items) => items.map(kind.encode),
    decode: (raw) => {
      if (!Array.isArray(raw) || raw.length > max) throw new MalformedMessage(`expected an array of at most ${max}`);
      return raw.map(kind.decode);
    },
    newest: kind.newest && ((items) => newestOf(items, kind.newest!)),
  };
}

function newestOf<T>(items: readonly T[], newest: (item: T) => Timestamp): Timestamp {
  let highest = 0;
  for (const item of items) {
    const ts = newest(item);
    if (ts > highest) highest = ts;
  }
  return highest;
}

/** The kind of every field of `T`. */
export type Kinds<T> = { readonly [F in keyof T]-?: Kind<T[F]> };

/** An object with the fields of `T`: fields that may be undefined may be absent. */
type ObjectOf<T> = Flat<
  { readonly [F in keyof T as undefined extends T[F] ? never : F]: T[F] } & {
    readonly [F in keyof T as undefined extends T[F] ? F : never]?: T[F];
  }
>;
/** Makes an editor show the fields instead of this name. */
type Flat<T> = { [F in keyof T]: T[F] } & {};

/** The type of the objects that a kind describes; an alias of it keeps its own name in an editor. */
export type Infer<K extends { decode(raw: unknown): object }> = {
  [F in keyof ReturnType<K['decode']>]: ReturnType<K['decode']>[F];
};

/**
 * An object whose type is declared elsewhere, sent as an array of its fields in the order of `fields`. Add fields at
 * the end only. Fails to compile when a field is missing.
 */
export const struct = <T extends object>(fields: Kinds<T>): Kind<T> => ofFields<T>(fields);

/** As {@link struct}, of a type that its fields give: {@link Infer} takes it from there. */
export const object = <T extends object>(fields: Kinds<T>): Kind<ObjectOf<T>> => ofFields<ObjectOf<T>>(fields);

function ofFields<T extends object>(fields: object): Kind<T> {
  const names = Object.keys(fields) as (keyof T)[];
  const kinds = Object.values(fields) as Kind<T[keyof T]>[];
  return {
    encode: (object) => {
      const flat: unknown[] = [];
      for (let i = 0; i < names.length; i++) flat.push(kinds[i]!.encode(object[names[i]!]));
      return withoutAbsentEnd(flat);
    },
    decode: (raw) => {
      if (!Array.isArray(raw)) throw new MalformedMessage(`expected fields ${names.join(', ')}`);
      const object = {} as T;
      for (let i = 0; i < names.length; i++) {
        const name = names[i]!;
        const field = within(String(name), kinds[i]!, raw[i]);
        if (field !== undefined) object[name] = field;
      }
      return object;
    },
    newest: newestField<T>(fields),
  };
}

/** The newest timestamp in the fields of an object; undefined if no field has one. */
function newestField<T extends object>(fields: object): ((object: T) => Timestamp) | undefined {
  const entries = Object.entries(fields) as [keyof T, Kind<T[keyof T]>][];
  const [dated, readers]: [(keyof T)[], ((value: T[keyof T]) => Timestamp)[]] = [[], []];
  for (const [name, { newest }] of entries) {
    if (newest === undefined) continue;
    dated.push(name);
    readers.push(newest);
  }
  if (dated.length === 0) return undefined;
  // Hot: runs for every frame.
  return (object) => {
    let highest = 0;
    for (let i = 0; i < dated.length; i++) {
      const value = object[dated[i]!];
      if (value === undefined || value === null) continue;
      const ts = readers[i]!(value);
      if (ts > highest) highest = ts;
    }
    return highest;
  };
}

/** Encoded fields without the absent optional fields at their end. */
export function withoutAbsentEnd(fields: unknown[]): unknown[] {
  while (fields.length > 0 && fields.at(-1) === undefined) fields.pop();
  return fields;
}

function within<T>(name: string, kind: Kind<T>, raw: unknown): T {
  try {
    return kind.decode(raw);
  } catch (error) {
    if (error instanceof MalformedMessage) throw new MalformedMessage(`${name}: ${error.message}`);
    throw error;
  }
}

/** A discriminated union of messages. */
export interface AnyMessage {
  readonly type: string;
}

/** A declared message. As a field of another message it is sent as its fields after a mark. */
export interface MessageKind<M extends AnyMessage> extends Kind<M> {
  readonly tag: number;
  readonly fields: Kinds<Omit<M, 'type'>>;
}

/**
 * Declares a message: its encoding and validation, and the type that {@link Infer} takes from it. Tags are for ever:
 * the tag of a dropped message stays reserved.
 */
export function message<const N extends string, T extends object>(
  type: N,
  tag: number,
  fields: Kinds<T>,
): MessageKind<MessageWith<N, T>>;
export function message<M extends AnyMessage>(type: M['type'], tag: number, fields: object): MessageKind<M> {
  return { ...ofFields<M>({ type: oneOf(type), ...fields }), tag, fields: fields as Kinds<Omit<M, 'type'>> };
}

type MessageWith<N extends string, T> = Flat<{ readonly type: N } & ObjectOf<T>>;

/** The tag and the fields of every message of a union `M`. Fails to compile when a message or a field is missing. */
export type MessageSchema<M extends AnyMessage> = {
  readonly [T in M['type']]: {
    readonly tag: number;
    readonly fields: Kinds<Omit<Extract<M, { type: T }>, 'type'>>;
  };
};

/** The union of the messages of a schema. */
export type MessageOf<S> = S[keyof S] extends infer K ? (K extends MessageKind<infer M> ? M : never) : never;

/** Reads the newest timestamp in a message of a schema; 0 without any, or for a message that is not in the schema. */
export function newestTimestamp<M extends AnyMessage>(schema: MessageSchema<M>): (message: M) => Timestamp {
  const readers = new Map<string, (message: AnyMessage) => Timestamp>();
  for (const [type, { fields }] of Object.entries<{ readonly fields: object }>(schema)) {
    const newest = newestField(fields as { readonly [field: string]: Kind<unknown> });
    if (newest !== undefined) readers.set(type, (message) => newest(message as AnyMessage & Record<string, unknown>));
  }
  return (message) => readers.get(message.type)?.(message) ?? 0;
}
