/** An API over a fake node. */

import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { Effects, Input } from '@isochron/protocols';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import {
  ASKED_TIMER,
  SESSIONS_MACHINE,
  Serving,
  type SessionMessage,
  SessionsMachine,
  type SnapshotChecks,
} from '@isochron/sessions';
import type { FastifyInstance } from 'fastify';
import { type ApiOptions, buildApi } from '../src/http/api.js';
import { DEFAULT_NODE_LIMITS } from '../src/http/limits/limits.js';
import { servedTransactions } from '../src/node/protocols.js';
import { newSessionId } from '../src/session/ids.js';
import { snapshotChecks } from '../src/session/tokens.js';
import { undeclared } from './declared-answers.js';
import { TestCluster, testConfig } from './test-cluster.js';
import { TestNode } from './test-node.js';

/** The secret of every fake cluster. */
export const SECRET = 'a secret for tests only';

/** An answer over a real socket. */
export interface TestAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** The body as JSON. */
  json(): Record<string, unknown>;
}

export interface TestRequest {
  readonly headers?: Record<string, string>;
  /** Text and bytes go as they are; anything else as JSON, with its content type. */
  readonly body?: unknown;
}

export interface TestApi {
  /** Base URL. */
  readonly url: string;
  /** `call('PUT', '/v1/…', { body })`. @throws Error where the answer is not one that the route declares */
  call(method: string, path: string, request?: TestRequest): Promise<TestAnswer>;
  readonly cluster: TestCluster;
  readonly node: TestNode;
  readonly app: FastifyInstance;
  readonly sessions: SessionsMachine;
  readonly serving: Serving;
  close(): Promise<void>;
}

/** Carries messages between the `sessions` machines of several nodes. */
export class SessionNetwork {
  readonly #checks: SnapshotChecks;

  constructor(readonly protocol: ProtocolName = 'paris') {
    this.#checks = snapshotChecks(testConfig(protocol));
  }

  readonly machines = new Map<string, SessionsMachine>();
  /** How long messages take. */
  delayMs = 0;
  /** Nodes that do not answer. */
  readonly silent = new Set<string>();

  machine(node: string): SessionsMachine {
    const machine = new SessionsMachine({
      wake: () => queueMicrotask(() => this.#step(node, { kind: 'timer', now: performance.now(), timer: ASKED_TIMER })),
      session: servedTransactions(this.protocol).session,
      fits: (deps) => this.#checks.fits(deps),
      newId: newSessionId,
      now: () => performance.now(),
      fetchTimeoutMs: 50,
    });
    this.machines.set(node, machine);
    return machine;
  }

  #deliver(from: string, to: string, message: SessionMessage): void {
    if (this.silent.has(to) || this.silent.has(from)) return;
    const address = { node: from, machine: SESSIONS_MACHINE };
    this.#step(to, { kind: 'message', now: performance.now(), from: address, message });
  }

  #step(node: string, input: Input<SessionMessage>): void {
    const send = (to: { node: string }, message: SessionMessage) => {
      if (this.delayMs === 0) queueMicrotask(() => this.#deliver(node, to.node, message));
      else setTimeout(() => this.#deliver(node, to.node, message), this.delayMs);
    };
    const out: Effects<SessionMessage> = {
      send,
      sendAfterPersist: send,
      write: () => 0,
      lastWrite: () => 0,
      setTimer: (timer, at) => {
        const fire = () => this.#step(node, { kind: 'timer', now: performance.now(), timer });
        setTimeout(fire, Math.max(1, at - performance.now() + 1)).unref();
      },
    };
    this.machines.get(node)?.step(input, out);
  }
}

/** Builds the API of one node; several of one cluster share `cluster` and `network`. */
export async function startApi(
  options: Partial<ApiOptions> & { cluster?: TestCluster; network?: SessionNetwork; id?: string } = {},
): Promise<TestApi> {
  const { cluster = new TestCluster(), id = 'virginia-1', ...others } = options;
  const { network = new SessionNetwork(cluster.config.protocol), ...rest } = others;
  const sessions = network.machine(id);
  const node = new TestNode(cluster, id, sessions);
  const serving = new Serving(node, node.config.settings.maxTransactionMs, { ...DEFAULT_NODE_LIMITS, ...rest.limits });
  const app = await buildApi(node, { secret: SECRET, docs: false, serving, ...rest });
  const listened = await app.listen({ port: 0, host: '127.0.0.1' });
  const url = options.certificates === undefined ? listened : listened.replace('http:', 'https:');
  const call: TestApi['call'] = async (method, path, request) => {
    const answer = await send(url, method, path, request);
    const difference = undeclared(method, path, answer);
    if (difference === undefined) return answer;
    throw new Error(`${method} ${path} answers what its route does not declare: ${difference}`);
  };
  const close = async () => {
    await app.close();
    await node.close();
  };
  return { cluster, node, app, sessions, serving, url, call, close };
}

/** Not `fetch`: it would correct requests that these tests send malformed on purpose. */
export function send(
  url: string,
  method: string,
  path: string,
  { headers, body }: TestRequest = {},
): Promise<TestAnswer> {
  const raw = typeof body === 'string' || Buffer.isBuffer(body) || body === undefined;
  const payload = raw ? body : JSON.stringify(body);
  const all = { ...(raw ? {} : { 'content-type': 'application/json' }), ...headers };
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ hostname, port, method, path, headers: all, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString('utf8');
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: bytes,
          text,
          json: () => JSON.parse(text),
        });
      });
    });
    sent.on('error', reject);
    sent.end(payload);
  });
}
