import {
  type NodeId,
  type QualifiedKey,
  type Timestamp,
  type TxId,
  Update,
  type Value,
  type Version,
} from '@isochron/core';
import type { ReaderPlan } from '../../plan/plan.js';
import type { ChangesAnswer } from '../../protocols/http.js';
import type { Check, CheckContext } from '../check.js';
import { foldOf, textOf } from '../evidence/documents.js';
import type { Ledger } from '../evidence/ledger.js';

/** A document of a reader; before the first write of a key there is none. */
interface Copied {
  readonly version: Version | undefined;
  /** The transactions that were folded into it since it was read. */
  readonly by: readonly TxId[];
}

/**
 * A reader that has applied everything up to its cursor holds a consistent snapshot (CF1): the fold of the messages is
 * what a node of any region reads in the snapshot at the cursor. A key is compared once the reader knows its document:
 * from its first read, or from a put. Where a disk has lost a write of a key, the copy begins anew.
 */
export class FeedsMakeCopies implements Check {
  readonly name = 'feeds-make-copies';
  /** How many documents were compared. */
  compared = 0;
  readonly #copies = new Map<string, Map<QualifiedKey, Copied>>();

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {}

  feedBegan({ name }: ReaderPlan): void {
    this.#copies.set(name, new Map());
  }

  feedReceived({ name }: ReaderPlan, _node: NodeId, { transactions }: ChangesAnswer): void {
    const copy = this.#copyOf(name);
    for (const { txId, ct: ts, writes } of transactions) {
      for (const { key, value, after } of writes) {
        const written = { ts, txId, region: '', value };
        const before = copy.get(key);
        if (before === undefined && value instanceof Update) continue;
        const below = before?.version === undefined ? [] : [before.version];
        const copied = { version: foldOf([...below, written]), by: [...(before?.by ?? []), txId] };
        copy.set(key, copied);
        if (after !== undefined && after !== 'gone') this.#compareAfter(name, key, copied, after.document);
      }
    }
  }

  feedCompared(
    { name }: ReaderPlan,
    node: NodeId,
    at: Timestamp,
    versions: ReadonlyMap<QualifiedKey, Version | null>,
  ): void {
    const copy = this.#copyOf(name);
    for (const [key, version] of versions) {
      const own = copy.get(key);
      copy.set(key, { version: version ?? undefined, by: [] });
      if (own === undefined || this.#isUncertain(key, own)) continue;
      this.compared++;
      const [held, read] = [own.version?.value ?? null, version?.value ?? null];
      if (held !== read)
        this.#fail(`${name} has ${key} as ${textOf(held)} at ${at}, ${node} reads ${textOf(read)}`, key);
    }
  }

  /** An update's document is the one after itself, whatever else was written at its timestamp (CF3). */
  #compareAfter(name: string, key: QualifiedKey, own: Copied, given: Value | null): void {
    if (this.#isUncertain(key, own)) return;
    this.compared++;
    const held = own.version?.value ?? null;
    if (held !== given)
      this.#fail(`${name} has ${key} as ${textOf(held)} after ${own.by.at(-1)}, and receives ${textOf(given)}`, key);
  }

  #copyOf(reader: string): Map<QualifiedKey, Copied> {
    const copy = this.#copies.get(reader);
    if (copy === undefined) throw new Error(`${reader} has not begun`);
    return copy;
  }

  #isUncertain(key: QualifiedKey, { by }: Copied): boolean {
    if (!this.ledger.anyDamaged) return false;
    return [...by, ...this.ledger.chain(key).map(({ txId }) => txId)].some((txId) => this.ledger.isDamaged(txId));
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}
