/** Every hot HTTP route, of one region and of all regions at once, beside a bare Fastify route with the same bytes. */
import { invariant } from '@isochron/core';
import { KeyTable } from '@isochron/workload';
import type { Request } from 'autocannon';
import { type Cluster, type ClusterNode, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { type Line, ratioAtLeast, type Target } from '../figures.js';
import type { BareRoute, FastifyJob } from '../limits/fastify.js';
import { checkAnswer, type Expected } from '../load/answers.js';
import type { CheckedRequest, HttpJob, HttpTarget } from '../load/http.js';
import { hostedKeys } from '../load/loaded-cluster.js';
import { type ValueRule, valueFor } from '../load/values.js';
import type { Contender, Load } from '../rounds.js';
import { compare } from './compare.js';

const CONNECTIONS = 50;
/** Number of different requests that the connections repeat. */
const VARIANTS = 64;
const KEYS_PER_READ = 20;
const LISTED = 20;
const JSON_HEADERS = { 'content-type': 'application/json' };
/** Headers that Fastify and Node set themselves. */
const OWN_HEADERS = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);

/** A hot route. */
interface HotRoute {
  readonly name: string;
  readonly what: string;
  /** The route's pattern for the bare Fastify. */
  readonly url: string;
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly status: number;
  readonly target?: Target;
  /** Whether every region has work, not only the answering one. */
  readonly everywhere?: boolean;
  /** Whether it writes the last of the keys. */
  readonly writes?: boolean;
  /** The requests, for keys of partitions that the region hosts. */
  readonly requests: (
    keys: readonly string[],
    node: ClusterNode,
    rule: ValueRule,
  ) => Promise<CheckedRequest[]> | CheckedRequest[];
}

const keyPath = (key: string): string => `/v1/keyspaces/default/keys/${encodeURIComponent(key)}`;

const get = (keys: readonly string[]): CheckedRequest[] =>
  keys
    .slice(0, VARIANTS)
    .map((key) => ({ request: { method: 'GET', path: keyPath(key) }, expected: { of: 'value', key } }));

/** Requests with the current entity tags: these keys are not written meanwhile. */
const revalidate = (keys: readonly string[], node: ClusterNode, rule: ValueRule): Promise<CheckedRequest[]> =>
  Promise.all(
    keys.slice(0, VARIANTS).map(async (key): Promise<CheckedRequest> => {
      const answer = await fetch(node.url + keyPath(key));
      checkAnswer(rule, { of: 'value', key }, await answer.text());
      const headers = { 'if-none-match': answer.headers.get('etag') ?? '' };
      return { request: { method: 'GET', path: keyPath(key), headers }, expected: { of: 'nothing' } };
    }),
  );

/** Each key has a writer of its own; {@link readBack} verifies the stored values. */
const put = (keys: readonly string[], _node: ClusterNode, rule: ValueRule): CheckedRequest[] =>
  keys.slice(-VARIANTS).map((key, writer) => {
    const body = JSON.stringify(valueFor(rule, key, writer));
    const request: Request = { method: 'PUT', path: keyPath(key), headers: JSON_HEADERS, body };
    return { request, expected: { of: 'commit' } };
  });

const read = (keys: readonly string[]): CheckedRequest[] =>
  Array.from({ length: VARIANTS }, (_, i) => {
    const asked = Array.from({ length: KEYS_PER_READ }, (_, k) => keys[(i + k * VARIANTS) % keys.length]!);
    const body = JSON.stringify({ keys: asked.map((key) => ({ keyspace: 'default', key })) });
    const request: Request = { method: 'POST', path: '/v1/read', headers: JSON_HEADERS, body };
    return { request, expected: { of: 'values', keys: asked } };
  });

const commit = (keys: readonly string[], _node: ClusterNode, rule: ValueRule): CheckedRequest[] =>
  keys.slice(-VARIANTS).map((key, writer) => {
    const write = { keyspace: 'default', key, value: valueFor(rule, key, writer) };
    const body = JSON.stringify({ writes: [write] });
    const request: Request = { method: 'POST', path: '/v1/commit', headers: JSON_HEADERS, body };
    return { request, expected: { of: 'commit' } };
  });

const list = (): CheckedRequest[] => [
  {
    request: { method: 'GET', path: `/v1/keyspaces/default/keys?prefix=key-1&limit=${LISTED}` },
    expected: { of: 'entries', count: LISTED },
  },
];

const KEY_URL = '/v1/keyspaces/:keyspace/keys/:key';
const ROUTES: readonly HotRoute[] = [
  {
    name: 'http-get',
    what: 'GET one key',
    url: KEY_URL,
    method: 'GET',
    status: 200,
    target: ratioAtLeast(0.85),
    requests: get,
  },
  {
    name: 'http-304',
    what: 'GET one key, not modified',
    url: KEY_URL,
    method: 'GET',
    status: 304,
    requests: revalidate,
  },
  {
    name: 'http-read',
    what: `POST /v1/read of ${KEYS_PER_READ} local keys`,
    url: '/v1/read',
    method: 'POST',
    status: 200,
    target: ratioAtLeast(0.7),
    requests: read,
  },
  {
    name: 'http-list',
    what: `list ${LISTED} keys`,
    url: '/v1/keyspaces/:keyspace/keys',
    method: 'GET',
    status: 200,
    everywhere: true,
    requests: list,
  },
  {
    name: 'http-put',
    what: 'PUT one key, durable',
    url: KEY_URL,
    method: 'PUT',
    status: 200,
    everywhere: true,
    writes: true,
    requests: put,
  },
  {
    name: 'http-commit',
    what: 'POST /v1/commit of one key, durable',
    url: '/v1/commit',
    method: 'POST',
    status: 200,
    everywhere: true,
    writes: true,
    requests: commit,
  },
];

/** One benchmark for each hot route. */
export const httpBenchmarks: readonly Benchmark[] = ROUTES.map((route) => ({
  name: route.name,
  about: `${route.what} over HTTP ÷ bare Fastify`,
  run: (context) => runRoute(context, route),
}));

/** Requests of a hot route to the first node of a cluster. */
export async function httpRequests(context: Context, cluster: Cluster, name: string): Promise<Contender> {
  const route = ROUTES.find((route) => route.name === name);
  invariant(route !== undefined, 'the route is hot');
  return oneNode(context, cluster, route, await targetOf(context, cluster, cluster.nodes[0]!, route));
}

const oneNode = (context: Context, { pids }: Cluster, route: HotRoute, target: HttpTarget): Contender => ({
  run: loadOf(context, route)([target]),
  pids: route.everywhere ? pids : pids.slice(0, 1),
});

const loadOf =
  (context: Context, { status }: HotRoute) =>
  (targets: readonly HttpTarget[]) =>
  (durationMs: number): Promise<Load> =>
    context
      .helper<HttpJob, Load>('./load/http.js')
      .run({ targets, connections: CONNECTIONS, status, values: context.valuesOf(), durationMs });

async function runRoute(context: Context, route: HotRoute): Promise<Line[]> {
  const cluster = await context.filledCluster();
  const real = await Promise.all(cluster.nodes.map((node) => targetOf(context, cluster, node, route)));
  const bare = await Promise.all(real.map((target, i) => bareTarget(context, route, target, i)));
  const load = loadOf(context, route);
  const contenders: Record<'bare' | 'one' | 'bareAll' | 'all', Contender> = {
    bare: { run: load([bare[0]!.target]), pids: [bare[0]!.pid] },
    one: oneNode(context, cluster, route, real[0]!),
    bareAll: { run: load(bare.map(({ target }) => target)), pids: bare.map(({ pid }) => pid) },
    all: { run: load(real), pids: cluster.pids },
  };
  const { what, target } = route;
  const lines = await compare(context, contenders, [
    {
      of: 'one',
      what: `${what}: HTTP, ${CONNECTIONS} connections`,
      beside: ['bare', 'bare Fastify'],
      target,
      details: { connections: CONNECTIONS, answer: bare[0]!.route },
    },
    {
      of: 'all',
      what: `${what}: ${REGIONS.length} regions at once, ${CONNECTIONS} connections each`,
      beside: ['bareAll', `${REGIONS.length} bare Fastify`],
    },
  ]);
  if (route.writes) for (const node of cluster.nodes) await readBack(context, cluster, node);
  return lines;
}

function keysOf(context: Context, { topology }: Cluster, { region }: ClusterNode): string[] {
  return hostedKeys(topology, new KeyTable(topology, context.keysPerPartition), region);
}

async function targetOf(context: Context, cluster: Cluster, node: ClusterNode, route: HotRoute): Promise<HttpTarget> {
  const keys = keysOf(context, cluster, node);
  return { url: node.url, requests: await route.requests(keys, node, context.valuesOf()) };
}

/** @throws WrongValue if a written key has another value */
async function readBack(context: Context, cluster: Cluster, node: ClusterNode): Promise<void> {
  for (const { request, expected } of get(keysOf(context, cluster, node).slice(-VARIANTS))) {
    const answer = await fetch(node.url + request.path);
    checkAnswer(context.valuesOf(), expected, await answer.text());
  }
}

/** A bare Fastify with the node's answer to the first of the requests; its answers are checked like the node's. */
async function bareTarget(context: Context, route: HotRoute, { url, requests }: HttpTarget, index: number) {
  const [first] = requests as [CheckedRequest, ...CheckedRequest[]];
  const answer = await answerOf(route, url, first.request);
  const server = context.helper<FastifyJob, number>('./limits/fastify.js', String(index));
  const port = await server.run({ routes: [answer] });
  const expected: Expected = first.expected;
  const bare = requests.map(({ request }): CheckedRequest => ({ request, expected }));
  return { target: { url: `http://127.0.0.1:${port}`, requests: bare }, pid: server.pid, route: answer };
}

async function answerOf(route: HotRoute, url: string, { path, method, headers, body }: Request): Promise<BareRoute> {
  const init = { method: method ?? 'GET', headers: headers as Record<string, string>, body: body as string };
  const answer = await fetch(url + path, { ...init, ...(body === undefined && { body: null }) });
  const text = await answer.text();
  if (answer.status !== route.status) throw new Error(`${url}${path} answers ${answer.status}: ${text}`);
  const kept = [...answer.headers].filter(([name]) => !OWN_HEADERS.has(name));
  return { method: route.method, url: route.url, status: route.status, headers: Object.fromEntries(kept), body: text };
}
