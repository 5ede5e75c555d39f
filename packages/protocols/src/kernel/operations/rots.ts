/**
 * One-shot read-only transactions, as the client's node drives them: this node chooses the snapshot, or one of the
 * partitions read does (one round more), and then every partition is asked in parallel.
 */
import {
  type Deps,
  type PartitionId,
  type QualifiedKey,
  type Timestamp,
  TransientMap,
  type TxId,
  type Version,
  type WallMs,
} from '@isochron/core';
import type { Effects } from '../../machine.js';
import type { Addresses, NodeState } from '../node-state.js';
import { Waiting } from '../waiting.js';
import type { Asks, Requester } from './asks.js';
import type { OperationMessage } from './messages.js';
import type { Demand, OperationRules } from './protocol.js';
import { shown } from './versions.js';

type Out = Effects<OperationMessage>;

/** A client's request. */
interface ClientRot {
  readonly keys: readonly QualifiedKey[];
  /** Its id, under protocols that remember readers. */
  readonly id: TxId | undefined;
  readonly seen: Deps;
}

interface Rot extends ClientRot {
  readonly requester: Requester;
  readonly until: WallMs;
  /** Positions of keys, by partition. */
  readonly positions: ReadonlyMap<PartitionId, readonly number[]>;
  /** Versions that a second round did not find. */
  readonly absent: Demand[];
}

const UNREACHABLE = { code: 'REPLICA_UNREACHABLE', detail: 'A replica did not answer; try again.' } as const;

export class Rots {
  readonly counters = { rots: 0, secondTries: 0, secondRounds: 0, reexecuted: 0 };
  /** ROTs whose snapshot this node cannot give yet. */
  readonly waiting = new Waiting<Rot>('waitingRots');
  /** The stable time at the beginning of each: no snapshot of theirs lies below (P9). */
  readonly #open = new TransientMap<Rot, Timestamp>();
  /** ROTs under way that are executed again when they take too long, with their snapshots. */
  readonly #impatient = new Map<Rot, { readonly since: WallMs; readonly snapshot: Deps }>();

  constructor(
    readonly state: NodeState,
    readonly rules: OperationRules,
    readonly addresses: Addresses,
    readonly asks: Asks,
  ) {}

  get size(): number {
    return this.#open.size;
  }

  /** The oldest snapshot that may be in use. */
  oldest(): Timestamp | undefined {
    return this.#open.values().next().value;
  }

  /** @throws IsochronError KEYSPACE_UNKNOWN */
  begin(requester: Requester, asked: ClientRot, now: WallMs, out: Out): void {
    const until = now + this.state.settings.readDeadlineMs;
    const rot: Rot = { requester, ...asked, until, positions: this.#group(asked.keys), absent: [] };
    this.counters.rots++;
    this.#open.set(rot, this.state.stable.value);
    this.#choose(rot, now, null, out);
  }

  /** Starts ROTs whose snapshot this node can give now; ends those whose wait or questions have taken too long. */
  sweep(now: WallMs, out: Out): void {
    const ready: { rot: Rot; since: WallMs }[] = [];
    this.waiting.release(
      ({ seen }) => {
        const snapshot = this.rules.choose(seen, now);
        return isVector(snapshot) ? undefined : snapshot;
      },
      (rot, since) => ready.push({ rot, since }),
      out,
    );
    for (const { rot, since } of ready) this.#choose(rot, now, since, out);
    for (const { requester } of this.waiting.expired(now, this.state.settings.readDeadlineMs)) {
      const detail = 'The snapshot was not installed here in time; try again.';
      out.send(requester.from, { type: 'Refused', ref: requester.ref, code: 'SNAPSHOT_UNAVAILABLE', detail });
    }
    for (const [rot] of this.#open) if (now > rot.until) this.#close(rot);
    for (const [rot, { since, snapshot }] of this.#impatient) this.#hurry(rot, since, snapshot, now, out);
  }

  #group(keys: readonly QualifiedKey[]): Map<PartitionId, number[]> {
    const positions = new Map<PartitionId, number[]>();
    keys.forEach((key, i) => {
      const partition = this.state.topology.partitionOf(key);
      const indexes = positions.get(partition);
      if (indexes === undefined) positions.set(partition, [i]);
      else indexes.push(i);
    });
    return positions;
  }

  #choose(rot: Rot, now: WallMs, since: WallMs | null, out: Out): void {
    const chooser = this.rules.choosesAt([...rot.positions.keys()]);
    if (chooser !== undefined) {
      this.#ask(rot, chooser, now, out);
      return;
    }
    const snapshot = this.rules.choose(rot.seen, now);
    if (isVector(snapshot)) {
      if (since !== null) this.waiting.ended(since, now);
      this.#read(rot, snapshot, now, out);
    } else {
      const { from, ref } = rot.requester;
      this.waiting.add(`${from.node}/${from.machine}/${ref}`, rot, since ?? now, snapshot, out);
      this.state.activity.wake(now, out);
    }
  }

  /** Round 1 of 2: a partition chooses. */
  #ask(rot: Rot, partition: PartitionId, now: WallMs, out: Out): void {
    const { requester, seen, until } = rot;
    this.asks.ask(
      {
        requester,
        to: this.addresses.replica(partition, this.state.region),
        request: (ref) => ({ type: 'SnapReq', ref, partition, seen }),
        answer: 'SnapResp',
        taken: ({ snapshot }, at, later) => this.#read(rot, snapshot, at, later),
        until,
        late: UNREACHABLE,
      },
      now,
      out,
    );
  }

  #read(rot: Rot, snapshot: Deps, now: WallMs, out: Out): void {
    const { keys, positions, id } = rot;
    if (this.rules.patience !== undefined) this.#impatient.set(rot, { since: now, snapshot });
    const versions: (Version | null)[] = new Array(keys.length).fill(null);
    this.#slices(
      rot,
      positions,
      versions,
      (partition, asked) => (ref) => ({
        type: 'RotSliceReq',
        ref,
        partition,
        snapshot,
        keys: asked,
        ...(id && { id }),
      }),
      (at, later) => this.#check(rot, snapshot, versions, at, later),
      now,
      out,
    );
  }

  /** The first round's answers are here. */
  #check(rot: Rot, snapshot: Deps, versions: (Version | null)[], now: WallMs, out: Out): void {
    const demands = this.rules.demands?.(rot.keys, versions, rot.absent) ?? [];
    if (demands.length === 0) {
      this.#finish(rot, snapshot, versions, now, out);
      return;
    }
    this.counters.secondRounds++;
    const wanted = new Map(demands.map((demand) => [demand.position, demand.wanted]));
    const positions = new Map<PartitionId, readonly number[]>();
    for (const [partition, indexes] of rot.positions) {
      const again = indexes.filter((position) => wanted.has(position));
      if (again.length > 0) positions.set(partition, again);
    }
    this.#slices(
      rot,
      positions,
      versions,
      (partition, keys, asked) => (ref) => ({
        type: 'RotVersionsReq',
        ref,
        partition,
        keys,
        wanted: asked.map((position) => wanted.get(position)!),
      }),
      (at, later) => this.#finish(rot, snapshot, versions, at, later),
      now,
      out,
      (indexes) => rot.absent.push(...demands.filter(({ position }) => indexes.includes(position))),
    );
  }

  #finish(rot: Rot, snapshot: Deps, found: readonly (Version | null)[], now: WallMs, out: Out): void {
    if (this.rules.expired?.(snapshot)) {
      this.#again(rot, now, out);
      return;
    }
    this.#close(rot);
    const { keys, seen, requester } = rot;
    const versions = found.map(shown);
    const depends = this.rules.named?.saw(keys, found);
    const sees = this.rules.saw(seen, snapshot, versions, keys);
    const answer = { type: 'RotResp', ref: requester.ref, versions, seen: sees, ust: this.state.stable.value } as const;
    out.send(requester.from, depends === undefined ? answer : { ...answer, depends });
  }

  /** Asks every partition in parallel; their answers take their places among the versions. */
  #slices(
    rot: Rot,
    positions: ReadonlyMap<PartitionId, readonly number[]>,
    versions: (Version | null)[],
    request: (
      partition: PartitionId,
      keys: readonly QualifiedKey[],
      positions: readonly number[],
    ) => (ref: number) => OperationMessage,
    done: (now: WallMs, out: Out) => void,
    now: WallMs,
    out: Out,
    refused: (positions: readonly number[]) => void = () => {},
  ): void {
    let waiting = positions.size;
    if (waiting === 0) done(now, out);
    for (const [partition, indexes] of positions) {
      const asked = indexes.map((i) => rot.keys[i]!);
      this.asks.ask(
        {
          requester: rot.requester,
          to: this.addresses.replica(partition, this.state.region),
          request: request(partition, asked, indexes),
          answer: 'RotSliceResp',
          taken: (answer, at, later) => {
            indexes.forEach((position, i) => {
              versions[position] = answer.versions[i] ?? null;
            });
            waiting--;
            if (waiting === 0) done(at, later);
          },
          refused: (code, at, later) => {
            if (code !== 'SNAPSHOT_TOO_OLD') return false;
            refused(indexes);
            return this.#again(rot, at, later);
          },
          until: rot.until,
          late: UNREACHABLE,
        },
        now,
        out,
      );
    }
  }

  #close(rot: Rot): void {
    this.#open.delete(rot);
    this.#impatient.delete(rot);
  }

  /** A ROT that waits for too long is executed again with a smaller snapshot, if there is one. */
  #hurry(rot: Rot, since: WallMs, snapshot: Deps, now: WallMs, out: Out): void {
    const { ms, smaller } = this.rules.patience!;
    if (now - since < ms) return;
    this.#impatient.delete(rot);
    const other = smaller(rot.seen, snapshot);
    if (other === undefined) return;
    this.counters.reexecuted++;
    this.asks.end(rot.requester);
    this.#read(rot, other, now, out);
  }

  /** The chosen snapshot was collected on its way, or has taken too long: another one is chosen. */
  #again(rot: Rot, now: WallMs, out: Out): boolean {
    this.counters.secondTries++;
    this.asks.end(rot.requester);
    this.#choose(rot, now, null, out);
    return true;
  }
}

const isVector = (found: Deps | object | string): found is Deps => Array.isArray(found);
