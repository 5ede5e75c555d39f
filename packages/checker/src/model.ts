import { Random } from '@isochron/core';
import type { FinalValue, Op, Transaction } from './input/history.js';

/**
 * The guarantees of the modelled store:
 * - `causal`: a transaction reads a snapshot that is never older than its session's last one, and its session's own
 *   writes;
 * - `atomic`: a transaction reads a snapshot, of any age;
 * - `operations`: as `causal`, but every operation by itself; writes take effect at once, so transactions must not
 *   abort;
 * - `eventual`: every read sees any version.
 */
export type ModelPromise = 'causal' | 'atomic' | 'operations' | 'eventual';

/** Shape of a model history. */
export interface ModelOptions {
  readonly sessions: number;
  readonly transactions: number;
  readonly keys: number;
  readonly opsPerTx: number;
  readonly seed: number;
  /** `causal` by default. */
  readonly promise?: ModelPromise;
  /** Share of operations that are writes, 0 to 1; half by default. */
  readonly writeRatio?: number;
  /** Skew of the keys: the key of rank k is used in proportion to `1 / (k + 1)^theta`; 0.99 by default. */
  readonly theta?: number;
  /** How many commits a session's snapshot may lag behind; 200 by default. */
  readonly maxLag?: number;
  /** Share of writes that delete; none by default. */
  readonly deleteRatio?: number;
  /**
   * Share of transactions that abort, and share whose outcome stays unknown (half of them take effect); none by
   * default.
   */
  readonly abortRatio?: number;
  readonly unknownRatio?: number;
}

interface ModelVersion {
  /** Position in the order of commits. */
  readonly at: number;
  readonly value: string | null;
}

interface ModelSession {
  readonly name: string;
  seq: number;
  /** Commits that it sees; never falls. */
  snapshot: number;
  /** Own commits beyond the snapshot. */
  readonly own: Map<string, ModelVersion>;
}

/**
 * Makes a history that keeps its guarantees by construction, to test and measure the checker: one order of commits, of
 * which readers see a prefix. Returns every replica's final values.
 */
export function* modelHistory(options: ModelOptions): Generator<Transaction, FinalValue[]> {
  return yield* new Model(options).run();
}

class Model {
  readonly #options: Required<ModelOptions>;
  readonly #random: Random;
  readonly #chains = new Map<string, ModelVersion[]>();
  readonly #cumulated: Float64Array;
  #commits = 0;
  #values = 0;

  constructor(options: ModelOptions) {
    this.#options = {
      promise: 'causal',
      writeRatio: 0.5,
      theta: 0.99,
      maxLag: 200,
      deleteRatio: 0,
      abortRatio: 0,
      unknownRatio: 0,
      ...options,
    };
    this.#random = new Random(options.seed);
    let sum = 0;
    this.#cumulated = Float64Array.from({ length: options.keys }, (_, k) => {
      sum += (k + 1) ** -this.#options.theta;
      return sum;
    });
  }

  *run(): Generator<Transaction, FinalValue[]> {
    const sessions = Array.from({ length: this.#options.sessions }, (_, i): ModelSession => {
      return { name: `c${i}`, seq: 0, snapshot: 0, own: new Map() };
    });
    for (let i = 0; i < this.#options.transactions; i++) yield this.#transaction(this.#random.pick(sessions));
    return Array.from(this.#chains, ([k, chain]) => ({ k, v: chain.at(-1)!.value }));
  }

  #transaction(session: ModelSession): Transaction {
    this.#refresh(session);
    const writes = new Map<string, string | null>();
    const ops = Array.from({ length: this.#options.opsPerTx }, (): Op => this.#operation(session, writes));
    const draw = this.#random.float();
    const { abortRatio, unknownRatio } = this.#options;
    const status = draw < abortRatio ? 'aborted' : draw < abortRatio + unknownRatio ? 'unknown' : 'committed';
    if (status === 'committed' || (status === 'unknown' && this.#random.chance(0.5))) {
      this.#commit(session, writes, status === 'committed');
    }
    const seq = session.seq++;
    return { session: session.name, seq, tx: `${session.name}.${seq}`, status, ops };
  }

  /** Takes a new snapshot. */
  #refresh(session: ModelSession): void {
    const { promise, maxLag } = this.#options;
    const fresh = Math.max(0, this.#commits - this.#random.below(maxLag + 1));
    const mayGoBack = promise === 'atomic' || promise === 'eventual';
    session.snapshot = mayGoBack ? fresh : Math.max(session.snapshot, fresh);
  }

  #operation(session: ModelSession, writes: Map<string, string | null>): Op {
    const k = this.#key();
    const { promise } = this.#options;
    if (promise === 'operations' || promise === 'eventual') this.#refresh(session);
    if (!this.#random.chance(this.#options.writeRatio)) return { f: 'r', k, v: this.#read(session, writes, k) };
    const v = this.#random.chance(this.#options.deleteRatio) ? null : `v${this.#values++}`;
    if (promise === 'operations') this.#commit(session, new Map([[k, v]]), true);
    else writes.set(k, v);
    return { f: 'w', k, v };
  }

  #read(session: ModelSession, writes: Map<string, string | null>, key: string): string | null {
    const written = writes.get(key);
    if (written !== undefined) return written;
    const own = this.#seesOwnWrites ? session.own.get(key) : undefined;
    if (own !== undefined && own.at > session.snapshot) return own.value;
    const visible = this.#chains.get(key)?.findLast((version) => version.at <= session.snapshot);
    return visible?.value ?? null;
  }

  get #seesOwnWrites(): boolean {
    return this.#options.promise === 'causal' || this.#options.promise === 'operations';
  }

  /** An unknown transaction takes effect without the outcome reaching its session. */
  #commit(session: ModelSession, writes: Map<string, string | null>, known: boolean): void {
    const at = ++this.#commits;
    for (const [key, value] of writes) {
      const version = { at, value };
      const chain = this.#chains.get(key);
      if (chain === undefined) this.#chains.set(key, [version]);
      else chain.push(version);
      if (known) session.own.set(key, version);
    }
  }

  #key(): string {
    const point = this.#random.float() * this.#cumulated.at(-1)!;
    let [low, high] = [0, this.#cumulated.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#cumulated[middle]! <= point) low = middle + 1;
      else high = middle;
    }
    return `k${low}`;
  }
}
