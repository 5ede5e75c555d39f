/**
 * The readers checks of one replica: before a version becomes visible, every partition that it depends on reports the
 * old readers of its dependencies, once those are there (COPS-SNOW; Contrarian, section 3). A PUT waits for the
 * answers; an update of a peer, whose dependency checks these are too, waits at the gate.
 */
import type { Dependency, PartitionId, QualifiedKey, Timestamp, TxId, Version, WallMs } from '@isochron/core';
import type { OperationMessage, Reader, ReadersCheckReq } from '../kernel/operations/messages.js';
import { byPartition } from '../kernel/operations/named.js';
import type { ReplicaView } from '../kernel/operations/protocol.js';
import type { Matter } from '../kernel/operations/replica-asks.js';
import type { Address, Effects } from '../machine.js';
import { KEPT, type ReadersRecords } from './readers.js';

type Out = Effects<OperationMessage>;

/** A check that is under way, or done and not used yet. */
interface ReadersCheck {
  readonly since: WallMs;
  readonly matter: Matter;
  readonly readers: Reader[];
  /** Partitions that have not answered. */
  open: number;
  readonly ready: (() => void)[];
}

export class ReadersChecks {
  readonly counters = { readersChecks: 0, readersCheckIds: 0, dependencies: 0, dependencyChecks: 0 };
  readonly #checks = new Map<TxId, ReadersCheck>();
  /** Questions to other partitions. */
  #asked = 0;

  constructor(
    readonly replica: ReplicaView,
    readonly records: ReadersRecords,
  ) {}

  get size(): number {
    return this.#checks.size;
  }

  /** Begins the check of a PUT, unless it is under way. Returns whether it is done. */
  begin(txId: TxId, depends: readonly Dependency[], now: WallMs, out: Out): boolean {
    const check = this.#checks.get(txId) ?? this.#ask(txId, depends, now, out);
    return check === undefined || check.open === 0;
  }

  /** The same for an update of a peer. */
  beginUpdate(txId: TxId, depends: readonly Dependency[], ready: () => void, now: WallMs, out: Out): void {
    this.counters.dependencies += depends.length;
    const asked = this.#asked;
    if (this.begin(txId, depends, now, out)) ready();
    else this.#checks.get(txId)!.ready.push(ready);
    this.counters.dependencyChecks += this.#asked - asked;
  }

  /**
   * A version becomes visible: its old readers are those that its check has brought, and those in this partition now.
   */
  take({ txId, depends = [] }: Version): readonly Reader[] {
    if (depends.length === 0) return [];
    const { partition, replication } = this.replica;
    const own = byPartition(depends, replication.state.topology).get(partition)?.keys ?? [];
    const readers = [...(this.#checks.get(txId)?.readers ?? []), ...this.#oldReaders([...own])];
    this.drop(txId);
    this.counters.readersChecks++;
    this.counters.readersCheckIds += readers.length;
    return readers;
  }

  drop(txId: TxId): void {
    const check = this.#checks.get(txId);
    if (check === undefined) return;
    this.#checks.delete(txId);
    this.replica.asks.end(check.matter);
  }

  /** Removes checks of PUTs that are no longer requested. */
  expire(before: WallMs): void {
    for (const [txId, { since, ready }] of this.#checks) if (since < before && ready.length === 0) this.drop(txId);
  }

  /** Another replica of the region asks: it gets one answer, when the dependencies are here. */
  onRequest({ ref, keys, needs }: ReadersCheckReq, now: WallMs, from: Address, out: Out): void {
    const answer = (later: Out) => later.send(from, { type: 'ReadersCheckResp', ref, readers: this.#oldReaders(keys) });
    this.replica.checks.wait(`${from.node}/${from.machine}/${ref}`, needs, (_at, later) => answer(later), now, out);
  }

  /** Asks every other partition; undefined where there is no other. */
  #ask(txId: TxId, depends: readonly Dependency[], now: WallMs, out: Out): ReadersCheck | undefined {
    const { partition: own, replication, asks } = this.replica;
    const asked = byPartition(depends, replication.state.topology);
    asked.delete(own);
    if (asked.size === 0) return undefined;
    const check: ReadersCheck = { since: now, matter: asks.matter(), readers: [], open: asked.size, ready: [] };
    this.#checks.set(txId, check);
    for (const [partition, { keys, needs }] of asked) this.#askOther(check, partition, [...keys], needs, now, out);
    return check;
  }

  #askOther(
    check: ReadersCheck,
    partition: PartitionId,
    keys: readonly QualifiedKey[],
    needs: readonly Timestamp[],
    now: WallMs,
    out: Out,
  ): void {
    this.#asked++;
    this.replica.asks.ask(
      check.matter,
      partition,
      (ref) => ({ type: 'ReadersCheckReq', ref, partition, keys, needs }),
      'ReadersCheckResp',
      ({ readers }, _at, later) => this.#answered(check, readers, later),
      now,
      out,
    );
  }

  /** A later incarnation of this node has none of them: it begins when their time is over. */
  #answered(check: ReadersCheck, readers: readonly Reader[], out: Out): void {
    check.readers.push(...readers);
    const { clock } = this.replica.replication.state;
    for (const { at } of readers) clock.reserve(at + KEPT, out);
    check.open--;
    if (check.open === 0) for (const ready of check.ready) ready();
  }

  #oldReaders(keys: readonly QualifiedKey[]): Reader[] {
    return this.records.oldReaders(keys, this.replica.replication.state.clock.last - KEPT);
  }
}
