/** The state of a script: the world, the links, and the names of its keys, sessions, transactions and times. */
import type { NodeId, Timestamp, TxId } from '@isochron/core';
import type { ClientResponse, TransactionMessage } from '@isochron/protocols/kernel/transactions/messages';
import { transactionSchema } from '@isochron/protocols/kernel/transactions/messages';
import type { SessionTransaction } from '@isochron/protocols/kernel/transactions/session';
import type { Snapshot } from '@isochron/protocols/kernel/transactions/snapshots';
import type { TestClient } from '../world/clients.js';
import type { World } from '../world/world.js';
import { ScriptNetwork } from './script-network.js';
import type { ScriptProtocol } from './script-protocols.js';
import { Scene } from './script-scene.js';
import { ScriptError } from './script-words.js';

/** A request that was sent, and the handling of its answer. */
export interface Question {
  /** The transaction or, for a one-shot read, the session. */
  readonly name: string;
  readonly node: NodeId;
  readonly ref: number;
  /** The incarnation of the receiving node: an answer is lost with its process. */
  readonly incarnation: number;
  /** The script's output for the answer. */
  readonly show: (answer: ClientResponse) => string[];
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

export class Stage extends Scene {
  readonly network: ScriptNetwork<TransactionMessage>;
  readonly sessions = new Map<string, TestClient>();
  readonly transactions = new Map<string, NamedTransaction>();
  /** Requests whose answers were not shown yet, in the order of sending. */
  questions: Question[] = [];
  /**
   * @param delays one-way delays of links, in ms, by their ends in alphabetical order (`a|b`); of all others under the
   * empty name
   */
  constructor(
    override readonly world: World,
    delays: Map<string, number>,
    readonly protocol: ScriptProtocol,
  ) {
    super(world, delays, Object.keys(transactionSchema));
    this.network = new ScriptNetwork(world);
  }

  /** A snapshot: its timestamp, and its protocol's text for the other entries. */
  snapshot({ ts, deps }: Snapshot): string {
    return [this.time(ts), ...(deps === undefined ? [] : this.protocol.entries(deps, this))].join(', ');
  }

  transaction(name: string): NamedTransaction {
    const found = this.transactions.get(name);
    if (found === undefined) throw new ScriptError(`there is no transaction "${name}"`);
    return found;
  }

  /** The pending requests of a transaction or a session. */
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

  /** The commit timestamp as a client received it or a disk holds it. */
  ctOf({ tx, ct }: NamedTransaction): Timestamp | undefined {
    if (ct !== undefined) return ct;
    for (const { id, store } of this.world.nodes.values()) {
      for (const partition of this.world.topology.partitionsOn(id)) {
        const end = store.end(partition, tx.id);
        if (end?.status === 'committed') return end.ts;
      }
    }
    return undefined;
  }
}
