/**
 * Validates all data of a server before use (D12): a damaged frame is FRAME_INVALID, never a crash. The parsers are
 * made from the declarations of the frames.
 */
import { isTimestamp } from '@isochron/core/hlc';
import type { Content, Deps, Timestamp, Value } from '@isochron/core/ids';
import { Update } from '@isochron/core/updates/update';
import { AnswerHead, SERVER_FRAMES } from '@isochron/wire/session-frames/answers';
import type { Kind, ObjectForm, Read } from '@isochron/wire/session-frames/notation';
import { fromBase64 } from '../encoding.js';
import { malformed } from '../errors.js';

/**
 * The answers that the parts which use them validate themselves, so that others do not load it: single operations
 * (`operation-frames.ts`), changes and live queries (`live/frames.ts`), renewed credentials (`renewal.ts`).
 */
export interface LaterAnswer extends Read<typeof AnswerHead> {
  readonly type: 'got' | 'written' | 'changes' | 'live' | 'authenticated';
  readonly raw: Raw;
}

type Declared = Read<(typeof SERVER_FRAMES)[number]>;
type OfType<T extends Declared['type']> = Extract<Declared, { readonly type: T }>;

/** A frame of a server, checked, with its bytes decoded. */
export type Incoming = Declared | LaterAnswer;
/** `welcome`; the state of its token's session is validated by the protocol's client. */
export type Welcome = OfType<'welcome'>;
export type Values = OfType<'values'>;
export type Listed = OfType<'listed'>;
export type KeyOrigin = OfType<'origin'>;
export type Answer = Exclude<Incoming, OfType<'welcome' | 'error' | 'ust' | 'goaway'>>;

/** An unvalidated object. */
export type Raw = Readonly<Record<string, unknown>>;

/** Checks a part of a frame, which `name` names in the error. @throws IsochronError FRAME_INVALID */
export type Parse<T> = (raw: unknown, name: string) => T;

const isObject = (raw: unknown): raw is Raw => typeof raw === 'object' && raw !== null;

export const text: Parse<string> = (raw, name) => {
  if (typeof raw !== 'string') throw malformed(`a frame whose ${name} is no text`);
  return raw;
};

export const count: Parse<number> = (raw, name) => {
  if (!Number.isSafeInteger(raw) || (raw as number) < 0) throw malformed(`a frame whose ${name} is no count`);
  return raw as number;
};

export const timestamp: Parse<Timestamp> = (raw, name) => {
  if (!isTimestamp(raw)) throw malformed(`a frame whose ${name} is no timestamp`);
  return raw;
};

export const array: Parse<readonly unknown[]> = (raw, name) => {
  if (!Array.isArray(raw)) throw malformed(`a frame whose ${name} is no list`);
  return raw;
};

export const object: Parse<Raw> = (raw, name) => {
  if (!isObject(raw)) throw malformed(`a frame whose ${name} is no object`);
  return raw;
};

export const anything: Parse<unknown> = (raw) => raw;

const isTrue: Parse<boolean> = (raw) => raw === true;

const mark: Parse<true | undefined> = (raw) => (raw === true ? raw : undefined);

export const listOf =
  <T>(item: Parse<T>): Parse<readonly T[]> =>
  (raw, name) =>
    array(raw, name).map((one) => item(one, name));

export const orNull =
  <T>(parse: Parse<T>): Parse<T | null> =>
  (raw, name) =>
    raw === null ? null : parse(raw, name);

/** A part that may be absent. */
export const optional =
  <T>(parse: Parse<T>): Parse<T | undefined> =>
  (raw, name) =>
    raw === undefined ? undefined : parse(raw, name);

/** An object with these fields; others are dropped. */
export function shape<T extends object>(fields: { readonly [F in keyof T]-?: Parse<T[F]> }): Parse<T> {
  const entries = Object.entries<Parse<unknown>>(fields);
  return (raw, name) => {
    const from = object(raw, name);
    const parsed: Record<string, unknown> = {};
    for (const [field, parse] of entries) {
      const value = parse(from[field], field);
      if (value !== undefined) parsed[field] = value;
    }
    return parsed as T;
  };
}

export const timestamps: Parse<Deps> = listOf(timestamp);

export const value: Parse<Value> = (raw) => {
  if (typeof raw === 'string') return raw;
  if (raw instanceof Uint8Array) return new Uint8Array(raw);
  if (!isObject(raw) || typeof raw.bytes !== 'string') throw malformed('a value that is neither a document nor bytes');
  try {
    return fromBase64(raw.bytes);
  } catch {
    throw malformed('bytes that are not base64');
  }
};

const pickOf =
  (names: readonly unknown[]): Parse<unknown> =>
  (raw) => {
    if (names.includes(raw)) return raw;
    throw malformed('a frame with an unknown status');
  };

/** A list with these parts; further ones are dropped. */
const tupleOf =
  (parts: readonly Parse<unknown>[]): Parse<readonly unknown[]> =>
  (raw, name) => {
    const from = array(raw, name);
    if (parts.length === 2) return [parts[0]!(from[0], name), parts[1]!(from[1], name)]; // Hot: every value read.
    return parts.map((part, i) => part(from[i], name));
  };

const content: Parse<Content> = (raw, name) => {
  if (raw === null) return null;
  const isUpdate = isObject(raw) && raw.operations !== undefined;
  return isUpdate ? new Update(text(raw.operations, name)) : value(raw, name);
};

const leaves = { text, count, timestamp, flag: isTrue, mark, value, content, later: anything };
const wrappers = { list: listOf, nullable: orNull, optional };

/** The parser of a kind that servers send. */
export const parserOf = <R>(kind: Kind<unknown, R>): Parse<R> => compiled(kind) as Parse<R>;

function compiled(kind: Kind): Parse<unknown> {
  switch (kind.is) {
    case 'object':
      return shape(fieldsOf(kind));
    case 'tuple':
      return tupleOf(kind.of.map(compiled));
    case 'oneOf':
      return pickOf(kind.of);
    case 'list':
    case 'nullable':
    case 'optional':
      return wrappers[kind.is](compiled(kind.of));
    default:
      return leaves[kind.is as keyof typeof leaves];
  }
}

function fieldsOf({ type, of }: ObjectForm): { readonly [name: string]: Parse<unknown> } {
  const fields = Object.entries(of).map(([name, kind]) => [name, compiled(kind)]);
  return { ...(type === undefined ? {} : { type: text }), ...Object.fromEntries(fields) };
}

/** The checks of parts, for data that is checked elsewhere. */
export const parts = { anything, array, listOf, optional, parserOf, shape, text, timestamp, timestamps, value };
export type FrameParts = typeof parts;

const parsers = new Map<string, Parse<object>>(SERVER_FRAMES.map((kind) => [kind.type, parserOf<object>(kind)]));
const head = parserOf(AnswerHead);
for (const type of ['got', 'written', 'changes', 'live', 'authenticated'])
  parsers.set(type, (raw, name) => ({ type, ...head(raw, name), raw }));

/** One frame from its decoded form. @throws IsochronError FRAME_INVALID */
export function parseFrame(raw: unknown): Incoming {
  const type = text(object(raw, 'body').type, 'type');
  const parse = parsers.get(type);
  if (parse === undefined) throw malformed(`an unknown frame, ${JSON.stringify(type.slice(0, 40))}`);
  return parse(raw, type) as Incoming;
}
