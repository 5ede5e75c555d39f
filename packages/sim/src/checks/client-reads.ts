import { compareVersions, type KeyWrite, type QualifiedKey, type StoredVersion } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { textOfSnapshot } from '../protocols/snapshot.js';
import type { Check, CheckContext } from './check.js';
import type { Ledger } from './ledger.js';
import type { ClientView, OwnWrite } from './observations.js';
import type { Visibility } from './visibility.js';

/**
 * A client's cache never hides a newer visible version, and never misses an own write: a read shows the transaction's
 * own write, else the newer of the snapshot's version and the session's earlier write (P7). Snapshots of a session
 * never fall.
 */
export class ClientReads implements Check {
  readonly name = 'client-reads';

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    readonly visibility: Visibility,
  ) {}

  snapshot({ session, txId, floor }: ClientView, snapshot: Snapshot): void {
    if (this.visibility.follows(floor, snapshot)) return;
    const [before, after] = [floor, snapshot].map(textOfSnapshot);
    this.#fail(`${session} was given the snapshot ${after} after ${before}`, txId, session);
  }

  read(client: ClientView, key: QualifiedKey, value: KeyWrite['value']): void {
    const wanted = this.#wanted(client, key);
    if (wanted.includes(value)) return;
    const { session, txId, snapshot } = client;
    const at = snapshot === undefined ? 'no snapshot' : textOfSnapshot(snapshot);
    this.#fail(`${session} reads ${key} as ${value} in ${txId} at ${at}, it should see ${wanted[0]}`, txId, key);
  }

  /**
   * The values that may be seen: one, unless a write was damaged, or the outcome of own writes is unknown to the
   * session.
   */
  #wanted({ written, own, inDoubt, snapshot }: ClientView, key: QualifiedKey): readonly KeyWrite['value'][] {
    const mine = written.get(key);
    if (mine !== undefined) return [mine];
    const shows = (version: StoredVersion) => snapshot !== undefined && this.visibility.shows(snapshot, version);
    const ones = this.ledger.visibleOnes(key, shows);
    const values = ones.map((version) => version?.value ?? null);
    const before = own.get(key);
    const isOwn = before !== undefined && isNewer(before, ones[0]);
    const later = this.#learnedLater(inDoubt.get(key) ?? [], isOwn ? versionOf(before) : ones[0]);
    if (!isOwn) return [...values, ...later];
    // The session may keep it although the cluster has lost it.
    return [before.value, ...(this.ledger.isDamaged(before.txId) ? values : []), ...later];
  }

  /**
   * The committed writes that win over the other versions: the session shows them once it has learned of the commit.
   */
  #learnedLater(writes: readonly Omit<OwnWrite, 'ct'>[], seen: Placed | undefined): KeyWrite['value'][] {
    return writes.flatMap(({ txId, value }) => {
      const ct = this.ledger.committed(txId)?.ct;
      return ct !== undefined && isNewer({ ct, txId, value }, seen) ? [value] : [];
    });
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}

/** A place in the order in which writes win. */
type Placed = Pick<StoredVersion, 'ts' | 'txId' | 'region'>;

const versionOf = ({ ct: ts, txId }: OwnWrite): Placed => ({ ts, txId, region: '' });

/** Whether an own write comes after a version in the order in which writes win. */
const isNewer = ({ ct, txId }: OwnWrite, shown: Placed | undefined): boolean =>
  shown === undefined || compareVersions({ ts: ct, txId, region: shown.region }, shown) > 0;
