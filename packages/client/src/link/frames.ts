/** Validates all data of a server before use (D12): a damaged frame is FRAME_INVALID, never a crash. */
import { isTimestamp } from '@isochron/core/hlc';
import type { Deps, Timestamp, TxId, Value } from '@isochron/core/ids';
import type { Limits } from '@isochron/core/limits';
import type {
  AbortedFrame,
  CommittedFrame,
  ErrorFrame,
  Freshness,
  GoawayFrame,
  HeldBack,
  IsStableFrame,
  KeyOriginFrame,
  ListedFrame,
  PongFrame,
  StartedFrame,
  TxState,
  TxStatusFrame,
  Unresponsive,
  UstFrame,
  ValuesFrame,
  WelcomeFrame,
} from '@isochron/wire/session-frames';
import { fromBase64 } from '../encoding.js';
import { malformed } from '../errors.js';

/** `values` with its bytes decoded. */
export interface Values extends Omit<ValuesFrame, 'values'> {
  readonly values: readonly (readonly [Timestamp, Value] | null)[];
}

/**
 * The answers that clients of single operations validate themselves (`operation-frames.ts`), so that others do not load
 * it.
 */
export interface OperationAnswer {
  readonly type: 'got' | 'written';
  readonly id: number;
  readonly token?: string;
  readonly raw: Raw;
}

/** `welcome`; the state of its token's session is validated by the protocol's client. */
export interface Welcome extends Omit<WelcomeFrame, 'seen'> {
  readonly seen: unknown;
}

/** `listed` with its bytes decoded. */
export interface Listed extends Omit<ListedFrame, 'entries'> {
  readonly entries: readonly (readonly [string, Timestamp, Value])[];
}

/** The answer to `origin` with its bytes decoded. */
export interface KeyOrigin extends Omit<KeyOriginFrame, 'value'> {
  readonly value: readonly [Timestamp, Value] | null;
}

export type Answer =
  | StartedFrame
  | Values
  | KeyOrigin
  | Listed
  | CommittedFrame
  | OperationAnswer
  | AbortedFrame
  | TxStatusFrame
  | IsStableFrame
  | PongFrame;
export type Incoming = Welcome | Answer | ErrorFrame | UstFrame | GoawayFrame;

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

export const version: Parse<readonly [Timestamp, Value] | null> = orNull((raw) => {
  const pair = array(raw, 'value');
  return [timestamp(pair[0], 'commit timestamp'), value(pair[1], '')];
});

const entry: Parse<readonly [string, Timestamp, Value]> = (raw) => {
  const triple = array(raw, 'entry');
  return [text(triple[0], 'key'), timestamp(triple[1], 'commit timestamp'), value(triple[2], '')];
};

const origin: Parse<readonly [Timestamp, TxId]> = (raw, name) => {
  const pair = array(raw, name);
  return [timestamp(pair[0], name), text(pair[1], name)];
};

const freshness = shape<Freshness>({
  now: count,
  stalenessMs: count,
  stale: isTrue,
  heldBackBy: orNull(shape<HeldBack>({ region: text, node: orNull(text), partition: orNull(text) })),
});

const unresponsive = optional(shape<Unresponsive>({ nodes: listOf(text), regions: listOf(text) }));

const STATES: readonly unknown[] = ['open', 'pending', 'committed', 'aborted', 'unknown', 'forgotten', 'lost'];

const state: Parse<TxState> = (raw) => {
  if (STATES.includes(raw)) return raw as TxState;
  throw malformed('a frame with an unknown status');
};

/** The checks of parts, for frames that are checked elsewhere. */
export const parts = {
  anything,
  array,
  count,
  listOf,
  optional,
  orNull,
  shape,
  text,
  timestamp,
  timestamps,
  value,
  version,
};
export type FrameParts = typeof parts;

/** The fields that a frame declares, optional ones too. A shape without one, or of another type, does not compile. */
type Fields<F> = { readonly [N in keyof Required<Omit<F, 'type'>>]: F[N & keyof F] };

type FrameOf<T, F = Incoming> = F extends { readonly type: infer N } ? (T extends N ? F : never) : never;

/** The fields of every answer. */
const head = { type: text, id: count, token: optional(text) };
const snapshot = { ...head, snapshot: timestamp, deps: optional(timestamps) };

const shapes = {
  values: shape({ ...snapshot, values: listOf(version) }),
  listed: shape({ ...snapshot, entries: listOf(entry), next: orNull(text) }),
  started: shape(snapshot),
  origin: shape({ ...head, value: version, origin: orNull(origin) }),
  committed: shape({ ...head, ts: timestamp, deps: optional(timestamps) }),
  got: (raw: unknown) => ({ ...shape(head)(raw, ''), raw: object(raw, '') }),
  written: (raw: unknown) => ({ ...shape(head)(raw, ''), raw: object(raw, '') }),
  aborted: shape(head),
  status: shape({ ...head, status: state, ts: orNull(timestamp) }),
  stable: shape({ ...head, ust: timestamp }),
  pong: shape(head),
  welcome: shape({
    type: text,
    region: text,
    node: text,
    cluster: text,
    protocol: text,
    capabilities: listOf(text),
    ust: timestamp,
    deps: optional(timestamps),
    stable: optional(timestamp),
    seen: anything,
    hwt: timestamp,
    freshness,
    unresponsive,
    token: text,
    credits: (raw: unknown, name: string) => Math.max(1, count(raw, name)),
    limits: shape<Limits>({
      maxKeyBytes: count,
      maxValueBytes: count,
      maxKeysPerRequest: count,
      maxRequestBytes: count,
    }),
    maxTransactionMs: count,
    stalenessAlertMs: optional(count),
    regions: listOf(shape({ id: text, endpoints: listOf(text) })),
  }),
  error: shape({
    type: text,
    id: (raw: unknown, name: string) => (raw == null ? undefined : count(raw, name)),
    code: text,
    detail: text,
    retryable: isTrue,
  }),
  ust: shape({ type: text, ust: timestamp, freshness, unresponsive }),
  goaway: shape({ type: text, reason: text, delayMs: count }),
} satisfies { readonly [T in Incoming['type']]: Parse<Fields<FrameOf<T>>> };

/** One frame from its decoded form. @throws IsochronError FRAME_INVALID */
export function parseFrame(raw: unknown): Incoming {
  const type = text(object(raw, 'body').type, 'type');
  if (!Object.hasOwn(shapes, type)) throw malformed(`a frame of the unknown type ${JSON.stringify(type.slice(0, 40))}`);
  return shapes[type as Incoming['type']](raw, type) as Incoming;
}
