/**
 * What clients were told about their writes, and whether that is what the cluster holds in the end. Every entry has keys of its own that
 * nobody writes again, so nothing can hide a loss.
 */
import type { TxId } from '@isochron/core';
import type { HistoryStatus } from '@isochron/workload';

/** One transaction's keys and values. */
export interface LedgerEntry {
  readonly name: string;
  /** Its transaction, where its client knows it. */
  readonly txId?: TxId | undefined;
  readonly writes: ReadonlyMap<string, string>;
  /** What its client was told. */
  readonly status: HistoryStatus;
}

/** All keys of the ledger begin with this. */
export const LEDGER_PREFIX = 'ledger/';

/** What does not fit, one sentence each. */
export interface Audit {
  /** Acknowledged, and not there, or not all of it. */
  readonly lost: readonly string[];
  /** Of unknown outcome, and there in part. */
  readonly torn: readonly string[];
  /** Said to be aborted, and there. */
  readonly undead: readonly string[];
  /** There, and never written so. */
  readonly alien: readonly string[];
  /** Entries of unknown outcome, by what became of them. */
  readonly resolved: { readonly committed: number; readonly aborted: number };
}

/** Compares what was told with what one region shows. */
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
