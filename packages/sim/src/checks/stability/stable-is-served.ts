import {
  compareVersions,
  type KeyWrite,
  type QualifiedKey,
  type StoredVersion,
  type Timestamp,
  type TxId,
} from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { textOfSnapshot } from '../../protocols/snapshot.js';
import type { Check, CheckContext } from '../check.js';
import { writeIn } from '../evidence/documents.js';
import type { Ledger } from '../evidence/ledger.js';
import type { ClientView } from '../evidence/observations.js';
import type { Visibility } from '../evidence/visibility.js';

/** An answer to a client: every node of every region serves this transaction. */
interface Served {
  readonly txId: TxId;
  readonly ct: Timestamp;
  readonly keys: readonly QualifiedKey[];
}

/**
 * After an answer that every node serves a transaction, each transaction that begins later, in any region, sees it: its
 * snapshot has it, and a read of its keys shows it or a newer version. Excused are transactions that lost disks have
 * damaged, violations while a node goes on with an older disk that no peer has noticed, and transactions that begin
 * while a node is no member: such a node may be behind.
 */
export class StableIsServed implements Check {
  readonly name = 'stable-is-served';
  readonly #served: Served[] = [];
  /** How many such answers there were when a transaction began. */
  readonly #begun = new WeakMap<ClientView, number>();

  /** @param visibility the versions that snapshots show; undefined if reads do not follow them */
  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    readonly visibility: Pick<Visibility, 'lowest'> | undefined,
    readonly allAreMembers: () => boolean,
  ) {}

  served(txId: TxId, ct: Timestamp, keys: readonly QualifiedKey[]): void {
    this.#served.push({ txId, ct, keys });
  }

  began(client: ClientView): void {
    if (!this.ledger.anyUnaware && this.allAreMembers() && !this.#isBehind(client))
      this.#begun.set(client, this.#served.length);
  }

  /** A session whose writes were deferred reads nothing newer before it has committed them again (M10). */
  #isBehind({ own }: ClientView): boolean {
    return [...own.values()].some(({ txId }) => this.ledger.isDeferred(txId));
  }

  snapshot(client: ClientView, snapshot: Snapshot): void {
    if (this.visibility === undefined) return;
    const lowest = this.visibility.lowest(snapshot);
    const missed = this.#servedBefore(client).find(({ ct }) => ct > lowest);
    if (missed === undefined) return;
    const { session, txId } = client;
    const order = `${missed.txId} of ${missed.ct} was called served everywhere before`;
    this.#fail(`${session} begins ${txId} at ${textOfSnapshot(snapshot)}, and ${order}`, txId, missed.txId, session);
  }

  read(client: ClientView, key: QualifiedKey, value: KeyWrite['value']): void {
    if (client.written.has(key)) return;
    for (const { txId } of this.#servedBefore(client).filter(({ keys }) => keys.includes(key))) {
      const written = this.ledger.chain(key).find((version) => version.txId === txId);
      // A late write yields to later changes (F9): other checks show to which.
      if (written === undefined || written.at !== undefined || this.#mayShow(key, value, written)) continue;
      const { session, txId: reader } = client;
      const order = `${txId} of ${written.ts} was called served everywhere before`;
      this.#fail(`${session} reads ${key} as ${value} in ${reader}, and ${order}`, reader, txId, key);
    }
  }

  /** Whether the value is the version's, or a newer one's. */
  #mayShow(key: QualifiedKey, value: KeyWrite['value'], written: StoredVersion): boolean {
    const shown = this.ledger.chain(key).filter((version) => writeIn(version.value) === writeIn(value));
    const isNewer = (version: StoredVersion) =>
      compareVersions(version, written) >= 0 || this.ledger.isDamaged(version.txId);
    // A value that no disk has belongs to another check; a deletion may leave no version at all.
    return shown.some(isNewer) || (shown.length === 0 && value !== null);
  }

  /** The transactions that were served everywhere when the client's transaction began, and are not excused. */
  #servedBefore(client: ClientView): Served[] {
    // Its writes may have been deferred after it began.
    if (this.#isBehind(client)) this.#begun.delete(client);
    const count = this.#begun.get(client) ?? 0;
    if (count === 0 || this.ledger.anyUnaware) return [];
    return this.#served.slice(0, count).filter(({ txId }) => !this.ledger.isDamaged(txId));
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}
