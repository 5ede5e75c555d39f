/** A session that another client exported, checked (D9). */
import type { Content, Timestamp, TxId } from '@isochron/core/ids';
import type { KeyWrite } from '@isochron/core/versions';
import type { OwnState } from '@isochron/protocols/kernel/transactions/own-commits';
import type { SessionState } from '@isochron/protocols/kernel/transactions/session';
import type { Parse } from '../link/frames.js';
import type { ExportedSession, ImportedSession } from './exported.js';
import type { ClientKit } from './kit.js';

/**
 * Validates an exported session. It takes the shared code from the kit, and imports none of it: few applications load
 * this file.
 *
 * @throws IsochronError TOKEN_INVALID
 */
export function importSession(
  exported: ExportedSession | string,
  { invalidSession, isTxId, updateOf, parts }: ClientKit,
): ImportedSession {
  const { anything, array, listOf, optional, shape, text, timestamp, timestamps, value } = parts;

  const txId: Parse<TxId> = (raw, name) => {
    const id = text(raw, name);
    if (!isTxId(id)) throw invalidSession('a transaction id is damaged');
    return id;
  };

  const update = shape<{ operations: string | undefined }>({ operations: optional(text) });

  const content: Parse<Content> = (raw, name) => {
    if (raw === null) return null;
    const operations = typeof raw === 'string' ? undefined : update(raw, name).operations;
    return operations === undefined ? value(raw, name) : updateOf(operations);
  };

  const write: Parse<SessionState['cache'][number]> = (raw, name) => {
    const [key, ct, id, written] = array(raw, name);
    const cached = { ct: timestamp(ct, name), txId: txId(id, name), value: content(written, name) };
    return [text(key, name), cached];
  };

  const attempt = shape<OwnState['attempts'][number]>({ home: text, avoid: listOf(text), map: timestamp });

  const sentWrite: Parse<KeyWrite> = (raw, name) => {
    const [key, written] = array(raw, name);
    return { key: text(key, name), value: content(written, name) };
  };

  const sent = shape<OwnState['sent']>({
    txId,
    snapshot: timestamp,
    deps: optional(timestamps),
    hwt: timestamp,
    sentAfter: timestamp,
    writes: listOf(sentWrite),
  });

  const commit = shape<OwnState>({
    sent,
    attempts: listOf(attempt),
    acknowledged: timestamp,
    ct: timestamp,
    map: optional(timestamp),
    nodes: optional(listOf(timestamp)),
    isDeferred: (raw) => raw === true,
  });

  const session = shape<{
    version: unknown;
    token: string;
    protocol: string | undefined;
    ust: Timestamp;
    deps: readonly Timestamp[] | undefined;
    hwt: Timestamp;
    writes: SessionState['cache'];
    commits: readonly OwnState[] | undefined;
    seen: unknown;
  }>({
    version: anything,
    token: text,
    protocol: optional(text),
    ust: timestamp,
    deps: optional(timestamps),
    hwt: timestamp,
    writes: listOf(write),
    commits: optional(listOf(commit)),
    seen: anything,
  });

  try {
    const raw: unknown = typeof exported === 'string' ? JSON.parse(exported) : exported;
    const { version, token, protocol = 'paris', ust, deps, hwt, writes, commits, seen } = session(raw, 'session');
    if (version !== 1) throw invalidSession('it has another version');
    return { token, protocol, state: { ust, deps, hwt, cache: writes, own: commits ?? [] }, seen };
  } catch (cause) {
    throw invalidSession('a part is missing or damaged, or it has another version', cause);
  }
}
