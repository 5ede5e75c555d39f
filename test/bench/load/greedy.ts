/**
 * A client that sends as fast as it can, and heeds no refusal: frames of reads on several sessions, reads and writes
 * over HTTP. It has an address of its own, and so a share of the node of its own.
 */
import { Agent, request } from 'node:http';
import { getPriority, setPriority } from 'node:os';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { WebSocket } from 'ws';
import { answerJobs } from '../jobs.js';

export interface GreedyJob {
  /** API of the node. */
  readonly url: string;
  readonly localAddress: string;
  readonly sessions: number;
  /** HTTP connections, one request in flight on each. */
  readonly connections: number;
  readonly durationMs: number;
}

export interface GreedyLoad {
  readonly served: number;
  readonly refused: number;
  /** Connections that the node ended. */
  readonly ended: number;
}

/** Frames in a message, and messages that wait in a socket: far more than the credits of a session. */
const FRAMES = 128;
const MESSAGES = 16;
/** It would be on a machine of its own: on this one it comes behind the node and the quiet client. */
const LOWER_PRIORITY = 19;
const priority = Math.min(19, getPriority() + LOWER_PRIORITY);

const counts = { served: 0, refused: 0, ended: 0 };

answerJobs<GreedyJob, GreedyLoad>(async (job) => {
  setPriority(priority);
  Object.assign(counts, { served: 0, refused: 0, ended: 0 });
  const end = performance.now() + job.durationMs;
  const agent = new Agent({ keepAlive: true, maxSockets: job.connections, localAddress: job.localAddress });
  const sessions = Array.from({ length: job.sessions }, () => session(job, end));
  const requests = Array.from({ length: job.connections }, (_, i) => requestsUntil(job, agent, i, end));
  await Promise.all([...sessions, ...requests]);
  agent.destroy();
  return { ...counts };
});

async function session(job: GreedyJob, end: number): Promise<void> {
  while (performance.now() < end) await oneSocket(job, end);
}

/** Floods one socket until it or the time ends. */
function oneSocket({ url, localAddress }: GreedyJob, end: number): Promise<void> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/session`, SESSION_SUBPROTOCOLS.json, { localAddress });
  let id = 0;
  const flood = (): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const frames = Array.from({ length: FRAMES }, () => ({ type: 'read', id: ++id, keys: ['default/greedy'] }));
    socket.send(JSON.stringify(frames), flood);
  };
  socket.on('open', () => socket.send('{"type":"hello"}'));
  socket.on('message', (data) => {
    const text = String(data);
    if (text.includes('"welcome"')) for (let i = 0; i < MESSAGES; i++) flood();
    counts.served += occurrences(text, '"type":"values"');
    counts.refused += occurrences(text, '"RATE_LIMITED"');
  });
  const timer = setTimeout(() => socket.terminate(), Math.max(0, end - performance.now()));
  return new Promise((resolve) => {
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      if (performance.now() < end) counts.ended++;
      resolve();
    });
  });
}

const occurrences = (text: string, part: string): number => text.split(part).length - 1;

async function requestsUntil({ url }: GreedyJob, agent: Agent, loop: number, end: number): Promise<void> {
  for (let i = loop; performance.now() < end; i++) {
    const status = await requestOnce(url, agent, i % 2 === 0 ? 'GET' : 'PUT');
    if (status === undefined) counts.ended++;
    else if (status === 429) counts.refused++;
    else counts.served++;
  }
}

/** The status; undefined where the connection ended. */
function requestOnce(url: string, agent: Agent, method: 'GET' | 'PUT'): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/keyspaces/default/keys/greedy`, { method, agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
      answer.on('error', () => resolve(undefined));
    });
    sent.on('error', () => resolve(undefined));
    sent.end(method === 'PUT' ? '"greedy"' : undefined);
  });
}
