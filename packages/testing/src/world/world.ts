/** The world of claim tests about interactive transactions: PaRiS unless a test names another protocol. */
import { newestTimestamp } from '@isochron/core';
import type {
  ClientRequest,
  ClientResponse,
  TransactionMessage,
} from '@isochron/protocols/kernel/transactions/messages';
import { transactionSchema } from '@isochron/protocols/kernel/transactions/messages';
import { createTransactionNode, type TransactionNode } from '@isochron/protocols/kernel/transactions/node';
import { Session, type SessionRules } from '@isochron/protocols/kernel/transactions/session';
import type { TransactionProtocol } from '@isochron/protocols/kernel/transactions/snapshots';
import { paris } from '@isochron/protocols/paris/paris';
import { parisSession } from '@isochron/protocols/paris/session';
import { WorldOf, type WorldOptions as WorldOfOptions } from './world-of.js';

export { THREE_REGIONS } from './world-of.js';

export interface WorldOptions extends WorldOfOptions {
  readonly protocol?: TransactionProtocol;
  /** The rules of its clients' sessions; PaRiS' by default, as the protocol. */
  readonly session?: SessionRules;
}

export class World extends WorldOf<TransactionMessage, ClientRequest, ClientResponse, TransactionNode> {
  readonly #session: SessionRules;

  constructor(options: WorldOptions = {}) {
    const { protocol = paris, session = parisSession } = options;
    super(options, (common) => createTransactionNode(common, protocol), newestTimestamp(transactionSchema));
    this.#session = session;
  }

  /** A session of the protocol's clients. */
  newSession(id: string): Session {
    return new Session(id, this.#session);
  }
}
