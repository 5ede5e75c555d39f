/** Sessions that read and write hot keys, move between regions and record what they read. */
import { Random } from '@isochron/core';
import { type ConnectOptions, connect, isIsochronError } from '@isochron/sdk';
import { type SessionRecorder, type TransactionRecorder, Zipf } from '@isochron/workload';

type Values = Promise<readonly (string | undefined)[]>;

/** The methods of a client, of any SDK, that the workload needs. */
export interface WorkloadClient {
  getMany(keys: readonly string[]): Values;
  set(key: string, value: string): Promise<unknown>;
  delete(key: string): Promise<unknown>;
  snapshot(): Promise<WorkloadSnapshot>;
  transaction(body: (tx: WorkloadTransaction) => Promise<void>): Promise<unknown>;
  readonly session: { export(): unknown };
  close(): Promise<unknown>;
}

export interface WorkloadSnapshot {
  getMany(keys: readonly string[]): Values;
  close(): unknown;
}

export interface WorkloadTransaction {
  getMany(keys: readonly string[]): Values;
  set(key: string, value: string): void;
}

/** Connects, or continues an exported session. */
export type ConnectWorkload = (endpoint: string, session?: string) => Promise<WorkloadClient>;

export interface SessionPlan {
  readonly recorder: SessionRecorder;
  /** URLs of the regions, in the order in which the session visits them, repeatedly. */
  readonly route: readonly string[];
  readonly seed: number;
  readonly keys: number;
  /** Transactions in all, and how many between two moves. */
  readonly transactions: number;
  readonly stay: number;
  /** Options of every connection of the TypeScript SDK. */
  readonly connection?: Omit<ConnectOptions, 'endpoints' | 'session'>;
  /** How to connect after each move of the session. Default: with the TypeScript SDK. */
  readonly connect?: ConnectWorkload;
  /** Called after every transaction. */
  readonly done?: () => void;
}

/** What else a session did. */
export interface SessionResult {
  readonly moves: number;
  readonly unknown: number;
}

/** Runs one session to its end. A session that moves stays the same one: it takes along its reads and writes. */
export async function runSession(plan: SessionPlan): Promise<SessionResult> {
  const session = new Session(plan);
  await session.run();
  return { moves: session.moves, unknown: session.unknown };
}

class Session {
  moves = 0;
  unknown = 0;
  readonly #plan: SessionPlan;
  readonly #hot: HotTransactions;

  constructor(plan: SessionPlan) {
    this.#plan = plan;
    this.#hot = new HotTransactions(plan.recorder, new Random(plan.seed), plan.keys);
  }

  async run(): Promise<void> {
    const { route, transactions, stay, done } = this.#plan;
    let client = await this.#connect(route[0]!);
    try {
      for (let i = 0; i < transactions; i++) {
        if (i > 0 && i % stay === 0) client = await this.#move(client, route[(i / stay) % route.length]!);
        await this.#transaction(client);
        done?.();
      }
    } finally {
      await client.close();
    }
  }

  /** Continues in another region, as another device would. */
  async #move(from: WorkloadClient, endpoint: string): Promise<WorkloadClient> {
    const session = JSON.stringify(await from.session.export());
    await from.close();
    this.moves++;
    return this.#connect(endpoint, session);
  }

  #connect(endpoint: string, session?: string): Promise<WorkloadClient> {
    const { connection, connect: own } = this.#plan;
    if (own !== undefined) return own(endpoint, session);
    return connect({ ...connection, endpoints: [endpoint], ...(session !== undefined && { session }) });
  }

  async #transaction(client: WorkloadClient): Promise<void> {
    const open = this.#plan.recorder.begin();
    try {
      await this.#hot.run(client, open);
      open.committed();
    } catch (error) {
      if (!isIsochronError(error, 'OUTCOME_UNKNOWN')) throw error;
      this.unknown++;
      open.unknown();
    }
  }
}

/** Transactions of many shapes on the same few keys, each recorded while it runs. */
export class HotTransactions {
  readonly #recorder: SessionRecorder;
  readonly #random: Random;
  readonly #zipf: Zipf;

  /** @param keys how many keys there are; the first ones are used most */
  constructor(recorder: SessionRecorder, random: Random, keys: number) {
    this.#recorder = recorder;
    this.#random = random;
    this.#zipf = new Zipf(keys);
  }

  /** Runs the next transaction. Rejects with the client's error; the caller records the outcome. */
  run(client: WorkloadClient, open: TransactionRecorder): Promise<void> {
    const draw = this.#random.float();
    if (draw < 0.35) return this.#readMany(client, open);
    if (draw < 0.6) return this.#writeOne(client, open);
    if (draw < 0.65) return this.#deleteOne(client, open);
    if (draw < 0.75) return this.#readTwice(client, open);
    return this.#readAndWrite(client, open);
  }

  /** Reads in one snapshot, in one round trip. */
  async #readMany(client: WorkloadClient, open: TransactionRecorder): Promise<void> {
    const keys = this.someKeys(4);
    this.#saw(open, keys, await client.getMany(keys));
  }

  async #writeOne(client: WorkloadClient, open: TransactionRecorder): Promise<void> {
    const [key] = this.someKeys(1);
    const value = this.#recorder.nextValue();
    open.write(key!, value);
    await client.set(key!, value);
  }

  async #deleteOne(client: WorkloadClient, open: TransactionRecorder): Promise<void> {
    const [key] = this.someKeys(1);
    open.write(key!, null);
    await client.delete(key!);
  }

  /** Several reads of one snapshot at different moments. */
  async #readTwice(client: WorkloadClient, open: TransactionRecorder): Promise<void> {
    const snapshot = await client.snapshot();
    try {
      for (let i = 0; i < 2; i++) {
        const keys = this.someKeys(2);
        this.#saw(open, keys, await snapshot.getMany(keys));
      }
    } finally {
      await snapshot.close();
    }
  }

  /** An interactive transaction: its reads do not affect its course, but each write depends on all of them. */
  async #readAndWrite(client: WorkloadClient, open: TransactionRecorder): Promise<void> {
    await client.transaction(async (tx) => {
      const keys = this.someKeys(3);
      this.#saw(open, keys, await tx.getMany(keys));
      for (const key of this.someKeys(2)) {
        const value = this.#recorder.nextValue();
        open.write(key, value);
        tx.set(key, value);
      }
      // Its own writes and its earlier reads, once more.
      const again = this.someKeys(2);
      this.#saw(open, again, await tx.getMany(again));
    });
  }

  #saw(open: TransactionRecorder, keys: readonly string[], values: readonly (string | undefined)[]): void {
    keys.forEach((key, i) => {
      open.read(key, values[i] ?? null);
    });
  }

  /** Different hot keys. */
  someKeys(count: number): string[] {
    const keys = new Set<string>();
    while (keys.size < count) keys.add(`hot/${this.#zipf.next(this.#random)}`);
    return [...keys];
  }
}
