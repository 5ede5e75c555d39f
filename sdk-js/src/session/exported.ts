/** A session as data: to go on with it on another device, in a server, after a restart (D9). */
import { IsochronError } from '@isochron/core/errors';
import { isTimestamp } from '@isochron/core/hlc';
import { isTxId, type Timestamp, type TxId, type Value } from '@isochron/core/ids';
import type { SessionState } from '@isochron/protocols/kernel/transactions/session';
import type { WireSeen } from '@isochron/wire/session-frames';
import { fromBase64, toBase64 } from '../encoding.js';

/** `[qualified key, commit timestamp, transaction, value]`: JSON text, bytes as `{ bytes: base64 }`, null for a deletion. */
export type ExportedWrite = readonly [string, Timestamp, TxId, string | { readonly bytes: string } | null];

/** Everything that a session is. Plain JSON; treat it as opaque, and as a secret: the token is in it. */
export interface ExportedSession extends ExportedState {
  readonly version: 1;
  readonly token: string;
  /** Protocol of the cluster; absent for PaRiS. */
  readonly protocol?: string;
}

/** What the protocol's session remembers. */
export interface ExportedState {
  readonly ust: Timestamp;
  /** What it has seen beside `ust`, under protocols that have it. */
  readonly deps?: readonly Timestamp[];
  readonly hwt: Timestamp;
  /** Own writes that may not be stable yet. */
  readonly writes: readonly ExportedWrite[];
  /** What it has seen, under protocols of single operations. */
  readonly seen?: WireSeen;
}

/** What an exported session says, checked. */
export interface ImportedSession {
  readonly token: string;
  readonly protocol: string;
  readonly state: SessionState;
  /** Whatever it has seen beside, unchecked. */
  readonly seen: unknown;
}

/** Exports that name none are of this one. */
const UNNAMED = 'paris';

export function exportSession(state: ExportedState, token: string, protocol: string): ExportedSession {
  return { version: 1, token, ...(protocol === UNNAMED ? {} : { protocol }), ...state };
}

/** Own writes as data. */
export const exportWrites = (cache: SessionState['cache']): ExportedWrite[] =>
  cache.map(([key, { ct, txId, value }]) => [key, ct, txId, outward(value)]);

/** Validates an exported session. Throws TOKEN_INVALID. */
export function importSession(exported: ExportedSession | string): ImportedSession {
  const raw: unknown = typeof exported === 'string' ? parse(exported) : exported;
  if (typeof raw !== 'object' || raw === null) throw invalidSession('no object');
  const { version, token, protocol = UNNAMED, ust, deps, hwt, writes, seen } = raw as Readonly<Record<string, unknown>>;
  if (version !== 1 || typeof token !== 'string') throw invalidSession('another version, or no token');
  if (!isTimestamp(ust) || !isTimestamp(hwt) || !Array.isArray(writes)) throw invalidSession('a part is missing');
  if (typeof protocol !== 'string' || !isDeps(deps)) throw invalidSession('a part is damaged');
  return { token, protocol, state: { ust, deps, hwt, cache: writes.map(inward) }, seen };
}

const isDeps = (deps: unknown): deps is readonly Timestamp[] | undefined =>
  deps === undefined || (Array.isArray(deps) && deps.every(isTimestamp));

/** A session goes on in a cluster of its own protocol only. */
export const otherProtocol = (theirs: string, ours: string): IsochronError =>
  invalidSession(`it is of the protocol ${theirs}, the cluster runs ${ours}`);

const outward = (value: Value | null): ExportedWrite[3] =>
  value instanceof Uint8Array ? { bytes: toBase64(value) } : value;

function inward(raw: unknown): SessionState['cache'][number] {
  if (!Array.isArray(raw)) throw invalidSession('a write is no list');
  const [key, ct, txId, value] = raw as readonly unknown[];
  if (typeof key !== 'string' || !isTimestamp(ct) || typeof txId !== 'string' || !isTxId(txId))
    throw invalidSession('a write is damaged');
  return [key, { ct, txId, value: inwardValue(value) }];
}

function inwardValue(raw: unknown): Value | null {
  if (raw === null || typeof raw === 'string') return raw;
  const bytes = typeof raw === 'object' ? (raw as { bytes?: unknown }).bytes : undefined;
  if (typeof bytes !== 'string') throw invalidSession('a value is damaged');
  try {
    return fromBase64(bytes);
  } catch (cause) {
    throw invalidSession('bytes are not base64', cause);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidSession('it is not JSON', cause);
  }
}

/** The error of an exported session that makes no sense. */
export const invalidSession = (why: string, cause?: unknown): IsochronError =>
  new IsochronError('TOKEN_INVALID', `the exported session cannot be used: ${why}`, { cause });
