/** What a script has set up: the world, the links, and the names of its keys, sessions, transactions and times. */
import { HLC_TICKS_PER_MS, type NodeId, packWall, type QualifiedKey, type Timestamp, type TxId } from '@isochron/core';
import type { ClientResponse } from '../paris/messages.js';
import type { SessionTransaction } from '../paris/session.js';
import { keyIn, type TestClient } from './clients.js';
import { ScriptNetwork } from './script-network.js';
import { numberOf, ScriptError } from './script-words.js';
import type { World } from './world.js';

/** A request that was sent and what becomes of its answer. */
export interface Question {
  /** The transaction or, for a one-shot read, the session. */
  readonly name: string;
  readonly node: NodeId;
  readonly ref: number;
  /** The life of the node that was asked: an answer dies with its process. */
  readonly life: number;
  /** What the script shows of the answer. */
  readonly told: (answer: ClientResponse) => string[];
}

/** A transaction by its name in the script. */
export interface NamedTransaction {
  readonly name: string;
  readonly client: TestClient;
  readonly tx: SessionTransaction;
  commit: ReturnType<TestClient['commitRequest']> | undefined;
  /** Whether its session waits for the outcome. */
  inFlight: boolean;
  ct: Timestamp | undefined;
}

export class Stage {
  readonly network: ScriptNetwork;
  readonly sessions = new Map<string, TestClient>();
  readonly transactions = new Map<string, NamedTransaction>();
  /** Requests whose answers were not looked at yet, in the order of their sending. */
  questions: Question[] = [];
  /** How many delivered messages `show sent` has shown or skipped. */
  shownMessages = 0;
  readonly #start: Timestamp;
  readonly #startMs: number;
  readonly #keys = new Map<QualifiedKey, string>();

  /** @param delays one-way delays of links, in ms, by their ends in alphabetical order (`a|b`); of all others under the empty name */
  constructor(
    readonly world: World,
    readonly delays: Map<string, number>,
  ) {
    this.network = new ScriptNetwork(world);
    this.#startMs = world.now;
    this.#start = packWall(world.now);
  }

  /** Virtual time since the script began, in ms. */
  get elapsedMs(): number {
    return this.world.now - this.#startMs;
  }

  /**
   * A timestamp in milliseconds since the start, with the logical part: `120`, `120+1`, and `120-1` for the last one before
   * `120`; `none` for zero.
   */
  time(ts: Timestamp | null | undefined): string {
    if (ts === undefined || ts === null || ts === 0) return 'none';
    const ticks = ts - this.#start;
    const ms = Math.round(ticks / HLC_TICKS_PER_MS);
    const logical = ticks - ms * HLC_TICKS_PER_MS;
    return logical === 0 ? `${ms}` : `${ms}${logical > 0 ? '+' : '-'}${Math.abs(logical)}`;
  }

  /** `name@3`: the first key that begins with the name and lies in partition 3. */
  key(word: string): QualifiedKey {
    const [, name, partition] = /^([a-z]+)@(\d+)$/.exec(word) ?? [];
    if (name === undefined || partition === undefined) throw new ScriptError(`"${word}" is no key: name@partition`);
    this.partition(partition);
    const key = keyIn(this.world, Number(partition), name);
    this.#keys.set(key, word);
    return key;
  }

  keyName(key: QualifiedKey): string {
    return this.#keys.get(key) ?? key;
  }

  partition(word: string): number {
    const partition = numberOf(word);
    if (partition >= this.world.topology.partitions.length) throw new ScriptError(`there is no partition ${word}`);
    return partition;
  }

  node(word: string): NodeId {
    if (!this.world.topology.hasNode(word)) throw new ScriptError(`there is no node "${word}"`);
    return word;
  }

  running(word: string): NodeId {
    if (!this.world.node(this.node(word)).up) throw new ScriptError(`${word} is down`);
    return word;
  }

  transaction(name: string): NamedTransaction {
    const found = this.transactions.get(name);
    if (found === undefined) throw new ScriptError(`there is no transaction "${name}"`);
    return found;
  }

  /** What a transaction or a session waits for. */
  questionsOf(name: string): Question[] {
    const found = this.questions.filter((question) => question.name === name);
    if (found.length === 0) throw new ScriptError(`${name} waits for no answer`);
    return found;
  }

  session(name: string): TestClient {
    const found = this.sessions.get(name);
    if (found === undefined) throw new ScriptError(`there is no command and no session "${name}"`);
    return found;
  }

  /** The script's name of a transaction id. */
  txName(txId: TxId): string {
    for (const { name, tx } of this.transactions.values()) if (tx.id === txId) return name;
    return txId;
  }

  /** The commit timestamp as a client was told it or a disk holds it. */
  ctOf({ tx, ct }: NamedTransaction): Timestamp | undefined {
    if (ct !== undefined) return ct;
    for (const { store } of this.world.nodes.values()) {
      for (const [name, outcome] of store.outcomes) {
        if (name.endsWith(`|${tx.id}`) && outcome.status === 'committed') return outcome.ts;
      }
    }
    return undefined;
  }
}
