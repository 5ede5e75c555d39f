/** The public HTTP and WebSocket API of a node. */
import helmet from '@fastify/helmet';
import type fastifySwaggerUi from '@fastify/swagger-ui';
import underPressure from '@fastify/under-pressure';
import websocket from '@fastify/websocket';
import { IsochronError } from '@isochron/core';
import { type AccessRules, Rules, ServedSessions, Serving } from '@isochron/sessions';
import fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance, LogController } from 'fastify';
import { Audit, type AuditLog } from '../audit/audit.js';
import { auditedOf, auditOperators } from '../audit/routes.js';
import type { AuthFile } from '../auth/auth-file.js';
import { Authenticator } from '../auth/authenticator.js';
import { identifyCallers } from '../auth/hook.js';
import { requireRoles } from '../auth/roles.js';
import type { Secrets } from '../config/secret.js';
import type { AnyNode } from '../node/api.js';
import type { Certificates } from '../tls/certificates.js';
import { servedNode } from '../ws/served-node.js';
import { handleProtocols, type SessionCounts, SessionHub } from '../ws/session-route.js';
import { type ConnectionState, Connections } from './connections/connections.js';
import { type DataApi, dataApi } from './data-api.js';
import { registerOpenApi } from './documentation/openapi.js';
import { answerBrokenRequest } from './errors/broken-request.js';
import { errorPageRoutes } from './errors/error-pages.js';
import { handleNotFound } from './errors/not-found.js';
import { sendProblem } from './errors/problem.js';
import { type DrainBounds, drain } from './health/drain.js';
import { limitBodies } from './limits/bodies.js';
import { FailedAuthentications } from './limits/failed-authentications.js';
import { DEFAULT_NODE_LIMITS, type NodeLimits } from './limits/limits.js';
import { limitRates } from './limits/rates.js';
import type { HttpLatency } from './metrics/latency.js';
import { jsonBodyParser } from './requests/body.js';
import { allowOrigins, Origins, refuseBrokenUrl } from './requests/origins.js';
import { refuseBadAddresses, refuseEncodedBodies } from './requests/request-headers.js';
import { schemaError, validatorFor } from './requests/validation.js';
import { addToRoute } from './route-hooks.js';
import { COMMON_ROUTES } from './routes/catalogue.js';
import { addRoutes } from './routes/route.js';
import { HEALTH_ROUTES } from './routes/status.js';
import { CLOSE_MS, servers, timesOf } from './server.js';

/** Options of the API, with the secrets that sign session tokens. Limits come from the node's cluster file. */
export interface ApiOptions extends Secrets {
  /** API keys that have all roles. Without these and without `auth` the API is open. */
  readonly apiKeys?: readonly string[];
  /** Issuers and API keys of a file. Its owner closes it. */
  readonly auth?: Pick<AuthFile, 'current' | 'onChange'> | undefined;
  /** Who may do what with which documents; absent: everything is allowed. */
  readonly access?: AccessRules | undefined;
  /** Takes the lines of the audit; default `logger`. */
  readonly auditLog?: AuditLog | undefined;
  readonly logger?: FastifyBaseLogger;
  /** Whether the node accepts requests; shared with `buildMetrics`. Default: a new one. */
  readonly serving?: Serving;
  /** Histogram of request durations, for `buildMetrics`. */
  readonly latency?: HttpLatency;
  /** Origins of web pages that may call, see {@link Origins}. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Host names under which it may be called, see {@link Origins}. */
  readonly allowHosts?: readonly string[] | undefined;
  /** Whether to serve Swagger UI at `/docs`. Default true. Left out, with a warning, on a Node before 20.19. */
  readonly docs?: boolean;
  /** Certificates of the API, which is then served over TLS 1.3 alone. Their owner closes them. */
  readonly certificates?: Certificates | undefined;
  /** Bounds of what callers may use of the node, where they differ from the default. */
  readonly limits?: Partial<NodeLimits>;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Refuses new work, sends clients elsewhere and finishes requests that have begun. See {@link drain}. */
    drain(bounds?: Partial<DrainBounds>): Promise<void>;
    /** The sessions that are served now, and their sockets, for `buildMetrics`. */
    sessionCounts(): SessionCounts;
    /** The connections now, by their state, for `buildMetrics`. */
    connectionCounts(): Record<ConnectionState, number>;
  }
}

/**
 * Builds the API, ready to listen. `drain` lets its users leave. Closing it ends connections and waits for requests in
 * flight. Its owner closes the node.
 */
export async function buildApi(node: AnyNode, options: ApiOptions): Promise<FastifyInstance> {
  const { limits, maxTransactionMs } = node.config.settings;
  const bounds: NodeLimits = { ...DEFAULT_NODE_LIMITS, ...options.limits };
  const { serving = new Serving(node, maxTransactionMs, bounds), certificates } = options;
  const auth = new Authenticator(options);
  const origins = new Origins({ ...options, keyed: auth.required });
  const app = fastify({
    serverFactory: servers(certificates, timesOf(bounds)),
    ...(options.logger === undefined ? { logger: false } : { loggerInstance: options.logger }),
    logController: new LogController({ disableRequestLogging: true }),
    // Requests are not logged, so none needs a logger of its own.
    childLoggerFactory: (logger) => logger,
    bodyLimit: limits.maxRequestBytes,
    // A percent-encoded key may be three times as long.
    routerOptions: { maxParamLength: 3 * limits.maxKeyBytes + 64 },
    // Lets keep-alive connections end as soon as their request is answered.
    forceCloseConnections: 'idle',
    // Requests that still arrive are refused by a problem document.
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest(origins),
    frameworkErrors: (error, request, reply) =>
      refuseBrokenUrl(origins, request, reply, (refusal = badUrl(error, request.url)) =>
        sendProblem(reply, refusal, request.log),
      ),
  });
  const connections = new Connections(app.server, bounds, serving.reached.reached, app.log);
  connections.followUpgrades(app.server);
  serving.crowding = () => connections.crowding;
  const rules = new Rules(node.topology, limits);
  const { access } = options;
  const data = dataApi(node, { secrets: options, rules, auth, log: app.log, serving, access });
  const { api, handOver } = data;
  const failed = new FailedAuthentications(bounds, serving);
  const audit = new Audit(options.auditLog ?? app.log);
  const served = servedNode(api, failed, audit);
  const hub = new SessionHub(api, new ServedSessions(served, () => data.openSession(served)), bounds, connections);
  app.addHook('onClose', async () => {
    auth.close();
    audit.close();
  });
  app.decorate('sessionCounts', () => hub.counts);
  app.decorate('connectionCounts', () => connections.counts());
  const parts = { api, handOver, hub, server: app.server, connections };
  app.decorate('drain', (bounds?: Partial<DrainBounds>) => drain(parts, bounds));
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof IsochronError) audit.refused({ error, ...auditedOf(request) });
    return sendProblem(reply, asValueError(error, request.routeOptions.config.bodyIsValue), request.log);
  });
  app.setValidatorCompiler(({ schema, httpPart }) => validatorFor(schema, httpPart));
  app.setSchemaErrorFormatter(schemaError);
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, jsonBodyParser);
  handleNotFound(app);
  if (options.latency !== undefined) measure(app, options.latency);
  await app.register(websocket, {
    // A message slightly above the limit is still read, so that the client receives the reason of the refusal.
    options: { handleProtocols, maxPayload: 2 * limits.maxRequestBytes, perMessageDeflate: false, autoPong: false },
    errorHandler: (error, socket, request) => {
      request.log.debug({ err: error }, 'session socket');
      // After a broken or far too large message, ws is closing already, with the close code of the reason.
      if (socket.readyState === socket.OPEN) socket.terminate();
    },
    preClose: (done) => {
      const isDrained = serving.phase === 'refusing';
      serving.refuse();
      hub.close();
      app.websocketServer.close();
      connections.endAfter(isDrained ? 0 : CLOSE_MS);
      done();
    },
  });
  // After the WebSocket plugin: its hook, which runs before this one, closes the sockets of refused upgrades.
  allowOrigins(app, origins);
  refuseBadAddresses(app);
  await registerOpenApi(app, auth.required);
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  const swaggerUi = options.docs === false ? undefined : await loadSwaggerUi(app.log);
  if (swaggerUi !== undefined) await app.register(async (scope) => documentation(scope, swaggerUi));
  const start = swaggerUi === undefined ? '/openapi.json' : '/docs';
  app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect(start));
  errorPageRoutes(app);
  addRoutes(app, node, { node, serving }, HEALTH_ROUTES);
  await app.register(async (scope) => versionOne(scope, data, hub, audit, failed, bounds));
  return app;
}

/** Whether the node sheds load: memory or the event loop is beyond its bound. */
function isOverloaded(app: FastifyInstance, bounds: NodeLimits): boolean {
  const { heapUsed, rssBytes, eventLoopDelay } = app.memoryUsage();
  const isFull = heapUsed > bounds.heapBytes || (bounds.rssBytes > 0 && rssBytes > bounds.rssBytes);
  // No measurement yet is not a long delay: while a node starts, its first interval may have no sample.
  return isFull || (eventLoopDelay > bounds.eventLoopDelayMs && eventLoopDelay !== Number.POSITIVE_INFINITY);
}

/** All routes under `/v1`: refused under pressure and without a key. */
async function versionOne(
  scope: FastifyInstance,
  data: DataApi,
  hub: SessionHub,
  audit: Audit,
  failed: FailedAuthentications,
  bounds: NodeLimits,
): Promise<void> {
  const { api } = data;
  await scope.register(underPressure, {
    maxEventLoopDelay: bounds.eventLoopDelayMs,
    maxHeapUsedBytes: bounds.heapBytes,
    maxRssBytes: bounds.rssBytes,
    pressureHandler: () => {
      if (!isOverloaded(scope, bounds)) return;
      api.serving.reached.reached('memory');
      throw new IsochronError(
        'OVERLOADED',
        'The node has more work than it can do. Repeat the request later, or elsewhere.',
      );
    },
  });
  hub.isOverloaded = () => isOverloaded(scope, bounds);
  scope.get('/v1/session', { websocket: true, schema: { hide: true } }, (socket, request) =>
    request.isOfRefusedPage
      ? hub.refusePage(socket, request.raw.socket)
      : hub.admit(socket, request.raw.socket, request.headers['sec-websocket-protocol']),
  );
  const { serving } = api;
  refuseEncodedBodies(scope);
  limitBodies(scope, api, bounds);
  scope.register(async (routes) => {
    routes.addHook('onRequest', (request, _reply, done) => {
      // Looked at only before a refusal: this runs for every request.
      if (!serving.admitsRequests && request.routeOptions.config.observes !== true) throw serving.notReady();
      done();
    });
    identifyCallers(routes, api.auth, failed);
    limitRates(routes, api);
    requireRoles(routes, api);
    auditOperators(routes, audit);
    addRoutes(routes, api.node, data, COMMON_ROUTES);
    data.routes(routes);
  });
}

/** Loaded here because a Node before 20.19 cannot: a dependency is an ES module that is loaded by `require`. */
async function loadSwaggerUi(log: FastifyBaseLogger): Promise<typeof fastifySwaggerUi | undefined> {
  try {
    return (await import('@fastify/swagger-ui')).default;
  } catch (err) {
    log.warn({ err }, 'there is no page at /docs: it needs Node 20.19 or later');
    return undefined;
  }
}

/** Security headers cost time, and only pages need them. */
async function documentation(scope: FastifyInstance, swaggerUi: typeof fastifySwaggerUi): Promise<void> {
  await scope.register(helmet, { contentSecurityPolicy: false });
  await scope.register(swaggerUi, { routePrefix: '/docs', staticCSP: true });
}

function badUrl(error: FastifyError, url: string): IsochronError {
  const isKey = /^\/v1\/keyspaces\/[^/]+\/keys\//.test(url);
  if (error.code === 'FST_ERR_BAD_URL' && isKey) {
    return new IsochronError('KEY_INVALID', 'The key in the path is not percent-encoded UTF-8.');
  }
  return new IsochronError('INVALID_REQUEST', 'The URL is not well formed.');
}

function asValueError(error: unknown, bodyIsValue: boolean | undefined): unknown {
  const tooLarge = error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE';
  if (!tooLarge || bodyIsValue !== true) return error;
  return new IsochronError('VALUE_TOO_LARGE', 'The value is larger than this cluster accepts.', { cause: error });
}

function measure(app: FastifyInstance, latency: HttpLatency): void {
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) {
      const series = latency.route(method, route.url);
      addToRoute(route, 'onResponse', (_request, reply, done) => {
        series.observe(reply.statusCode, reply.elapsedTime);
        done();
      });
    }
  });
}
