/** A session as data: to go on with it on another device, in a server, after a restart (D9). */
import type { Content, QualifiedKey, Timestamp, TxId } from '@isochron/core/ids';
import { Update } from '@isochron/core/updates/update';
import type { OwnState } from '@isochron/protocols/kernel/transactions/own-commits';
import type { SessionState } from '@isochron/protocols/kernel/transactions/session';
import type { WireSeen, WireUpdate } from '@isochron/wire/session-frames';
import { toBase64 } from '../encoding.js';

/**
 * `[qualified key, commit timestamp, transaction, value]`: JSON text, bytes as `{ bytes: base64 }`, an update as
 * `{ operations: JSON text }`, null for a deletion. The writes of a key are in the order of their timestamps.
 */
export type ExportedWrite = readonly [string, Timestamp, TxId, string | { readonly bytes: string } | WireUpdate | null];

/** A commit that may not be stable: with its attempts, so that it can be sent again. */
export interface ExportedCommit extends Omit<OwnState, 'sent'> {
  readonly sent: Omit<OwnState['sent'], 'writes'> & {
    readonly writes: readonly (readonly [QualifiedKey, ExportedWrite[3]])[];
  };
}

/** The whole state of a session. Plain JSON; treat it as opaque, and as a secret: the token is in it. */
export interface ExportedSession extends ExportedState {
  readonly version: 1;
  readonly token: string;
  /** Protocol of the cluster; absent for PaRiS. */
  readonly protocol?: string;
}

/** The state of the protocol's session. */
export interface ExportedState {
  readonly ust: Timestamp;
  /** The entries beside `ust`, under protocols that have them. */
  readonly deps?: readonly Timestamp[];
  readonly hwt: Timestamp;
  /** Own writes that may not be stable yet. */
  readonly writes: readonly ExportedWrite[];
  /** The commits of these writes; absent where the session does not judge them (M10). */
  readonly commits?: readonly ExportedCommit[];
  /** The session's state under protocols of single operations. */
  readonly seen?: WireSeen;
}

/** An exported session, checked. */
export interface ImportedSession {
  readonly token: string;
  readonly protocol: string;
  readonly state: SessionState;
  /** The protocol's further state, unchecked. */
  readonly seen: unknown;
}

export function exportSession(state: ExportedState, token: string, protocol: string): ExportedSession {
  return { version: 1, token, ...(protocol === 'paris' ? {} : { protocol }), ...state };
}

/** Own writes as data. */
export const exportWrites = (cache: SessionState['cache']): ExportedWrite[] =>
  cache.map(([key, { ct, txId, value }]) => [key, ct, txId, outward(value)]);

/** Commits as data. */
export const exportCommits = (own: readonly OwnState[]): ExportedCommit[] =>
  own.map(({ sent, ...rest }) => ({
    ...rest,
    sent: { ...sent, writes: sent.writes.map(({ key, value }) => [key, outward(value)]) },
  }));

function outward(content: Content): ExportedWrite[3] {
  if (content instanceof Update) return { operations: content.operations };
  return content instanceof Uint8Array ? { bytes: toBase64(content) } : content;
}
