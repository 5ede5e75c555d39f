/** Transactions of which a lost disk took a part (D10): operators see them until they have acknowledged them. */
import {
  boolean,
  type Infer,
  type MetaValue,
  type NodeId,
  object,
  type PartitionId,
  type QualifiedKey,
  type Timestamp,
  type TxId,
  timestamp,
  uint,
} from '@isochron/core';
import type { Effects } from '../../machine.js';
import { keys, node, partitions, txId } from './fields.js';

/** A transaction of which a lost disk took a part (D10). */
export const Loss = object({
  txId,
  /** Commit timestamp; for a transaction that was prepared and not known to be committed, its highest proposal. */
  ts: timestamp,
  attempt: uint,
  /** Whether a surviving cohort had committed it. Otherwise it may have been acknowledged or not. */
  committed: boolean,
  /** Whether the surviving part was taken back; false if readers may have seen it, so that it was kept. */
  takenBack: boolean,
  /** Node whose disk was lost. */
  node,
  /** Partitions whose writes are gone, and the keys that are known from the others. */
  partitions,
  keys,
  acknowledged: boolean,
  /** A later attempt of the transaction has committed (D4): it is no loss, and not reported. */
  overtaken: boolean,
});
export type Loss = Infer<typeof Loss>;

/** Name of the meta record. */
export const LOSSES_RECORD = 'losses';
/** Losses that are kept. */
const MAX_LOSSES = 10_000;

type Writes = Pick<Effects<never>, 'write'>;

/** A node's losses. They outlive a crash: every change is in the batch of the step that makes it. */
export class Losses {
  readonly #losses: Map<TxId, Loss>;
  #open: readonly Loss[];

  /**
   * @param meta contents of the disk's meta record `losses`
   * @param lost called in the step that adds losses, with new and changed ones; must not throw
   */
  constructor(
    meta: MetaValue | undefined,
    readonly lost: (losses: readonly Loss[]) => void = () => undefined,
  ) {
    this.#losses = new Map(lossesOf(meta).map((loss) => [loss.txId, loss]));
    this.#open = this.#withoutAcknowledged();
  }

  /** All losses, newest last. */
  get all(): readonly Loss[] {
    return this.records.filter(({ overtaken }) => !overtaken);
  }

  /** The same with those that were overtaken: the verdict about their attempt stands. */
  get records(): readonly Loss[] {
    return [...this.#losses.values()];
  }

  /** Those that no operator has acknowledged, newest last. */
  get open(): readonly Loss[] {
    return this.#open;
  }

  get(txId: TxId): Loss | undefined {
    const loss = this.#losses.get(txId);
    return loss?.overtaken ? undefined : loss;
  }

  /** A later attempt of the transaction has committed. */
  overtake(txId: TxId, out: Writes): void {
    const loss = this.get(txId);
    if (loss === undefined) return;
    this.#losses.set(txId, { ...loss, overtaken: true });
    this.#changed(out);
  }

  /** Whether the rest of a transaction that committed at `ts` was taken back. */
  isTakenBack(txId: TxId, ts: Timestamp): boolean {
    const loss = this.#losses.get(txId);
    return loss?.takenBack === true && loss.ts === ts;
  }

  /**
   * Adds losses and writes the meta record, as a whole: a step adds all of its losses in one call. A report that adds
   * nothing to a known loss changes nothing; one that does is merged with it and makes it open again.
   */
  add(losses: readonly Loss[], out: Writes): void {
    const changed = new Map<TxId, Loss>();
    for (const loss of losses) {
      const known = this.#losses.get(loss.txId);
      const merged = known === undefined ? loss : merge(known, loss);
      if (merged === known) continue;
      this.#losses.delete(loss.txId);
      this.#losses.set(loss.txId, merged);
      changed.set(loss.txId, merged);
    }
    if (changed.size === 0) return;
    this.#shrink();
    this.#changed(out);
    const reported = [...changed.values()].filter(({ overtaken }) => !overtaken);
    if (reported.length > 0) this.lost(reported);
  }

  /** Returns how many losses were open and are acknowledged now; unknown ids do not count. */
  acknowledge(txIds: readonly TxId[] | 'all', out: Writes): number {
    const named = txIds === 'all' ? undefined : new Set(txIds);
    const due = this.#open.filter(({ txId }) => named?.has(txId) ?? true);
    for (const loss of due) this.#losses.set(loss.txId, { ...loss, acknowledged: true });
    if (due.length > 0) this.#changed(out);
    return due.length;
  }

  #changed(out: Writes): void {
    this.#open = this.#withoutAcknowledged();
    out.write({ kind: 'meta', name: LOSSES_RECORD, value: metaOf(this.#losses.values()) });
  }

  #withoutAcknowledged(): Loss[] {
    return this.all.filter(({ acknowledged }) => !acknowledged);
  }

  /** The oldest acknowledged ones go first. */
  #shrink(): void {
    for (const droppable of [true, false]) {
      for (const { txId, acknowledged } of this.#losses.values()) {
        if (this.#losses.size <= MAX_LOSSES) return;
        if (acknowledged === droppable) this.#losses.delete(txId);
      }
    }
  }
}

/** Two reports of one transaction as one; `known` itself if the other adds nothing. */
function merge(known: Loss, loss: Loss): Loss {
  if (known.overtaken && !loss.overtaken) return isLater(loss, known) ? loss : known;
  if (loss.overtaken && !known.overtaken) return isLater(known, loss) ? known : loss;
  const merged: Loss = {
    ...known,
    ts: known.committed && !loss.committed ? known.ts : loss.committed ? loss.ts : Math.max(known.ts, loss.ts),
    attempt: Math.max(known.attempt, loss.attempt),
    committed: known.committed || loss.committed,
    // A part that was kept in one partition was not taken back.
    takenBack: known.takenBack && loss.takenBack,
    partitions: union(known.partitions, loss.partitions),
    keys: union(known.keys, loss.keys),
    acknowledged: false,
    overtaken: known.overtaken,
  };
  return SIMPLE.every((field) => merged[field] === known[field]) &&
    merged.partitions.length === known.partitions.length &&
    merged.keys.length === known.keys.length
    ? known
    : merged;
}

/** Whether a loss is that of a later attempt. A committed slice among copied data has lost its attempt (0). */
const isLater = (loss: Loss, other: Loss): boolean =>
  loss.attempt > other.attempt || (loss.committed && loss.ts > other.ts);

const SIMPLE = ['ts', 'attempt', 'committed', 'takenBack'] as const;

const union = <T>(a: readonly T[], b: readonly T[]): readonly T[] => [...new Set([...a, ...b])];

/** Flags of a loss as bits of one number. */
const FLAGS = ['committed', 'takenBack', 'acknowledged', 'overtaken'] as const;

/** Losses as a meta record holds them: timestamps by name, texts in the names. */
function metaOf(losses: Iterable<Loss>): MetaValue {
  const meta: Record<string, Timestamp> = {};
  let i = 0;
  for (const loss of losses) {
    meta[`${i}.tx.${loss.txId}`] = loss.ts;
    meta[`${i}.node.${loss.node}`] = loss.attempt;
    meta[`${i}.flags.`] = FLAGS.reduce((bits, flag, bit) => bits + (loss[flag] ? 2 ** bit : 0), 0);
    for (const partition of loss.partitions) meta[`${i}.partition.${partition}`] = partition;
    loss.keys.forEach((key, j) => {
      meta[`${i}.key.${key}`] = j;
    });
    i++;
  }
  return meta;
}

const NAME = /^(\d+)\.(tx|node|flags|partition|key)\.(.*)$/s;

/** The losses in a meta record. An entry that this version cannot read is left out. */
function lossesOf(meta: MetaValue | undefined): Loss[] {
  if (typeof meta !== 'object') return [];
  const drafts = new Map<number, Draft>();
  for (const [name, value] of Object.entries(meta)) {
    const [, i, field, text] = NAME.exec(name) ?? [];
    if (i === undefined) continue;
    const draft = drafts.get(Number(i)) ?? { partitions: [], keys: [] };
    drafts.set(Number(i), draft);
    fill(draft, field!, text!, value);
  }
  return [...drafts]
    .sort(([a], [b]) => a - b)
    .flatMap(([, draft]) => lossOf(draft) ?? [])
    .slice(-MAX_LOSSES);
}

/** A loss whose entries are being gathered. */
interface Draft {
  tx?: { readonly txId: TxId; readonly ts: Timestamp };
  node?: { readonly node: NodeId; readonly attempt: number };
  flags?: number;
  readonly partitions: PartitionId[];
  readonly keys: { readonly key: QualifiedKey; readonly at: number }[];
}

function fill(draft: Draft, field: string, text: string, value: number): void {
  if (field === 'tx') draft.tx = { txId: text, ts: value };
  else if (field === 'node') draft.node = { node: text, attempt: value };
  else if (field === 'flags') draft.flags = value;
  else if (field === 'partition') draft.partitions.push(value);
  else draft.keys.push({ key: text, at: value });
}

function lossOf({ tx, node, flags, partitions, keys }: Draft): Loss | undefined {
  if (tx === undefined || node === undefined || flags === undefined) return undefined;
  const is = (flag: (typeof FLAGS)[number]): boolean => Math.floor(flags / 2 ** FLAGS.indexOf(flag)) % 2 === 1;
  return {
    ...tx,
    ...node,
    committed: is('committed'),
    takenBack: is('takenBack'),
    partitions,
    keys: keys.sort((a, b) => a.at - b.at).map(({ key }) => key),
    acknowledged: is('acknowledged'),
    overtaken: is('overtaken'),
  };
}
