/** Time, health and the cluster. */
import { IsochronError, type Timestamp } from '@isochron/core';
import type { Serving } from '@isochron/sessions';
import type { Static } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RunningNode } from '../node/api.js';
import { promised } from '../node/promised.js';
import type { ApiContext } from './context.js';
import { json, PLAIN_HEADERS } from './openapi.js';
import { obstaclesOf } from './readiness.js';
import { lossSummary } from './routes-losses.js';
import {
  ClockAnswer,
  ClusterAnswer,
  EmptyQuery,
  HealthAnswer,
  ReadyQuery,
  StableAnswer,
  StableQuery,
} from './schemas.js';
import { stabilityOf } from './stability.js';

const DEFAULT_STABLE_TIMEOUT_MS = 10_000;

export function timeRoutes(app: FastifyInstance, api: ApiContext): void {
  const clock = {
    tags: ['time'],
    operationId: 'getClock',
    summary: 'Clock and stable time of this node',
    querystring: EmptyQuery,
  };
  app.get(
    '/v1/clock',
    {
      schema: clock,
      config: { access: 'any', observes: true, docs: { response: { 200: json(ClockAnswer, 'now', PLAIN_HEADERS) } } },
    },
    (_request, reply) => {
      const answer = { ust: api.node.ust(), hlc: api.node.hlc(), ...api.stability.freshness };
      api.sendJson(reply, JSON.stringify(answer));
    },
  );
  const stable = {
    tags: ['time'],
    operationId: 'waitStable',
    summary: 'Waits until every node of every region serves a timestamp: new sessions see it anywhere',
    querystring: StableQuery,
  };
  app.get(
    '/v1/stable',
    {
      schema: stable,
      config: { access: 'any', docs: { response: { 200: json(StableAnswer, 'it is', PLAIN_HEADERS) } } },
    },
    (request, reply) => waitStable(api, request, reply),
  );
  const summary = 'The cluster file, and the status of this node';
  const cluster = { tags: ['operations'], operationId: 'getCluster', summary, querystring: EmptyQuery };
  app.get(
    '/v1/cluster',
    {
      schema: cluster,
      config: {
        access: 'any',
        observes: true,
        docs: { response: { 200: json(ClusterAnswer, 'the cluster', PLAIN_HEADERS) } },
      },
    },
    (request, reply) =>
      api.sendJson(
        reply,
        JSON.stringify(clusterSummary(api.node, api.serving, api.principal(request).roles.has('operator'))),
      ),
  );
}

async function waitStable(api: ApiContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { ts, timeout } = request.query as Static<typeof StableQuery>;
  api.refuseFuture({ ts }, '"ts"');
  const timeoutMs = timeout ?? DEFAULT_STABLE_TIMEOUT_MS;
  const ust = await promised<Timestamp>((done) => api.serving.stable(api.client(request), ts, timeoutMs, done));
  api.sendJson(reply, JSON.stringify({ ust }));
}

/** The cluster file without the peering addresses, and the status of this node. */
export function clusterSummary(node: RunningNode, serving: Serving, isForOperator: boolean): object {
  const { cluster, protocol, hash, keyspaces, settings } = node.config;
  const regions = node.config.regions.map(({ id, nodes }) => ({
    id,
    nodes: nodes.map((n) => ({ id: n.id, api: n.api })),
  }));
  const status = node.status();
  const stability = stabilityOf(node, status);
  const shape = {
    cluster,
    protocol,
    hash,
    capabilities: [...node.protocol.capabilities],
    regions,
    keyspaces,
    settings,
  };
  return {
    ...shape,
    stability,
    unready: obstaclesOf(node, serving, status),
    losses: lossSummary(node, isForOperator),
    node: status,
  };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether load balancers ask it, by whatever name of the node. */
    isHealth?: boolean;
  }
}

/** For load balancers; also on the private port. */
export function healthRoutes(app: FastifyInstance, node: RunningNode, serving: Serving): void {
  // These routes require no key.
  const schema = { tags: ['operations'], security: [] };
  const docs = { response: { 200: json(HealthAnswer, 'yes') } };
  app.get(
    '/livez',
    {
      schema: { ...schema, querystring: EmptyQuery, operationId: 'isAlive', summary: 'Is the process alive?' },
      config: { docs, isHealth: true },
    },
    (_request, reply) => {
      reply.header('content-type', 'application/json; charset=utf-8').send('{"status":"alive"}');
    },
  );
  const summary = 'Can it serve fresh snapshots and take writes?';
  const ready = { ...schema, querystring: ReadyQuery, operationId: 'isReady', summary };
  app.get('/readyz', { schema: ready, config: { docs, isHealth: true } }, (request, reply) => {
    const { exclude = '' } = request.query as Static<typeof ReadyQuery>;
    const obstacles = obstaclesOf(node, serving).filter(({ check }) => !exclude.split(',').includes(check));
    const reasons = [...(serving.ready ? [] : [serving.state]), ...obstacles.map(({ reason }) => reason)];
    if (reasons.length > 0)
      throw new IsochronError('NOT_READY', `The node is ${reasons.join('; ')}. Send requests to another node.`);
    reply.header('content-type', 'application/json; charset=utf-8').send('{"status":"ready"}');
  });
}
