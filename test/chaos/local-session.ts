/** A session that touches only partitions of its own region: faults between regions must not affect it. */
import { setTimeout as delay } from 'node:timers/promises';
import { IsochronError, qualify, Random, type RegionId, type Topology, unqualify } from '@isochron/core';
import { connect, type IsochronClient } from '@isochron/sdk';
import {
  type HistoryRecorder,
  type KeyTable,
  type SessionRecorder,
  TransactionGenerator,
  type TransactionMix,
} from '@isochron/workload';
import type { Connection } from './access.js';
import { LEDGER_PREFIX } from './ledger.js';
import type { Tally } from './tally.js';

/** Shared by all sessions. */
export interface LocalOptions {
  readonly recorder: HistoryRecorder;
  readonly tally: Tally;
  readonly connection: Connection;
  readonly topology: Topology;
  readonly table: KeyTable;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Called with the time from a transaction's call to its answer. */
  readonly answered: (region: RegionId, kind: 'read' | 'write', ms: number) => void;
  /** Called with the reason when a transaction was not answered as it should be. */
  readonly refused: (sentence: string) => void;
}

const MIX: TransactionMix = { reads: 3, writes: 2, partitionsPerTx: 2, localRatio: 1 };
const MAX_PAUSE_MS = 20;

export class LocalSession {
  readonly #shared: LocalOptions;
  readonly #region: RegionId;
  readonly #endpoints: readonly string[];
  readonly #recorder: SessionRecorder;
  readonly #generator: TransactionGenerator;
  readonly #random: Random;
  #entries = 0;

  constructor(shared: LocalOptions, region: RegionId, number: number, endpoints: readonly string[]) {
    const { recorder, table } = shared;
    const seed = shared.seed + number;
    this.#shared = shared;
    this.#region = region;
    this.#endpoints = endpoints;
    this.#recorder = recorder.session(`${region}/${number}`);
    this.#generator = new TransactionGenerator({ table, mix: MIX, region, seed });
    this.#random = new Random(seed);
  }

  /** Runs until `signal` is aborted. Rejects only for errors that are not the product's. */
  async run(): Promise<void> {
    const client = await connect({ ...this.#shared.connection, endpoints: this.#endpoints });
    while (!this.#shared.signal.aborted) {
      await this.#transaction(client);
      await delay(this.#random.below(MAX_PAUSE_MS + 1));
    }
    await client.close();
  }

  async #transaction(client: IsochronClient): Promise<void> {
    const { tally, answered, refused } = this.#shared;
    const { reads, writes } = this.#generator.nextTransaction();
    const kind = this.#random.chance(0.5) ? 'read' : 'write';
    const startMs = performance.now();
    try {
      if (kind === 'read') await this.#read(client, reads.map(plain));
      else await this.#write(client, writes.map(plain));
      answered(this.#region, kind, performance.now() - startMs);
      tally.outcomes.committed++;
    } catch (error) {
      if (!(error instanceof IsochronError)) throw error;
      refused(`a ${kind} of ${this.#recorder.name}: ${error.code}: ${error.message}`);
    }
    if (client.status.region !== this.#region) refused(`${this.#recorder.name} had to leave its region`);
  }

  async #read(client: IsochronClient, keys: readonly string[]): Promise<void> {
    const open = this.#recorder.begin();
    try {
      const values = await client.getMany<string>(keys);
      keys.forEach((key, i) => {
        open.read(key, values[i] ?? null);
      });
      open.committed();
    } catch (error) {
      open.aborted();
      throw error;
    }
  }

  async #write(client: IsochronClient, keys: readonly string[]): Promise<void> {
    const { tally } = this.#shared;
    const open = this.#recorder.begin();
    const entry = this.#nextEntry();
    const values = new Map([...keys, entry].map((key): [string, string] => [key, this.#recorder.nextValue()]));
    for (const [key, value] of values) open.write(key, value);
    const writes = new Map([[entry, values.get(entry)!]]);
    try {
      const { write } = await client.transaction((tx) => {
        for (const [key, value] of values) tx.set(key, value);
      });
      open.committed(write?.txId);
      tally.committed(write?.timestamp);
      tally.ledger.push({ name: `${entry} (${write?.txId})`, writes, status: 'committed' });
    } catch (error) {
      const status = tally.failed(this.#recorder.name, error);
      open[status]();
      tally.outcomes[status]++;
      tally.ledger.push({ name: entry, writes, status });
      throw error;
    }
  }

  /** A key that only this session writes, in a partition of this region. */
  #nextEntry(): string {
    const { topology } = this.#shared;
    for (;;) {
      const key = `${LEDGER_PREFIX}${this.#recorder.name}/${this.#entries++}`;
      const { regions } = topology.partitions[topology.partitionOf(qualify('default', key))]!;
      if (regions.includes(this.#region)) return key;
    }
  }
}

const plain = (key: string): string => unqualify(key).key;
