/** A session of the SDK that goes on during faults, and records what it read and the outcomes that it received. */
import { setTimeout as delay } from 'node:timers/promises';
import { IsochronError, Random } from '@isochron/core';
import {
  type ConnectOptions,
  connect,
  type IsochronClient,
  OutcomeUnknownError,
  type Transaction,
  type TxId,
  type WriteReceipt,
} from '@isochron/sdk';
import type { HistoryRecorder, HistoryStatus, SessionRecorder, TransactionRecorder } from '@isochron/workload';
import { HotTransactions } from '../e2e/workload.js';
import type { Connection } from './access.js';
import type { Gate } from './gate.js';
import { LEDGER_PREFIX } from './ledger.js';
import type { Tally } from './tally.js';

/** Shared by all sessions of a run. */
export interface SessionsOptions {
  readonly recorder: HistoryRecorder;
  readonly tally: Tally;
  readonly gate: Gate;
  /** Regions with the URLs of their nodes. */
  readonly endpoints: Readonly<Record<string, readonly string[]>>;
  readonly connection: Connection;
  /** Hot keys. */
  readonly keys: number;
  readonly seed: number;
  /** No transaction begins once this is aborted. */
  readonly signal: AbortSignal;
}

const CONNECTION = { requestTimeoutMs: 5000, commitTimeoutMs: 8000, connectTimeoutMs: 3000 } as const;
/** Longest pause between two transactions of a session, in ms. */
const MAX_PAUSE_MS = 20;
const MOVE_CHANCE = 0.01;
const DEATH_CHANCE = 0.003;
const GIVE_UP_CHANCE = 0.05;
/** How many of its last entries a session reads again. */
const RECALLED = 4;

interface Outcome {
  readonly status: HistoryStatus;
  readonly txId?: TxId | undefined;
  /** Whether the session cannot go on. */
  readonly isOver?: boolean;
}

/** The last writes of the session may wait for a suspended node: the session ends, and another session begins. */
export const isDeferred = (error: unknown): boolean =>
  error instanceof IsochronError && error.code === 'SESSION_DEFERRED';

/** A transaction that its own function aborts. */
class GivenUp extends Error {}

export class ChaosSession {
  readonly #shared: SessionsOptions;
  readonly #name: string;
  readonly #random: Random;
  readonly #regions: readonly string[];
  #region: string;
  #client: IsochronClient | undefined;
  /** The session to continue, as another device would. */
  #exported: string | undefined;
  #incarnations = 0;
  #entries = 0;
  #recorder: SessionRecorder;
  #hot: HotTransactions;
  /** Keys whose writes were acknowledged. */
  #written: string[] = [];

  constructor(shared: SessionsOptions, number: number) {
    this.#shared = shared;
    this.#name = `c${number}`;
    this.#random = new Random(shared.seed + number);
    this.#regions = Object.keys(shared.endpoints);
    this.#region = this.#regions[number % this.#regions.length]!;
    [this.#recorder, this.#hot] = this.#born();
  }

  /** Runs until `signal` is aborted. Rejects only for errors that are not the product's. */
  async run(): Promise<void> {
    const { signal, gate } = this.#shared;
    while (!signal.aborted) {
      await gate.pass(() => this.#step());
      // Sessions of people pause, too; without pauses, latency would be that of a queue.
      await delay(this.#random.below(MAX_PAUSE_MS + 1));
    }
    await this.#client?.close();
  }

  async #step(): Promise<void> {
    const draw = this.#random.float();
    if (this.#client === undefined) await this.#connect();
    else if (draw < DEATH_CHANCE) await this.#die();
    else if (draw < DEATH_CHANCE + MOVE_CHANCE) await this.#move(this.#client);
    else await this.#transaction(this.#client);
  }

  async #connect(): Promise<void> {
    const options: ConnectOptions = {
      ...CONNECTION,
      ...this.#shared.connection,
      endpoints: this.#shared.endpoints[this.#region]!,
      random: () => this.#random.float(),
      ...(this.#exported === undefined ? {} : { session: this.#exported }),
    };
    try {
      this.#client = await connect(options);
    } catch (error) {
      this.#shared.tally.failed(this.#name, error);
      this.#region = this.#random.pick(this.#regions);
      if (isDeferred(error)) await this.#die();
    }
  }

  /** Continues in another region with its reads and writes. */
  async #move(from: IsochronClient): Promise<void> {
    // An undecided commit is not part of an exported session, and may be ordered behind the commits of that session.
    if (from.status.pendingCommits > 0) return this.#die();
    this.#exported = JSON.stringify(from.session.export());
    this.#region = this.#random.pick(this.#regions);
    this.#shared.tally.moves++;
    this.#client = undefined;
    await from.close();
  }

  /** The device is lost with its session: a new session begins. */
  async #die(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#exported = undefined;
    this.#shared.tally.deaths++;
    this.#recorder.close();
    [this.#recorder, this.#hot] = this.#born();
    await client?.close();
  }

  #born(): [SessionRecorder, HotTransactions] {
    const recorder = this.#shared.recorder.session(`${this.#name}.${this.#incarnations++}`);
    this.#written = [];
    return [recorder, new HotTransactions(recorder, this.#random, this.#shared.keys)];
  }

  async #transaction(client: IsochronClient): Promise<void> {
    const { tally } = this.#shared;
    const open = this.#recorder.begin();
    const entry = new Map<string, string>();
    const { status, txId, isOver } = await this.#outcome(() => this.#any(client, open, entry));
    open[status](txId);
    tally.outcomes[status]++;
    if (status === 'unknown' && txId !== undefined) tally.unknown.push(txId);
    if (isOver) await this.#die();
    if (entry.size === 0) return;
    tally.ledger.push({ name: `${[...entry.keys()].join(' ')} (${txId})`, txId, writes: entry, status });
    if (status === 'committed') this.#written.push(...entry.keys());
  }

  async #outcome(run: () => Promise<WriteReceipt | undefined>): Promise<Outcome> {
    const { tally } = this.#shared;
    try {
      const receipt = await run();
      tally.committed(receipt?.timestamp);
      return { status: 'committed', txId: receipt?.txId };
    } catch (error) {
      if (error instanceof GivenUp) return { status: 'aborted' };
      const status = tally.failed(this.#recorder.name, error);
      const txId = error instanceof OutcomeUnknownError ? error.txId : undefined;
      return { status, txId, isOver: isDeferred(error) };
    }
  }

  #any(
    client: IsochronClient,
    open: TransactionRecorder,
    entry: Map<string, string>,
  ): Promise<WriteReceipt | undefined> {
    const draw = this.#random.float();
    if (draw < 0.6) return this.#hot.run(client, open).then(() => undefined);
    if (draw < 0.82) return this.#enterMany(client, open, entry);
    if (draw < 0.9) return this.#enterOne(client, open, entry);
    return this.#recall(client, open);
  }

  /** Several partitions in one transaction, hot keys among them. */
  async #enterMany(
    client: IsochronClient,
    open: TransactionRecorder,
    entry: Map<string, string>,
  ): Promise<WriteReceipt | undefined> {
    const { write } = await client.transaction(async (tx) => {
      const keys = this.#hot.someKeys(2);
      const values = await tx.getMany<string>(keys);
      keys.forEach((key, i) => {
        open.read(key, values[i] ?? null);
      });
      this.#set(tx, keys[0]!, open);
      this.#entries++;
      for (const part of ['a', 'b', 'c']) {
        const key = `${LEDGER_PREFIX}${this.#recorder.name}/${this.#entries}${part}`;
        entry.set(key, this.#set(tx, key, open));
      }
      if (this.#random.chance(GIVE_UP_CHANCE)) throw new GivenUp('it thinks better of it');
    });
    return write;
  }

  /** One partition: commits in one phase. */
  #enterOne(client: IsochronClient, open: TransactionRecorder, entry: Map<string, string>): Promise<WriteReceipt> {
    const key = `${LEDGER_PREFIX}${this.#recorder.name}/${++this.#entries}`;
    const value = this.#recorder.nextValue();
    open.write(key, value);
    entry.set(key, value);
    return client.set(key, value);
  }

  /** Its last own entries, which it must read in every region. */
  async #recall(client: IsochronClient, open: TransactionRecorder): Promise<undefined> {
    const keys = [...this.#written.slice(-RECALLED), ...this.#hot.someKeys(1)];
    const values = await client.getMany<string>(keys);
    keys.forEach((key, i) => {
      open.read(key, values[i] ?? null);
    });
  }

  #set(tx: Transaction, key: string, open: TransactionRecorder): string {
    const value = this.#recorder.nextValue();
    open.write(key, value);
    tx.set(key, value);
    return value;
  }
}
