/** The part of the API that depends on the kind of the cluster's protocol. */
import type { AccessRules, Rules, Serving } from '@isochron/sessions';
import { ConnectedOperations, type ServedNode, type ServedSession, TransactionSession } from '@isochron/sessions';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Authenticator } from '../auth/authenticator.js';
import type { Secrets } from '../config/secret.js';
import { type AnyNode, type OperationsNode, runsTransactions, type TransactionsNode } from '../node/api.js';
import { HttpSessions } from '../session/http-sessions.js';
import { operationTokens, sessionTokens } from '../session/tokens.js';
import { ApiContext, type RouteContext, TransactionsContext } from './context.js';
import { OperationOneShots } from './one-shots/operation-one-shots.js';
import { TransactionOneShots } from './one-shots/transaction-one-shots.js';
import { TRANSACTIONS_ROUTES } from './routes/catalogue.js';
import { addRoutes, refuseRoute } from './routes/route.js';

export interface DataApi extends RouteContext {
  /** Adds the routes of protocols with transactions. */
  routes(scope: FastifyInstance): void;
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
  const sessions = new HttpSessions(
    node,
    sessionTokens(secrets, node.config, () => node.map()),
    serving,
  );
  const api = new TransactionsContext(node, rules, sessions, auth, log, serving, access);
  const oneShots = new TransactionOneShots(api);
  return {
    api,
    oneShots,
    routes: (scope) => addRoutes(scope, node, { api, oneShots }, TRANSACTIONS_ROUTES),
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
    routes: (scope) => {
      for (const route of TRANSACTIONS_ROUTES) refuseRoute(scope, node.protocol, route, route.needs);
    },
    openSession: (served) =>
      new ConnectedOperations(served, { coordinator: node.port, tokens, session: node.protocol.session }),
    // A token is the whole state: there is no cache to hand over.
    handOver: async () => ({ moved: 0, gapped: 0 }),
  };
}
