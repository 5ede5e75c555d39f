/** Time, health and the cluster. */
import { IsochronError, type Timestamp } from '@isochron/core';
import type { Serving } from '@isochron/sessions';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RunningNode } from '../../node/api.js';
import { promised } from '../../node/promised.js';
import type { ApiContext, RouteContext } from '../context.js';
import { COMPONENT } from '../documentation/components.js';
import { json, PLAIN_HEADERS, SessionHeaders } from '../documentation/openapi.js';
import { Nullable, named, object, TIMESTAMP, TimestampSchema } from '../documentation/schemas.js';
import { obstaclesOf, READINESS_CHECKS } from '../health/readiness.js';
import { stabilityOf } from '../health/stability.js';
import { LossSchema, lossSummary } from './losses.js';
import type { Route } from './route.js';
import { SESSION_ERRORS } from './route-errors.js';

const DEFAULT_STABLE_TIMEOUT_MS = 10_000;

const StableQuery = object({
  ts: Type.Integer({ ...TIMESTAMP, description: 'timestamp of a write' }),
  timeout: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000, default: 10_000, description: 'milliseconds' })),
});
/** Stable time in the status: `Stability`. */
const HeldBackSchema = named('HeldBack', {
  region: Type.String(),
  node: Nullable(Type.String()),
  partition: Nullable(Type.String()),
});
const FreshnessFields = {
  stalenessMs: Type.Integer({ description: 'age of the stable snapshot' }),
  stale: Type.Boolean({ description: 'whether that is above `stalenessAlertMs` of the cluster file' }),
  heldBackBy: Nullable(HeldBackSchema, 'while stale: whose writes are missing, by the data of this node'),
};
const StabilitySchema = named(
  'Stability',
  {
    ust: TimestampSchema,
    alertMs: Type.Integer({ description: '`stalenessAlertMs` of the cluster file' }),
    ...FreshnessFields,
    lowest: Nullable(
      object({
        region: Type.String({ description: 'source region of the entry' }),
        node: Nullable(Type.String()),
        partition: Type.String({ description: 'the replica of this node that has the entry' }),
        timestamp: TimestampSchema,
        ageMs: Type.Integer(),
      }),
      'lowest entry of the version vectors that this node holds',
    ),
  },
  'stable time on this node',
);
const ClockAnswer = named('Clock', {
  ust: TimestampSchema,
  hlc: TimestampSchema,
  now: Type.Integer({ description: 'wall clock, ms since 1970' }),
  ...FreshnessFields,
});
const StableAnswer = named('StableTime', {
  ust: Type.Integer({ ...TIMESTAMP, description: 'a time that every node of every region serves' }),
});
const CHECKS = READINESS_CHECKS.join('|');
const ReadyQuery = object({
  exclude: Type.Optional(
    Type.String({
      pattern: `^(${CHECKS})(,(${CHECKS}))*$`,
      description: `checks to leave out, with commas between them: ${READINESS_CHECKS.join(', ')}`,
    }),
  ),
});
const HealthAnswer = named('Health', { status: Type.String() });
/** Whether the peers have confirmed that a node's disk was not rolled back. */
const VerificationSchema = named('Verification', {
  state: Type.Union([
    Type.Literal('verifying', {
      description: 'the node takes no writes until a peer replica of each partition has reported',
    }),
    Type.Literal('verified', { description: 'every peer replica has reported: the disk was not rolled back' }),
    Type.Literal('unverified', { description: 'the node goes on without the reports of the nodes in `missing`' }),
  ]),
  missing: Type.Array(Type.String(), { description: 'nodes whose reports are missing' }),
  timedOut: Type.Boolean({
    description: 'no peer replica of some partition reported within `verifyTimeoutMs` of the cluster file',
  }),
});
/** The status of a node grows new fields: only those that a client relies on are named. */
const ClusterAnswer = Type.Object(
  {
    cluster: Type.String(),
    protocol: Type.String(),
    hash: Type.String(),
    capabilities: Type.Array(Type.String(), {
      description: 'operations of the protocol; others are refused with NOT_SUPPORTED_BY_PROTOCOL',
      examples: [
        ['transactions', 'list', 'stable', 'chained-commits', 'snapshots', 'read-past', 'stable-snapshots', 'updates'],
      ],
    }),
    regions: Type.Array(
      object({ id: Type.String(), nodes: Type.Array(object({ id: Type.String(), api: Type.String() })) }),
    ),
    keyspaces: Type.Array(Type.Object({ name: Type.String(), partitions: Type.Integer() })),
    settings: Type.Object({}, { description: 'settings of the cluster file' }),
    stability: StabilitySchema,
    unready: Type.Array(object({ check: Type.String(), reason: Type.String() }), {
      description: 'reasons why the node that answers is not ready',
    }),
    losses: object(
      { open: Type.Integer(), newest: Type.Array(LossSchema) },
      'transactions of which a lost disk took a part, and that are not acknowledged; /v1/losses has all of them',
    ),
    node: Type.Object(
      { node: Type.String(), region: Type.String(), verification: VerificationSchema },
      { description: 'status of the node that answers' },
    ),
  },
  { [COMPONENT]: 'Cluster' },
);

const reports = { method: 'GET', access: 'any', observes: true, errors: [] } as const;

/** Time and the cluster. */
export const TIME_ROUTES: readonly Route<RouteContext>[] = [
  {
    ...reports,
    path: '/v1/clock',
    id: 'getClock',
    tag: 'time',
    summary: 'Clock and stable time of this node',
    answers: { 200: json(ClockAnswer, 'now', PLAIN_HEADERS) },
    handle: ({ api }, _request, reply) => {
      const answer = { ust: api.node.ust(), hlc: api.node.hlc(), ...api.stability.freshness };
      api.sendJson(reply, JSON.stringify(answer));
    },
  },
  {
    method: 'GET',
    path: '/v1/stable',
    id: 'waitStable',
    tag: 'time',
    summary: 'Waits until every node of every region serves a timestamp: new sessions see it anywhere',
    description:
      'A write whose node was suspended is committed again at a later timestamp. Send the token of the write along: the answer is SESSION_DEFERRED where that may be so.',
    access: 'any',
    headers: SessionHeaders,
    query: StableQuery,
    answers: { 200: json(StableAnswer, 'it is', PLAIN_HEADERS) },
    errors: ['TIMESTAMP_IN_FUTURE', 'STABLE_TIMEOUT', ...SESSION_ERRORS],
    handle: ({ api }, request, reply) => waitStable(api, request, reply),
  },
  {
    ...reports,
    path: '/v1/cluster',
    id: 'getCluster',
    tag: 'operations',
    summary: 'The cluster file, and the status of this node',
    answers: { 200: json(ClusterAnswer, 'the cluster', PLAIN_HEADERS) },
    handle: ({ api }, request, reply) => {
      const isForOperator = api.principal(request).roles.has('operator');
      api.sendJson(reply, JSON.stringify(clusterSummary(api.node, api.serving, isForOperator)));
    },
  },
];

async function waitStable(api: ApiContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { ts, timeout } = request.query as Static<typeof StableQuery>;
  api.refuseFuture({ ts }, '"ts"');
  const timeoutMs = timeout ?? DEFAULT_STABLE_TIMEOUT_MS;
  const ust = await promised<Timestamp>((done) => api.serving.stable(api.client(request), ts, timeoutMs, done));
  api.refuseDeferred(request);
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

/** The node, for load balancers. */
export interface HealthContext {
  readonly node: RunningNode;
  readonly serving: Serving;
}

const health = {
  method: 'GET',
  tag: 'operations',
  access: 'health',
  answers: { 200: json(HealthAnswer, 'yes') },
  errors: [],
} as const;

/** For load balancers; also on the private port. */
export const HEALTH_ROUTES: readonly Route<HealthContext>[] = [
  {
    ...health,
    path: '/livez',
    id: 'isAlive',
    summary: 'Is the process alive?',
    handle: (_context, _request, reply) => {
      reply.header('content-type', 'application/json; charset=utf-8').send('{"status":"alive"}');
    },
  },
  {
    ...health,
    path: '/readyz',
    id: 'isReady',
    summary: 'Can it serve fresh snapshots and take writes?',
    query: ReadyQuery,
    handle: ({ node, serving }, request, reply) => {
      const { exclude = '' } = request.query as Static<typeof ReadyQuery>;
      const obstacles = obstaclesOf(node, serving).filter(({ check }) => !exclude.split(',').includes(check));
      const reasons = [...(serving.ready ? [] : [serving.state]), ...obstacles.map(({ reason }) => reason)];
      if (reasons.length > 0)
        throw new IsochronError('NOT_READY', `The node is ${reasons.join('; ')}. Send requests to another node.`);
      reply.header('content-type', 'application/json; charset=utf-8').send('{"status":"ready"}');
    },
  },
];
