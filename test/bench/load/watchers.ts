/**
 * Watchers of live queries, each on a socket of its own, and a writer of what they watch. The watchers are bare sockets
 * with the frames of the SDK, so that the load generator costs little beside the node. Every document that arrives is
 * verified, and each change must arrive at each of its watchers.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { IsochronClient } from '@isochron/sdk';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { WebSocket } from 'ws';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { loadCluster } from './loaded-cluster.js';
import { StableTimeline } from './stable-timeline.js';
import { type ValueRule, valueFor, verify } from './values.js';
import { latencyHistogram, record } from './window.js';

/** Opens sockets beside the open ones. */
export interface OpenJob {
  readonly kind: 'open';
  readonly configFile: string;
  readonly region: string;
  /** Sockets in all. */
  readonly sockets: number;
}

/** Gives each open socket its five watches, each of one key that 1, 1, 10, 100 or 1,000 sockets watch. */
export interface WatchJob {
  readonly kind: 'watch';
}

/** Writes keys that `audience` sockets watch each, at a rate. */
export interface ChangeJob {
  readonly kind: 'change';
  readonly configFile: string;
  readonly region: string;
  readonly audience: number;
  readonly changesPerSecond: number;
  readonly durationMs: number;
  readonly values: ValueRule;
}

/** Sends each socket's next request no more: their readers are stalled. */
export interface StallJob {
  readonly kind: 'stall';
  readonly isStalled: boolean;
}

export type WatchersJob = OpenJob | WatchJob | ChangeJob | StallJob;

export interface WatchersLoad extends Load {
  /** Documents that arrived, over all sockets. */
  readonly delivered: number;
  /** Messages that arrived. */
  readonly messages: number;
  readonly bytes: number;
}

/** Audiences of the watches of a socket. */
export const AUDIENCES = [1, 1, 10, 100, 1000] as const;
const AT_ONCE = 50;
const WAIT_MS = 60_000;
const PROBE_MS = 2;
/** Changes that are written together, in one turn. */
const BURST_MS = 10;
const SETTLE_MS = 60_000;

/** The number of the key that a socket watches with its watch `n`. */
const keyOf = (n: number, socket: number): string => `watched/${n}/${Math.floor(socket / AUDIENCES[n]!)}`;

type Contents = readonly (readonly [ts: number, tx: string, content: unknown])[];

interface LiveAnswer {
  readonly type: string;
  readonly id: number;
  readonly ust: number;
  readonly to: number;
  readonly changes: readonly (readonly [key: string, contents: Contents])[];
  readonly detail?: string;
}

type Arrived = (key: string, ts: number, value: unknown) => void;

/** What all watchers have received so far. */
const received = { messages: 0, bytes: 0 };
let arrived: Arrived = () => {};
let isStalled = false;

class Watcher {
  #position = 0;
  #id = 0;
  #waits = false;
  failure: Error | undefined;

  private constructor(
    readonly socket: WebSocket,
    readonly number: number,
  ) {
    socket.on('message', (data: Buffer) => this.#message(data));
    socket.on('close', (code) => this.#fail(`the socket ${number} was closed with ${code}`));
  }

  static async open(url: string, number: number): Promise<Watcher> {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/session`, SESSION_SUBPROTOCOLS.json, {
      perMessageDeflate: false,
    });
    await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const watcher = new Watcher(socket, number);
    socket.send(JSON.stringify({ type: 'hello' }));
    while (watcher.#position === 0 && watcher.failure === undefined) await delay(1);
    if (watcher.failure !== undefined) throw watcher.failure;
    return watcher;
  }

  watch(): void {
    const add = AUDIENCES.map((_, n) => ({ watch: n + 1, keys: [`default/${keyOf(n, this.number)}`] }));
    this.#send({ add });
  }

  /** Sends the request that a stalled reader left out. */
  next(): void {
    if (!this.#waits) this.#send({});
  }

  #send(scopes: object): void {
    this.#waits = true;
    this.socket.send(
      JSON.stringify({ type: 'live', id: ++this.#id, after: this.#position, waitMs: WAIT_MS, ...scopes }),
    );
  }

  #message(data: Buffer): void {
    received.messages++;
    received.bytes += data.length;
    const message = JSON.parse(data.toString('utf8')) as LiveAnswer | LiveAnswer[];
    try {
      for (const frame of Array.isArray(message) ? message : [message]) this.#frame(frame);
    } catch (error) {
      this.failure ??= error as Error;
    }
  }

  #frame(frame: LiveAnswer): void {
    if (frame.type === 'welcome') this.#position = frame.ust;
    else if (frame.type === 'error') this.#fail(`the node refuses: ${frame.detail}`);
    else if (frame.type === 'live') this.#changed(frame);
  }

  #changed({ to, changes }: LiveAnswer): void {
    this.#position = to;
    this.#waits = false;
    for (const [key, contents] of changes) {
      const [ts, , content] = contents.at(-1)!;
      arrived(key.slice('default/'.length), ts, JSON.parse(content as string));
    }
    if (!isStalled) this.#send({});
  }

  #fail(why: string): void {
    this.failure ??= new Error(why);
  }
}

const watchers: Watcher[] = [];

const NOTHING: WatchersLoad = { operations: 0, elapsedMs: 0, delivered: 0, messages: 0, bytes: 0 };

answerJobs<WatchersJob, WatchersLoad>(async (job) => {
  if (job.kind === 'open') await open(job);
  else if (job.kind === 'watch') for (const watcher of watchers) watcher.watch();
  else if (job.kind === 'stall') stall(job);
  else return change(job);
  checkAll();
  return NOTHING;
});

function stall(job: StallJob): void {
  isStalled = job.isStalled;
  if (!isStalled) for (const watcher of watchers) watcher.next();
}

async function open({ configFile, region, sockets }: OpenJob): Promise<void> {
  const [url] = loadCluster(configFile).endpoints(region) as [string];
  while (watchers.length < sockets) {
    const from = watchers.length;
    const some = Math.min(AT_ONCE, sockets - from);
    watchers.push(...(await Promise.all(Array.from({ length: some }, (_, i) => Watcher.open(url, from + i)))));
  }
}

function checkAll(): void {
  for (const { failure } of watchers) if (failure !== undefined) throw failure;
}

/** A change and the watchers that do not have it yet: a later change of the same key may take its place. */
interface Change {
  readonly ts: number;
  missing: number;
}

async function change(job: ChangeJob): Promise<WatchersLoad> {
  const { configFile, region, audience, durationMs, values } = job;
  const client = await loadCluster(configFile).connect(region, true);
  const timeline = new StableTimeline(client, PROBE_MS);
  const latency = latencyHistogram();
  const last = new Map<string, Change>();
  const early = new Map<string, number>();
  const before = { ...received };
  let delivered = 0;
  arrived = (key, ts, value) => {
    verify(values, key, value);
    delivered++;
    const delayMs = timeline.since(ts);
    if (delayMs !== undefined) record(latency, delayMs);
    const change = last.get(key);
    if (change?.ts === ts) change.missing--;
    else if (change === undefined || ts > change.ts) early.set(`${key} ${ts}`, (early.get(`${key} ${ts}`) ?? 0) + 1);
  };
  const committed = (key: string, ts: number): void => {
    const had = early.get(`${key} ${ts}`) ?? 0;
    early.delete(`${key} ${ts}`);
    if (ts > (last.get(key)?.ts ?? 0)) last.set(key, { ts, missing: audienceOf(key, audience) - had });
  };
  const began = performance.now();
  const operations = await write(client, job, committed);
  const elapsedMs = performance.now() - began;
  await settled(last);
  await timeline.stop();
  await client.close();
  checkAll();
  const ms = (percentile: number): number => latency.getValueAtPercentile(percentile) / 1000;
  const traffic = { messages: received.messages - before.messages, bytes: received.bytes - before.bytes };
  return {
    operations,
    elapsedMs: Math.max(durationMs, elapsedMs),
    latency: { p50Ms: ms(50), p99Ms: ms(99) },
    delivered,
    ...traffic,
  };
}

/** Number of open sockets that watch a key. */
function audienceOf(key: string, audience: number): number {
  const first = Number(key.split('/')[2]) * audience;
  return Math.min(audience, watchers.length - first);
}

/** Writes the watched keys in turn, at the rate, without waiting for the answers; resolves when all are committed. */
async function write(
  client: IsochronClient,
  { audience, changesPerSecond, durationMs, values }: ChangeJob,
  committed: (key: string, ts: number) => void,
): Promise<number> {
  const n = AUDIENCES.indexOf(audience as (typeof AUDIENCES)[number]);
  const keys = Math.ceil(watchers.length / audience);
  const writes: Promise<void>[] = [];
  const began = performance.now();
  for (let now = began; now - began < durationMs; now = performance.now()) {
    const due = ((now - began) * changesPerSecond) / 1000;
    while (writes.length < due) {
      const number = writes.length;
      const key = `watched/${n}/${number % keys}`;
      const value = valueFor(values, key, number);
      writes.push(client.set(key, value).then(({ timestamp }) => committed(key, timestamp)));
    }
    await delay(BURST_MS);
  }
  await Promise.all(writes);
  return writes.length;
}

/** Waits until the last change of each key has arrived at all of its watchers. @throws Error if one has not */
async function settled(last: ReadonlyMap<string, Change>): Promise<void> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const missing = [...last].filter(([, change]) => change.missing !== 0);
    if (missing.length === 0) return;
    if (performance.now() > deadline)
      throw new Error(`${missing.length} keys lack watchers, such as ${JSON.stringify(missing[0])}`);
    checkAll();
    await delay(BURST_MS);
  }
}
