/** The committed versions of every key, and the documents that readers may see of them. */
import {
  type Content,
  compareVersions,
  isPlain,
  type KeyWrite,
  type QualifiedKey,
  type StoredVersion,
  type TxId,
  Update,
  type Version,
} from '@isochron/core';
import { foldOf } from './documents.js';
import { type Possible, possibleFolds } from './possible-documents.js';
import type { CommittedTx } from './slices.js';

type Shows = (version: StoredVersion) => boolean;

export abstract class CommittedChains {
  readonly #chains = new Map<QualifiedKey, StoredVersion[]>();

  /** Whether a lost disk has taken the only copy of a part of it. */
  abstract isDamaged(txId: TxId): boolean;

  /** Whether a lost disk has taken the only copy of a part of any transaction. */
  abstract get anyDamaged(): boolean;

  get keys(): IterableIterator<QualifiedKey> {
    return this.#chains.keys();
  }

  /** All committed versions of a key, oldest first. */
  chain(key: QualifiedKey): readonly StoredVersion[] {
    return this.#chains.get(key) ?? [];
  }

  /** The fold of the versions of a key that are shown; tombstones too. */
  visible(key: QualifiedKey, shows: Shows): Version | undefined {
    const chain = this.chain(key);
    const newest = chain.findLast(shows);
    return newest === undefined || isPlain(newest) ? newest : foldOf(chain.filter(shows));
  }

  /** Whether a committed write has an effect: a late write has none where it is overtaken (F9). */
  hasEffect({ key, value }: KeyWrite, { ct, txId }: Pick<CommittedTx, 'ct' | 'txId'>): boolean {
    const isUpTo = ({ ts, txId: other }: StoredVersion) => ts < ct || (ts === ct && other <= txId);
    return value instanceof Update || this.visible(key, isUpTo)?.value === value;
  }

  /**
   * The possible folds of a key that a reader may see: one, or none, unless a transaction was damaged. Of more, those
   * that updates can turn into the document that was read, that one included, and at most one other.
   */
  visibleOnes(key: QualifiedKey, shows: Shows, read: Content): readonly Possible[] {
    if (!this.anyDamaged) return [this.visible(key, shows)];
    return possibleFolds(this.chain(key).filter(shows), ({ txId }) => this.isDamaged(txId), read);
  }

  /** Whether a version is the fold that a replica has put in place of an update or a late write (F3). */
  isFold(key: QualifiedKey, version: StoredVersion): boolean {
    const isBelow = (other: StoredVersion) => compareVersions(other, version) <= 0;
    const fold = this.visible(key, isBelow);
    return this.anyDamaged || (fold?.value === version.value && fold.at === version.at);
  }

  protected insert(key: QualifiedKey, version: StoredVersion): void {
    const chain = this.#chains.get(key);
    if (chain === undefined) {
      this.#chains.set(key, [version]);
      return;
    }
    let i = chain.length;
    while (i > 0 && compareVersions(chain[i - 1]!, version) > 0) i--;
    if (i === 0 || compareVersions(chain[i - 1]!, version) !== 0) chain.splice(i, 0, version);
  }

  protected retract(key: QualifiedKey, txId: TxId): void {
    const chain = this.chain(key);
    this.#chains.set(
      key,
      chain.filter((version) => version.txId !== txId),
    );
  }
}
