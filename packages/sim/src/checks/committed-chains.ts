/** The committed versions of every key, and the documents that readers may see of them. */
import {
  compareVersions,
  isPlain,
  type QualifiedKey,
  type StoredVersion,
  type TxId,
  type Version,
} from '@isochron/core';
import { foldOf } from './documents.js';

/** The newest version that is shown, and its place in the chain. */
interface Newest {
  readonly version: StoredVersion | undefined;
  readonly at: number;
}

/** Damaged updates of one key of which each may be there or not. */
const MAX_DAMAGED = 8;

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
    return this.#fold(key, shows, this.#newest(key, shows, Number.POSITIVE_INFINITY));
  }

  /** The possible folds of a key that a reader may see: one, or none, unless a transaction was damaged. */
  visibleOnes(key: QualifiedKey, shows: Shows): readonly (Version | undefined)[] {
    let newest = this.#newest(key, shows, Number.POSITIVE_INFINITY);
    if (!this.anyDamaged) return [this.#fold(key, shows, newest)];
    const ones = this.#folds(key, shows, newest);
    while (newest.version !== undefined && this.isDamaged(newest.version.txId)) {
      newest = this.#newest(key, shows, newest.at);
      ones.push(...this.#folds(key, shows, newest));
    }
    return ones;
  }

  /** Whether a version is the fold that a replica has put in place of an update (F3). */
  isFold(key: QualifiedKey, version: StoredVersion): boolean {
    const isBelow = (other: StoredVersion) => compareVersions(other, version) <= 0;
    return this.anyDamaged || this.visible(key, isBelow)?.value === version.value;
  }

  #fold(key: QualifiedKey, shows: Shows, { version, at }: Newest): Version | undefined {
    return version === undefined || isPlain(version)
      ? version
      : foldOf(
          this.chain(key)
            .slice(0, at + 1)
            .filter(shows),
        );
  }

  /** With each damaged version below the newest one, and without it. */
  #folds(key: QualifiedKey, shows: Shows, { version, at }: Newest) {
    if (version === undefined || isPlain(version)) return [version];
    const shown = this.chain(key)
      .slice(0, at + 1)
      .filter(shows);
    const damaged = shown
      .slice(0, -1)
      .filter(({ txId }) => this.isDamaged(txId))
      .slice(-MAX_DAMAGED);
    return Array.from({ length: 2 ** damaged.length }, (_, chosen) =>
      foldOf(shown.filter((one) => !damaged.includes(one) || (chosen >> damaged.indexOf(one)) % 2 === 1)),
    );
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

  /** The newest one before a place in the chain, and its own place. */
  #newest(key: QualifiedKey, shows: Shows, before: number): Newest {
    const chain = this.#chains.get(key) ?? [];
    let at = Math.min(chain.length, before) - 1;
    while (at >= 0 && !shows(chain[at]!)) at--;
    return { version: chain[at], at };
  }
}
