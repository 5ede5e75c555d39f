import { isTimestamp } from './hlc.js';
import type { Timestamp, Value } from './ids.js';

/**
 * Shapes of messages, as data. One description gives the compact encoding (fields by position, no names on the wire) and
 * the validation of what a peer sends (D12): a decoder returns only what has the declared shape.
 */
export interface Kind<T> {
  /** To plain arrays, numbers, strings and bytes. */
  encode(value: T): unknown;
  /** Back, or throws {@link MalformedMessage}. */
  decode(raw: unknown): T;
}

/** What a peer sent does not have the declared shape. */
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
export const timestamp: Kind<Timestamp> = leaf('a timestamp', isTimestamp);
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

export function nullable<T>(kind: Kind<T>): Kind<T | null> {
  return {
    encode: (v) => (v === null ? null : kind.encode(v)),
    decode: (raw) => (raw === null || raw === undefined ? null : kind.decode(raw)),
  };
}

/** What may be absent: at the end of a struct or a message it takes no byte then. */
export function optional<T>(kind: Kind<T>): Kind<T | undefined> {
  return {
    encode: (v) => (v === undefined ? undefined : kind.encode(v)),
    decode: (raw) => (raw === null || raw === undefined ? undefined : kind.decode(raw)),
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
  };
}

/** An object, sent as an array of its fields in the order of `fields`. Add fields at the end only. */
export function struct<T extends object>(fields: { readonly [F in keyof T]-?: Kind<T[F]> }): Kind<T> {
  const names = Object.keys(fields) as (keyof T)[];
  const kinds = names.map((name) => fields[name]);
  return {
    encode: (object) => withoutAbsentEnd(kinds.map((kind, i) => kind.encode(object[names[i]!]))),
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
  };
}

/** Encoded fields without the optional ones at their end that are absent. */
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

/**
 * A tag and the fields of every message of a union `M`. Fails to compile when a message or a field is missing. Tags are
 * for ever: the tag of a message that was dropped stays reserved.
 */
export type MessageSchema<M extends AnyMessage> = {
  readonly [T in M['type']]: {
    readonly tag: number;
    readonly fields: {
      readonly [F in Exclude<keyof Extract<M, { type: T }>, 'type'>]-?: Kind<Extract<M, { type: T }>[F]>;
    };
  };
};
