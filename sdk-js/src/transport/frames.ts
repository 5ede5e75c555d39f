/** Validates what a server sends. Nothing of it is used before (D12): a damaged frame is FRAME_INVALID, never a crash. */
import { isTimestamp } from '@isochron/core/hlc';
import type { Deps, Timestamp, Value } from '@isochron/core/ids';
import type {
  AbortedFrame,
  CommittedFrame,
  ErrorFrame,
  Freshness,
  GoawayFrame,
  HeldBack,
  IsStableFrame,
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

/** What clients of single operations get and validate themselves (`operation-frames.ts`): others do not load that. */
export interface OperationAnswer {
  readonly type: 'got' | 'written';
  readonly id: number;
  readonly token?: string;
  readonly raw: Raw;
}

/** `welcome`; what its token's session has seen is validated by who knows of it. */
export interface Welcome extends Omit<WelcomeFrame, 'seen'> {
  readonly seen: unknown;
}

/** `listed` with its bytes decoded. */
export interface Listed extends Omit<ListedFrame, 'entries'> {
  readonly entries: readonly (readonly [string, Timestamp, Value])[];
}

export type Answer =
  | StartedFrame
  | Values
  | Listed
  | CommittedFrame
  | OperationAnswer
  | AbortedFrame
  | TxStatusFrame
  | IsStableFrame
  | PongFrame;
export type Incoming = Welcome | Answer | ErrorFrame | UstFrame | GoawayFrame;

/** An object of which nothing is known. */
export type Raw = Readonly<Record<string, unknown>>;

const isObject = (raw: unknown): raw is Raw => typeof raw === 'object' && raw !== null;

export function text(raw: unknown, name: string): string {
  if (typeof raw !== 'string') throw malformed(`a frame whose ${name} is no text`);
  return raw;
}

export function count(raw: unknown, name: string): number {
  if (!Number.isSafeInteger(raw) || (raw as number) < 0) throw malformed(`a frame whose ${name} is no count`);
  return raw as number;
}

export function timestamp(raw: unknown, name: string): Timestamp {
  if (!isTimestamp(raw)) throw malformed(`a frame whose ${name} is no timestamp`);
  return raw;
}

/** The entries of a snapshot beside its timestamp, where a frame has them. */
function deps(raw: Raw): { readonly deps?: Deps } {
  return raw.deps === undefined ? {} : { deps: timestamps(raw.deps, 'deps') };
}

export const timestamps = (raw: unknown, name: string): Deps => array(raw, name).map((entry) => timestamp(entry, name));

export function array(raw: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(raw)) throw malformed(`a frame whose ${name} is no list`);
  return raw;
}

export function object(raw: unknown, name: string): Raw {
  if (!isObject(raw)) throw malformed(`a frame whose ${name} is no object`);
  return raw;
}

function value(raw: unknown): Value {
  if (typeof raw === 'string') return raw;
  if (raw instanceof Uint8Array) return new Uint8Array(raw);
  if (!isObject(raw) || typeof raw.bytes !== 'string') throw malformed('a value that is neither a document nor bytes');
  try {
    return fromBase64(raw.bytes);
  } catch {
    throw malformed('bytes that are not base64');
  }
}

export function version(raw: unknown): readonly [Timestamp, Value] | null {
  if (raw === null) return null;
  const pair = array(raw, 'value');
  return [timestamp(pair[0], 'commit timestamp'), value(pair[1])];
}

function entry(raw: unknown): readonly [string, Timestamp, Value] {
  const triple = array(raw, 'entry');
  return [text(triple[0], 'key'), timestamp(triple[1], 'commit timestamp'), value(triple[2])];
}

function limits(raw: unknown): WelcomeFrame['limits'] {
  const { maxKeyBytes, maxValueBytes, maxKeysPerRequest, maxRequestBytes } = object(raw, 'limits');
  return {
    maxKeyBytes: count(maxKeyBytes, 'maxKeyBytes'),
    maxValueBytes: count(maxValueBytes, 'maxValueBytes'),
    maxKeysPerRequest: count(maxKeysPerRequest, 'maxKeysPerRequest'),
    maxRequestBytes: count(maxRequestBytes, 'maxRequestBytes'),
  };
}

function region(raw: unknown): WelcomeFrame['regions'][number] {
  const { id, endpoints } = object(raw, 'region');
  return { id: text(id, 'region'), endpoints: array(endpoints, 'endpoints').map((url) => text(url, 'endpoint')) };
}

function heldBack(raw: unknown): HeldBack | null {
  if (raw === null) return null;
  const { region, node, partition } = object(raw, 'heldBackBy');
  return {
    region: text(region, 'region'),
    node: node === null ? null : text(node, 'node'),
    partition: partition === null ? null : text(partition, 'partition'),
  };
}

function freshness(raw: unknown): Freshness {
  const { now, stalenessMs, stale, heldBackBy } = object(raw, 'freshness');
  return {
    now: count(now, 'clock'),
    stalenessMs: count(stalenessMs, 'staleness'),
    stale: stale === true,
    heldBackBy: heldBack(heldBackBy),
  };
}

function names(raw: unknown, name: string): readonly string[] {
  return array(raw, name).map((one) => text(one, name));
}

/** What does not answer the node, where a frame says so. */
function unresponsive(raw: Raw): { readonly unresponsive?: Unresponsive } {
  if (raw.unresponsive === undefined) return {};
  const { nodes, regions } = object(raw.unresponsive, 'unresponsive');
  return { unresponsive: { nodes: names(nodes, 'node'), regions: names(regions, 'region') } };
}

const welcome = (raw: Raw): Welcome => ({
  type: 'welcome',
  region: text(raw.region, 'region'),
  node: text(raw.node, 'node'),
  cluster: text(raw.cluster, 'cluster'),
  protocol: text(raw.protocol, 'protocol'),
  capabilities: array(raw.capabilities, 'capabilities').map((name) => text(name, 'capability')),
  ust: timestamp(raw.ust, 'ust'),
  ...deps(raw),
  ...(raw.stable === undefined ? {} : { stable: timestamp(raw.stable, 'stable') }),
  seen: raw.seen,
  hwt: timestamp(raw.hwt, 'hwt'),
  freshness: freshness(raw.freshness),
  ...unresponsive(raw),
  token: text(raw.token, 'token'),
  credits: Math.max(1, count(raw.credits, 'credits')),
  limits: limits(raw.limits),
  maxTransactionMs: count(raw.maxTransactionMs, 'maxTransactionMs'),
  regions: array(raw.regions, 'regions').map(region),
});

const errorFrame = (raw: Raw): ErrorFrame => ({
  type: 'error',
  ...(raw.id === undefined || raw.id === null ? {} : { id: count(raw.id, 'id') }),
  code: text(raw.code, 'code'),
  detail: text(raw.detail, 'detail'),
  retryable: raw.retryable === true,
});

function head(raw: Raw): { readonly id: number; readonly token?: string } {
  const id = count(raw.id, 'id');
  return raw.token === undefined ? { id } : { id, token: text(raw.token, 'token') };
}

const STATES: readonly unknown[] = ['open', 'pending', 'committed', 'aborted', 'unknown', 'forgotten', 'lost'];

function state(raw: unknown): TxState {
  if (STATES.includes(raw)) return raw as TxState;
  throw malformed('a frame whose status is none');
}

const parsers: { readonly [T in Incoming['type']]: (raw: Raw) => Incoming } = {
  values: (raw) => ({
    type: 'values',
    ...head(raw),
    snapshot: timestamp(raw.snapshot, 'snapshot'),
    ...deps(raw),
    values: array(raw.values, 'values').map(version),
  }),
  listed: (raw) => ({
    type: 'listed',
    ...head(raw),
    snapshot: timestamp(raw.snapshot, 'snapshot'),
    ...deps(raw),
    entries: array(raw.entries, 'entries').map(entry),
    next: raw.next === null ? null : text(raw.next, 'next'),
  }),
  started: (raw) => ({ type: 'started', ...head(raw), snapshot: timestamp(raw.snapshot, 'snapshot'), ...deps(raw) }),
  committed: (raw) => ({ type: 'committed', ...head(raw), ts: timestamp(raw.ts, 'ts'), ...deps(raw) }),
  got: (raw) => ({ type: 'got', ...head(raw), raw }),
  written: (raw) => ({ type: 'written', ...head(raw), raw }),
  aborted: (raw) => ({ type: 'aborted', ...head(raw) }),
  status: (raw) => ({
    type: 'status',
    ...head(raw),
    status: state(raw.status),
    ts: raw.ts === null ? null : timestamp(raw.ts, 'ts'),
  }),
  stable: (raw) => ({ type: 'stable', ...head(raw), ust: timestamp(raw.ust, 'ust') }),
  pong: (raw) => ({ type: 'pong', ...head(raw) }),
  welcome,
  error: errorFrame,
  ust: (raw) => ({
    type: 'ust',
    ust: timestamp(raw.ust, 'ust'),
    freshness: freshness(raw.freshness),
    ...unresponsive(raw),
  }),
  goaway: (raw) => ({
    type: 'goaway',
    reason: text(raw.reason, 'reason'),
    delayMs: count(raw.delayMs, 'delayMs'),
  }),
};

const isIncomingType = (type: string): type is Incoming['type'] => Object.hasOwn(parsers, type);

/** One frame from its decoded form. Throws FRAME_INVALID. */
export function parseFrame(raw: unknown): Incoming {
  const frame = object(raw, 'body');
  const type = text(frame.type, 'type');
  if (!isIncomingType(type)) throw malformed(`a frame of the unknown type ${JSON.stringify(type.slice(0, 40))}`);
  return parsers[type](frame);
}
