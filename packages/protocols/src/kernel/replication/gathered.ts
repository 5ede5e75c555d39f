import type { KeyWrite, PartitionId, QualifiedKey, RegionId, StoredVersion, Timestamp, TxId } from '@isochron/core';
import type { Effects } from '../../machine.js';
import type { CopyResp, ReplicationMessage } from './messages.js';
import { receivedOutcome } from './receiver.js';
import type { RebuiltReplica } from './replica-state.js';
import { copiedUnder, type UnstableTx } from './unstable.js';

type Out = Effects<ReplicationMessage>;

/** An own transaction, as far as its versions show it. */
interface OwnTx extends Pick<StoredVersion, 'txId' | 'deps' | 'depends' | 'siblings' | 'at'> {
  readonly ct: Timestamp;
  /** Where peers keep the outcome (`CopiedVersion`). */
  readonly attempt: number | undefined;
  readonly writes: Map<QualifiedKey, KeyWrite>;
}

/** The data that a node without trustworthy data has copied for one of its replicas (D10, `rebuild.ts`). */
export class Gathered {
  readonly #vector = new Map<RegionId, Timestamp>();
  /**
   * The newest received version of each other region: it was on that region's disk, which may have been rolled back
   * since.
   */
  readonly #highestGroups = new Map<RegionId, Timestamp>();
  #gcFloor: Timestamp = 0;
  /** Own transactions that some peer may lack, and of which some cohort may ask for the outcome, by their names. */
  readonly #own = new Map<string, OwnTx>();
  /** The transactions of all regions above the stable times of the sources, by their names. */
  readonly #unstable = new Map<string, UnstableTx>();
  /** The newest own version that every peer has: the new log begins after it. */
  #everywhereOwn: Timestamp = 0;
  /** The lowest version of the maps that the sources had adopted. */
  #map = Number.POSITIVE_INFINITY;

  constructor(
    readonly partition: PartitionId,
    readonly region: RegionId,
    /** The highest version clock that any node received from this replica: the replica sourced no version above. */
    readonly clock: Timestamp,
    /** Every node has the own versions up to here. */
    readonly everywhere: Timestamp,
    /** Versions of other regions are taken up to here. */
    readonly others: Timestamp,
  ) {}

  /** The newest own transaction that some peer may lack; 0 if there is none. */
  get newest(): Timestamp {
    return Math.max(0, ...[...this.#own.values()].map(({ ct }) => ct));
  }

  /**
   * Writes the versions of a part of a page.
   * @param source the region whose versions were requested; null for all
   * @returns how many versions
   */
  take(page: CopyResp, source: RegionId | null, out: Out): number {
    const { partition, region } = this;
    // The first page's vector: the versions that it covers are in this page or in a later one.
    if (source === null && this.#vector.size === 0)
      for (const entry of page.vector) this.#vector.set(entry.region, Math.min(entry.ts, this.others));
    this.#gcFloor = Math.max(this.#gcFloor, page.gcFloor);
    const { map = 0 } = page;
    this.#map = Math.min(this.#map, map);
    for (const one of page.unstable ?? []) {
      const name = nameOf(one.ct, one.tx.txId);
      this.#unstable.set(name, { ...one, map: Math.max(map, this.#unstable.get(name)?.map ?? 0) });
    }
    const isTaken = ({ region: of, ts }: StoredVersion) => of === region || ts <= this.others;
    const taken = page.versions.filter(({ version }) => isTaken(version));
    for (const { key, version, attempt } of taken) {
      out.write({ kind: 'version', partition, key, version });
      if (version.region === region) this.#takeOwn(key, version, attempt);
      else if (version.ts <= (this.#vector.get(version.region) ?? 0)) {
        const highest = this.#highestGroups.get(version.region) ?? 0;
        this.#highestGroups.set(version.region, Math.max(version.ts, highest));
      }
    }
    return taken.length;
  }

  #takeOwn(key: QualifiedKey, version: StoredVersion, attempt: number | undefined): void {
    const { ts, txId, value, deps, depends, siblings, at } = version;
    if (ts <= this.everywhere) {
      this.#everywhereOwn = Math.max(this.#everywhereOwn, ts);
      return;
    }
    const name = nameOf(ts, txId);
    const tx = this.#own.get(name) ?? { ct: ts, txId, deps, depends, siblings, at, attempt, writes: new Map() };
    this.#own.set(name, { ...tx, attempt: tx.attempt ?? attempt });
    tx.writes.set(key, { key, value });
  }

  /** Everything is copied: writes what the replica needs to continue. */
  finish(forgottenUpTo: Timestamp, out: Out): RebuiltReplica {
    const { partition, region } = this;
    const [vector, highestGroups, gcFloor] = [this.#vector, this.#highestGroups, this.#gcFloor];
    // A fragment lies above the versions that any node has received whole; the rest of it will not come.
    vector.set(region, Math.max(this.clock, vector.get(region) ?? 0, this.newest));
    for (const [name, { ct, writes, ...rest }] of this.#own) {
      const tx = { ...rest, writes: [...writes.values()], needs: this.#unstable.get(name)?.tx.needs };
      out.write({
        kind: 'applied',
        partition,
        ct,
        tx,
        region,
        log: 'own',
        outcome: { attempt: tx.attempt ?? 0, digest: null },
      });
    }
    const unstable = [...this.#unstable.values()];
    for (const { ct, region: source, tx } of unstable)
      if (source !== region && ct <= (vector.get(source) ?? 0)) {
        const outcome = receivedOutcome(tx);
        out.write({ kind: 'applied', partition, ct, tx, region: source, log: 'received', outcome });
      }
    const truncatedUpTo = this.#everywhereOwn;
    out.write({ kind: 'meta', name: `vv/${partition}`, value: Object.fromEntries(vector) });
    out.write({ kind: 'meta', name: `highestGroups/${partition}`, value: Object.fromEntries(highestGroups) });
    out.write({ kind: 'meta', name: copiedUnder(partition), value: Number.isFinite(this.#map) ? this.#map : 0 });
    out.write({ kind: 'horizon', partition, horizon: 'gcFloor', upTo: gcFloor });
    out.write({ kind: 'horizon', partition, horizon: 'logTruncatedUpTo', upTo: truncatedUpTo });
    out.write({ kind: 'horizon', partition, horizon: 'forgottenUpTo', upTo: forgottenUpTo });
    return { vector, highestGroups, gcFloor, forgottenUpTo, unstable, logged: this.newest, truncatedUpTo };
  }
}

const nameOf = (ct: Timestamp, txId: TxId): string => `${ct}/${txId}`;
