/**
 * The outcomes that clients received for their writes, compared with the final data of the cluster. Every entry has
 * keys that are written only once, so nothing can hide a loss.
 */
import type { TxId } from '@isochron/core';
import type { HistoryStatus } from '@isochron/workload';

/** One transaction's keys and values. */
export interface LedgerEntry {
  readonly name: string;
  /** Its transaction, if its client has the id. */
  readonly txId?: TxId | undefined;
  readonly writes: ReadonlyMap<string, string>;
  /** The outcome that its client received. */
  readonly status: HistoryStatus;
}

/** All keys of the ledger begin with this. */
export const LEDGER_PREFIX = 'ledger/';

/** Violations, one sentence each. */
export interface Audit {
  /** Acknowledged, and missing, at least in part. */
  readonly lost: readonly string[];
  /** Of unknown outcome, and present in part. */
  readonly torn: readonly string[];
  /** Reported as aborted, and present. */
  readonly undead: readonly string[];
  /** Present, and never written like this. */
  readonly alien: readonly string[];
  /** Entries of unknown outcome, by their final outcome. */
  readonly resolved: { readonly committed: number; readonly aborted: number };
}

/** Compares the ledger with the contents of one region. */
export function audit(entries: Iterable<LedgerEntry>, found: ReadonlyMap<string, unknown>): Audit {
  const lost: string[] = [];
  const torn: string[] = [];
  const undead: string[] = [];
  const resolved = { committed: 0, aborted: 0 };
  const written = new Map<string, string>();
  for (const { name, writes, status } of entries) {
    const missing = [...writes.keys()].filter((key) => !found.has(key));
    for (const [key, value] of writes) written.set(key, value);
    const sentence = `${name}: ${missing.length} of its ${writes.size} keys are missing: ${missing.join(', ')}`;
    if (status === 'committed' && missing.length > 0) lost.push(sentence);
    if (status === 'aborted' && missing.length < writes.size) undead.push(sentence);
    if (status !== 'unknown') continue;
    if (missing.length === 0) resolved.committed++;
    else if (missing.length === writes.size) resolved.aborted++;
    else torn.push(sentence);
  }
  return { lost, torn, undead, alien: aliens(written, found), resolved };
}

function aliens(written: ReadonlyMap<string, string>, found: ReadonlyMap<string, unknown>): string[] {
  const sentences: string[] = [];
  for (const [key, value] of found) {
    if (!key.startsWith(LEDGER_PREFIX) || written.get(key) === value) continue;
    sentences.push(`${key} is ${JSON.stringify(value)}, written was ${JSON.stringify(written.get(key))}`);
  }
  return sentences;
}
