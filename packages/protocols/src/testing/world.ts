/** The world of claim tests about interactive transactions: PaRiS unless a test names another protocol. */
import { MAX_TIMESTAMP, newestTimestamp } from '@isochron/core';
import type { ClientRequest, ClientResponse, TransactionMessage } from '../kernel/transactions/messages.js';
import { transactionSchema } from '../kernel/transactions/messages.js';
import { createTransactionNode, type TransactionNode, unappliedAfter } from '../kernel/transactions/node.js';
import type { Session } from '../kernel/transactions/session.js';
import type { TransactionProtocol } from '../kernel/transactions/snapshots.js';
import { paris } from '../paris/paris.js';
import { ParisSession } from '../sessions.js';
import { WorldOf, type WorldOptions as WorldOfOptions } from './world-of.js';

export { THREE_REGIONS } from './world-of.js';

export interface WorldOptions extends WorldOfOptions {
  readonly protocol?: TransactionProtocol;
  /** What the sessions of its clients are; PaRiS' by default, as the protocol. */
  readonly Session?: new (
    id: string,
  ) => Session;
}

export class World extends WorldOf<TransactionMessage, ClientRequest, ClientResponse, TransactionNode> {
  readonly #Session: new (
    id: string,
  ) => Session;

  constructor(options: WorldOptions = {}) {
    const { protocol = paris, Session = ParisSession } = options;
    super(
      options,
      (common, store) => {
        const { recovered, topology, node } = common;
        const logged = (p: number) =>
          store.log(p, unappliedAfter(recovered, p, topology.regionOf(node)), MAX_TIMESTAMP).groups;
        const unapplied = new Map(topology.partitionsOn(node).map((p) => [p, logged(p)]));
        return createTransactionNode({ ...common, unapplied }, protocol);
      },
      newestTimestamp(transactionSchema),
    );
    this.#Session = Session;
  }

  /** A session of the protocol's clients. */
  newSession(id: string): Session {
    return new this.#Session(id);
  }
}
