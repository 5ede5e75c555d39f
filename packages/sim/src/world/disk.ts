import {
  type DurableFact,
  type DurableRecord,
  factsOf,
  HORIZONS,
  type RecoveredState,
  type VersionReader,
} from '@isochron/core';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { LogRecords, MemoryState, openMemoryStore, ownLogEnds, type VersionStore } from '@isochron/storage';

/** The speed of a disk at a moment. */
export interface DiskPace {
  /** How long the next sync takes, in ms. */
  syncMs(): number;
}

interface DiskBatch {
  readonly records: readonly DurableRecord[];
  /** As in the durable log. */
  readonly packed: Uint8Array;
  readonly done: () => void;
}

/** Batches between two checkpoints: a crash falls anywhere between two of them. */
const CHECKPOINT_BATCHES = 40;

/**
 * One node's disk. A batch is visible to reads at once and durable after a sync; a crash loses batches that were not
 * synced. The store that a process reads is its own copy: it dies with the process. As on a real disk, batches are
 * packed for a log; a process that starts has the latest checkpoint, and unpacks the batches after it.
 */
export class Disk {
  #durable = new MemoryState();
  /** The durable state at the latest checkpoint. */
  #checkpoint = new MemoryState();
  /** The batches since then. */
  #log: Pick<DiskBatch, 'packed' | 'records'>[] = [];
  /** Pack new batches, and unpack durable ones. */
  #writing = new LogRecords();
  #reading = new LogRecords();
  #store: VersionStore = openMemoryStore();
  #inFlight: DiskBatch | undefined;
  /** Rises with every crash: a sync of a previous incarnation completes nothing. */
  #incarnation = 0;
  #stalled = false;
  #restored = 0;
  #waiting: (() => void) | undefined;

  constructor(
    readonly time: VirtualTime,
    readonly pace: DiskPace,
    /**
     * Garbage collection, truncation and forgetting take effect with their batch, as on LevelDB, instead of at once.
     */
    readonly lateHorizons: boolean,
    /** A batch has become durable. */
    readonly onDurable: (records: readonly DurableRecord[]) => void,
  ) {}

  /** The store of the running process. */
  get store(): VersionStore {
    return this.#store;
  }

  /** The reads of machines: as the store, but a copy for another node holds durable data alone, as on LevelDB. */
  get reader(): VersionReader {
    const [live, durable] = [this.#store, openMemoryStore(this.#durable)];
    return {
      read: (partition, key, snapshot) => live.read(partition, key, snapshot),
      find: (partition, key, belongs) => live.find(partition, key, belongs),
      list: (partition, range, snapshot) => live.list(partition, range, snapshot),
      log: (partition, after, upTo) => live.log(partition, after, upTo),
      changes: (partition, after, upTo) => live.changes(partition, after, upTo),
      outcome: (partition, txId) => live.outcome(partition, txId),
      copy: (partition, start) => durable.copy(partition, start),
    };
  }

  /** How often data were removed from it. */
  get restored(): number {
    return this.#restored;
  }

  /** The state that would survive a crash. */
  get durable(): MemoryState {
    return this.#durable;
  }

  /** Opens the disk for a new process. */
  recover(): RecoveredState {
    this.#writing = packingAt(this.#checkpoint);
    this.#reading = packingAt(this.#checkpoint);
    const checkpoint = [...factsIn(this.#checkpoint)];
    const log = this.#log.flatMap(({ packed }) => this.#reading.unpack(packed));
    const running = new MemoryState();
    this.#durable = new MemoryState();
    for (const state of [this.#durable, running]) apply(state, [...checkpoint, ...factsOf(log)]);
    this.#store = openMemoryStore(running);
    for (const { packed } of this.#log) this.#writing.unpack(packed);
    return recoveredFrom(this.#durable);
  }

  /** The state that a process would find now. */
  recovered(): RecoveredState {
    return recoveredFrom(this.#durable);
  }

  /** Makes the records durable and then calls back. One batch at a time, as `Host` sends them. */
  persist(records: readonly DurableRecord[], done: () => void): void {
    const incarnation = this.#incarnation;
    commit(this.#store, this.lateHorizons ? records.filter((record) => !isHorizon(record)) : records);
    this.#inFlight = { records, packed: this.#writing.pack(records), done };
    this.time.after(this.pace.syncMs(), () => {
      if (incarnation !== this.#incarnation) return;
      if (this.#stalled) this.#waiting = () => this.#complete();
      else this.#complete();
    });
  }

  /** No sync completes until it is over. */
  stall(stalled: boolean): void {
    this.#stalled = stalled;
    if (stalled) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }

  /**
   * The process is gone. A batch on its way may have reached the disk as a whole, although its completion was not
   * reported.
   */
  crash(batchSurvives: boolean): void {
    this.#incarnation++;
    this.#waiting = undefined;
    const batch = this.#inFlight;
    this.#inFlight = undefined;
    if (batch !== undefined && batchSurvives) this.#write(batch.packed);
  }

  /** Puts facts on the disk before any process uses it. */
  prepare(facts: readonly DurableFact[]): void {
    for (const state of [this.#durable, this.#checkpoint]) apply(state, facts);
  }

  /** Everything that is durable now, for {@link restore}. */
  image(): readonly DurableFact[] {
    return [...factsIn(this.#durable)];
  }

  /** Replaces its content by an older image, or by nothing. No process may be using it. */
  restore(image: readonly DurableFact[]): void {
    this.#restored++;
    this.#durable = new MemoryState();
    this.#checkpoint = new MemoryState();
    this.#log = [];
    this.prepare(image);
  }

  #complete(): void {
    const { records, packed, done } = this.#inFlight!;
    this.#inFlight = undefined;
    if (this.lateHorizons) commit(this.#store, records.filter(isHorizon));
    this.#write(packed);
    done();
  }

  #write(packed: Uint8Array): void {
    const records = this.#reading.unpack(packed);
    apply(this.#durable, factsOf(records));
    this.#log.push({ packed, records });
    if (this.#log.length === CHECKPOINT_BATCHES) {
      for (const batch of this.#log.splice(0)) apply(this.#checkpoint, factsOf(batch.records));
    }
    this.onDurable(records);
  }
}

/** The packing of a log that begins at a state; the state may have moved on to any batch that is packed or unpacked. */
function packingAt(state: MemoryState): LogRecords {
  const packing = new LogRecords();
  for (const { id, prepared } of state.partitions.values())
    for (const [txId, record] of prepared) packing.prepared(id, txId, record);
  return packing;
}

const isHorizon = ({ kind }: DurableRecord): boolean => kind === 'horizon';

/** A memory store applies a batch before it returns its promise, so there is no need to wait for it. */
function commit(store: VersionStore, records: readonly DurableRecord[]): void {
  void store.commit(records);
}

function apply(state: MemoryState, facts: readonly DurableFact[]): void {
  for (const fact of facts) state.apply(fact);
}

/** The content of a state, as the facts that make it. */
function* factsIn(state: MemoryState): Generator<DurableFact> {
  for (const [name, value] of state.meta) yield { kind: 'meta', name, value };
  for (const [partition, { chains, outcomes, prepared, log, horizons }] of state.partitions) {
    for (const [key, versions] of chains) {
      for (const version of versions) yield { kind: 'version', partition, key, version };
    }
    for (const [txId, record] of outcomes) yield { kind: 'outcome', partition, txId, record };
    for (const [txId, record] of prepared) yield { kind: 'prepared', partition, txId, record };
    for (const { ct, tx, source } of log) yield { kind: 'log', partition, ct, tx, source };
    for (const horizon of HORIZONS) yield { kind: 'horizon', partition, horizon, upTo: horizons[horizon] };
  }
}

/** The result of `VersionStore.recover`, without its promise. */
function recoveredFrom(state: MemoryState): RecoveredState {
  const partitions = [...state.partitions.values()].sort((a, b) => a.id - b.id);
  return {
    meta: new Map(state.meta),
    prepared: partitions.flatMap(({ id, prepared }) =>
      [...prepared].sort(([a], [b]) => (a < b ? -1 : 1)).map(([txId, record]) => ({ partition: id, txId, record })),
    ),
    logEnds: ownLogEnds(state),
  };
}
