import {
  type Content,
  compareVersions,
  type KeyWrite,
  plainValue,
  type QualifiedKey,
  type StoredVersion,
  type Timestamp,
  type TxId,
  Update,
  type Value,
} from '@isochron/core';
import { laidOver, type Snapshot } from '@isochron/protocols';
import { textOfSnapshot } from '../../protocols/snapshot.js';
import type { Check, CheckContext } from '../check.js';
import type { Ledger } from '../evidence/ledger.js';
import type { ClientView, OwnWrite } from '../evidence/observations.js';
import { type Possible, possibleFolds } from '../evidence/possible-documents.js';
import type { Visibility } from '../evidence/visibility.js';

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
    const wanted = this.#wanted(client, key, value);
    if (wanted.includes(value)) return;
    const { session, txId, snapshot } = client;
    const at = snapshot === undefined ? 'no snapshot' : textOfSnapshot(snapshot);
    this.#fail(`${session} reads ${key} as ${value} in ${txId} at ${at}, it should see ${wanted[0]}`, txId, key);
  }

  /**
   * The values that may be seen: one, unless a write was damaged, or the outcome of own writes is unknown to the
   * session. Of more, those from which the one that was read can come.
   */
  #wanted(client: ClientView, key: QualifiedKey, read: Content): readonly Content[] {
    const mine = client.written.get(key);
    if (mine === undefined) return this.#below(client, key, read);
    if (!(mine instanceof Update)) return [mine];
    return this.#below(client, key, read).map((below) => laidOver(below, [{ value: mine }]) ?? null);
  }

  /** The same without own writes of the transaction. */
  #below({ own, inDoubt, snapshot }: ClientView, key: QualifiedKey, read: Content): readonly (Value | null)[] {
    const shows = (version: StoredVersion) => snapshot !== undefined && this.visibility.shows(snapshot, version);
    const ones = this.ledger.visibleOnes(key, shows, read);
    const before = this.#placed(own.get(key));
    const doubts = inDoubt.get(key) ?? [];
    if ([before, ...doubts].some((write) => write?.value instanceof Update))
      return valuesOf(this.#updated(ones, { before, doubts, snapshot }, read));
    const newest = this.ledger.visible(key, shows);
    const isOwn = before !== undefined && isNewer(before, newest);
    const later = this.#learnedLater(doubts, isOwn ? versionOf(before) : newest);
    if (!isOwn) return [...valuesOf(ones), ...later];
    // The session may keep it although the cluster has lost it.
    return [plainValue(before.value), ...(this.ledger.isDamaged(before.txId) ? valuesOf(ones) : []), ...later];
  }

  /**
   * The committed writes that win over the other versions: the session shows them once it has learned of the commit. A
   * transaction whose commit was lost with a disk may have been run again, at a later timestamp.
   */
  #learnedLater(writes: readonly Omit<OwnWrite, 'ct'>[], seen: Placed | undefined): (Value | null)[] {
    return writes.flatMap(({ txId, value }) => {
      const ct = this.#learnedAt(txId);
      if (ct === undefined) return [];
      return this.ledger.isDamaged(txId) || isNewer({ ct, txId, value }, seen) ? [plainValue(value)] : [];
    });
  }

  /**
   * Own writes above the snapshot, in their order, over the documents that it may show (F5): all that were
   * acknowledged, and any of those that were damaged, or whose outcome the session may have learned.
   */
  #updated(bases: readonly Possible[], { before, doubts, snapshot }: OwnWrites, read: Content): readonly Possible[] {
    const isAbove = ({ ct, txId }: OwnWrite) =>
      snapshot === undefined || !this.visibility.shows(snapshot, { ts: ct, txId, region: '', value: null });
    const sure: OwnWrite[] = [];
    for (let write = before; write !== undefined; write = this.#placed(write.before))
      if (isAbove(write)) sure.push(write);
    const unsure = doubts.flatMap(({ txId, value }) => {
      const ct = this.#learnedAt(txId);
      return ct !== undefined && isAbove({ ct, txId, value }) ? [{ ct, txId, value }] : [];
    });
    const open = new Set(
      [...unsure, ...sure.filter(({ txId }) => this.ledger.isDamaged(txId))].map(({ txId }) => txId),
    );
    const writes = [...sure, ...unsure].map(versionOf).sort(compareVersions);
    return possibleFolds(writes, ({ txId }) => open.has(txId), read, bases);
  }

  /** A write that a map has deferred lies above every snapshot until it is committed again (M10). */
  #placed(write: OwnWrite | undefined): OwnWrite | undefined {
    if (write === undefined || !this.ledger.isDeferred(write.txId)) return write;
    return { ...write, ct: this.ledger.committed(write.txId)?.ct ?? ABOVE_ALL + write.ct };
  }

  /** The timestamp of a write whose outcome the session may have learned. */
  #learnedAt(txId: TxId): Timestamp | undefined {
    const ct = this.ledger.acknowledgedAt(txId);
    return ct === undefined || this.ledger.committed(txId) !== undefined ? ct : ABOVE_ALL + ct;
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}

/** Added to the timestamps of deferred writes, which stay in their order. */
const ABOVE_ALL = 2 ** 52;

/** What a session knows of its writes of a key. */
interface OwnWrites extends Pick<ClientView, 'snapshot'> {
  readonly before: OwnWrite | undefined;
  readonly doubts: readonly Omit<OwnWrite, 'ct'>[];
}

/** A place in the order in which writes win. */
type Placed = Pick<StoredVersion, 'ts' | 'txId' | 'region'>;

const versionOf = ({ ct: ts, txId, value }: OwnWrite): StoredVersion => ({ ts, txId, region: '', value });

const valuesOf = (versions: readonly Possible[]) => versions.map((version) => version?.value ?? null);

/** Whether an own write comes after a version in the order in which writes win. */
const isNewer = ({ ct, txId }: OwnWrite, shown: Placed | undefined): boolean =>
  shown === undefined || compareVersions({ ts: ct, txId, region: shown.region }, shown) > 0;
