/** A session as data: to go on with it on another device, in a server, after a restart (D9). */
import { IsochronError } from '@isochron/core/errors';
import { isTimestamp } from '@isochron/core/hlc';
import { isTxId, type Timestamp, type TxId, type Value } from '@isochron/core/ids';
import type { ParisSession, SessionState } from '@isochron/protocols/paris/session';
import { fromBase64, toBase64 } from '../encoding.js';

/** `[qualified key, commit timestamp, transaction, value]`: JSON text, bytes as `{ bytes: base64 }`, null for a deletion. */
export type ExportedWrite = readonly [string, Timestamp, TxId, string | { readonly bytes: string } | null];

/** Everything that a session is. Plain JSON; treat it as opaque, and as a secret: the token is in it. */
export interface ExportedSession {
  readonly version: 1;
  readonly token: string;
  readonly ust: Timestamp;
  readonly hwt: Timestamp;
  /** Own writes that may not be stable yet. */
  readonly writes: readonly ExportedWrite[];
}

type State = Pick<SessionState, 'ust' | 'hwt' | 'cache'>;

export function exportSession(session: ParisSession, token: string): ExportedSession {
  const { ust, hwt, cache } = session.export();
  const writes = cache.map(([key, { ct, txId, value }]): ExportedWrite => [key, ct, txId, outward(value)]);
  return { version: 1, token, ust, hwt, writes };
}

/** Validates an exported session. Throws TOKEN_INVALID. */
export function importSession(exported: ExportedSession | string): { token: string; state: State } {
  const raw: unknown = typeof exported === 'string' ? parse(exported) : exported;
  if (typeof raw !== 'object' || raw === null) throw invalid('no object');
  const { version, token, ust, hwt, writes } = raw as Readonly<Record<string, unknown>>;
  if (version !== 1 || typeof token !== 'string') throw invalid('another version, or no token');
  if (!isTimestamp(ust) || !isTimestamp(hwt) || !Array.isArray(writes)) throw invalid('a part is missing');
  return { token, state: { ust, hwt, cache: writes.map(inward) } };
}

const outward = (value: Value | null): ExportedWrite[3] =>
  value instanceof Uint8Array ? { bytes: toBase64(value) } : value;

function inward(raw: unknown): State['cache'][number] {
  if (!Array.isArray(raw)) throw invalid('a write is no list');
  const [key, ct, txId, value] = raw as readonly unknown[];
  if (typeof key !== 'string' || !isTimestamp(ct) || typeof txId !== 'string' || !isTxId(txId))
    throw invalid('a write is damaged');
  return [key, { ct, txId, value: inwardValue(value) }];
}

function inwardValue(raw: unknown): Value | null {
  if (raw === null || typeof raw === 'string') return raw;
  const bytes = typeof raw === 'object' ? (raw as { bytes?: unknown }).bytes : undefined;
  if (typeof bytes !== 'string') throw invalid('a value is damaged');
  try {
    return fromBase64(bytes);
  } catch (cause) {
    throw invalid('bytes are not base64', cause);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid('it is not JSON', cause);
  }
}

const invalid = (why: string, cause?: unknown): IsochronError =>
  new IsochronError('TOKEN_INVALID', `the exported session cannot be used: ${why}`, { cause });
