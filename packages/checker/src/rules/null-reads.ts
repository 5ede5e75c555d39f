import { NONE } from '../input/indexed-history.js';
import type { Analysis } from '../order/analysis.js';
import type { VisibilityRule } from './visibility-rule.js';

/** The reads of null whose reader must see some write of the key. */
export interface NullReads {
  /** Those without an explanation. */
  readonly stale: number[];
  /** Those that only one delete explains, with that operation. */
  readonly explained: Map<number, number>;
}

/**
 * A read of null saw either the state before any write, or a delete; the history does not show which. When the reader
 * must see some write of the key, it was a delete that happened neither after the reader nor before such a write. If
 * only one is left, that is the one it saw.
 */
export function resolveNullReads(analysis: Analysis, rule: VisibilityRule, nullReads: readonly number[]): NullReads {
  const { reads } = analysis;
  const found: NullReads = { stale: [], explained: new Map() };
  for (const read of nullReads) {
    if (reads.write[read] !== NONE) continue;
    const [reader, key] = [reads.tx.at(read), reads.key.at(read)];
    // No read observed these deletes, so they may have happened at any time.
    if (analysis.unseenDeletes.has(key)) continue;
    const past = rule.past(reader, key, NONE);
    if (past.length === 0) continue;
    const deleters = possibleDeleters(analysis, reader, key, past);
    if (deleters.length === 0) found.stale.push(read);
    else if (deleters.length === 1) found.explained.set(read, analysis.history.finalWrite(deleters[0]!, key));
  }
  return found;
}

/** Up to two transactions whose delete of a key a reader may have seen, although it must see those of `past`. */
function possibleDeleters(analysis: Analysis, reader: number, key: number, past: readonly number[]): number[] {
  const { deletes, clocks } = analysis;
  const found: number[] = [];
  const offer = (deleter: number): boolean => {
    if (deleter !== reader && !clocks.before(reader, deleter)) found.push(deleter);
    return found.length < 2;
  };
  for (let run = deletes.keyStart[key]!; run < deletes.keyStart[key + 1]!; run++) {
    const session = deletes.runSession.at(run);
    const overwritten = past.reduce((most, other) => Math.max(most, clocks.count(other, session)), 0);
    // Transactions behind the first one that happened after the reader did so too.
    for (const deleter of deletes.from(run, overwritten).subarray(0, 2)) if (!offer(deleter)) return found;
  }
  for (const deleter of deletes.indeterminate(key)) {
    const isOverwritten = past.some((other) => clocks.before(deleter, other));
    if (!isOverwritten && !offer(deleter)) return found;
  }
  return found;
}
