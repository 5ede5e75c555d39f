/** The part of the API that depends on the kind of the cluster's protocol. */

import type { Capability } from '@isochron/protocols';
import type { AccessRules, Rules, Serving } from '@isochron/sessions';
import {
  ConnectedOperations,
  type ServedNode,
  type ServedSession,
  TransactionSession,
  unsupported,
} from '@isochron/sessions';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Authenticator } from '../auth/authenticator.js';
import type { Secrets } from '../config/secret.js';
import { type AnyNode, type OperationsNode, runsTransactions, type TransactionsNode } from '../node/api.js';
import { HttpSessions } from '../session/http-sessions.js';
import { operationTokens, sessionTokens } from '../session/tokens.js';
import { ApiContext, TransactionsContext } from './context.js';
import type { OneShots } from './one-shots.js';
import { OperationOneShots } from './operation-one-shots.js';
import { changesRoutes } from './routes-changes.js';
import { claimRoutes } from './routes-claims.js';
import { listRoutes } from './routes-list.js';
import { transactionRoutes } from './routes-transactions.js';
import { TransactionOneShots } from './transaction-one-shots.js';

export interface DataApi {
  readonly api: ApiContext;
  readonly oneShots: OneShots;
  /** Routes beside those of one-shot reads and writes. */
  routes(app: FastifyInstance): void;
  /** Begins the session of a WebSocket connection. */
  openSession(node: ServedNode): ServedSession;
  /**
   * Hands the caches that this node keeps for callers to another node, before it closes. Resolves with fields for the
   * log.
   */
  handOver(waitMs: number): Promise<object>;
}

/** The parts of an API. */
export interface ApiParts {
  /** The secrets that sign session tokens. */
  readonly secrets: Secrets;
  readonly rules: Rules;
  readonly auth: Authenticator;
  readonly log: FastifyBaseLogger;
  readonly serving: Serving;
  /** The access rules of the node; undefined where there are none. */
  readonly access?: AccessRules | undefined;
}

export const dataApi = (node: AnyNode, parts: ApiParts): DataApi =>
  runsTransactions(node) ? transactionsApi(node, parts) : operationsApi(node, parts);

function transactionsApi(node: TransactionsNode, { secrets, rules, auth, log, serving, access }: ApiParts): DataApi {
  const sessions = new HttpSessions(node, sessionTokens(secrets, node.config), serving);
  const api = new TransactionsContext(node, rules, sessions, auth, log, serving, access);
  const oneShots = new TransactionOneShots(api);
  return {
    api,
    oneShots,
    routes: (app) => {
      listRoutes(app, api);
      changesRoutes(app, api);
      transactionRoutes(app, api);
      claimRoutes(app, api, oneShots);
    },
    openSession: (served) =>
      new TransactionSession(served, {
        coordinator: node.port,
        access,
        outcomes: api.outcomes,
        tokens: sessions.tokens,
      }),
    handOver: (waitMs) => sessions.handOver(waitMs),
  };
}

function operationsApi(node: OperationsNode, { secrets, rules, auth, log, serving }: ApiParts): DataApi {
  const tokens = operationTokens(secrets, node.config);
  const api = new ApiContext(node, rules, auth, log, serving);
  return {
    api,
    oneShots: new OperationOneShots(api, node, tokens),
    routes: (app) => {
      refused(app, api, '/v1/keyspaces/:keyspace/keys', 'list');
      refused(app, api, '/v1/keyspaces/:keyspace/keys/:key/claim', 'updates');
      refused(app, api, '/v1/changes', 'changes');
      refused(app, api, '/v1/transactions', 'transactions');
      refused(app, api, '/v1/transactions/*', 'transactions');
    },
    openSession: (served) =>
      new ConnectedOperations(served, { coordinator: node.port, tokens, session: node.protocol.session }),
    // A token is the whole state: there is no cache to hand over.
    handOver: async () => ({ moved: 0, gapped: 0 }),
  };
}

/** Routes of other protocols refuse with that reason, instead of not being found. */
function refused(app: FastifyInstance, { node }: ApiContext, url: string, needed: Capability): void {
  // Whatever the caller may do: nothing is done.
  app.all(url, { schema: { hide: true }, config: { access: 'any' } }, ({ method }) => {
    throw unsupported(node.protocol, needed, `${method} ${url}`);
  });
}
