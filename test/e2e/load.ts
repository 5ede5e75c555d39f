/**
 * Applications that run while a cluster is operated: sessions of the SDK and plain HTTP callers. None of their requests
 * may fail.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { checkHistory, formatVerdict, parseHistory } from '@isochron/checker';
import { Random } from '@isochron/core';
import { connect, type IsochronClient } from '@isochron/sdk';
import { HistoryRecorder, type SessionRecorder } from '@isochron/workload';
import { type Answer, call, keyPath } from './http.js';
import { until, within } from './until.js';
import { HotTransactions } from './workload.js';

const SESSIONS = 6;
const CALLERS = 3;
/** Number of transactions after which the load counts as going on. */
const TRANSACTIONS = 150;
/** Time between two pieces of work of one user, ms: users that never pause take the processors from the nodes. */
const THINK_MS = 10;

export class Load {
  /** Transactions of the SDK, and pairs of requests, that are done. */
  transactions = 0;
  requests = 0;
  readonly #recorder: HistoryRecorder;
  readonly #lines: string[] = [];
  #clients: readonly IsochronClient[] = [];
  #working: Promise<unknown> = Promise.resolve();
  #stopped = false;
  #failure: unknown;

  private constructor(
    readonly endpoints: readonly string[],
    readonly seed: number,
  ) {
    this.#recorder = new HistoryRecorder(this.#lines);
  }

  /** Connects to nodes of all regions, and starts. */
  static async start(endpoints: readonly string[], seed: number): Promise<Load> {
    const load = new Load(endpoints, seed);
    load.#clients = await Promise.all(
      Array.from({ length: SESSIONS }, (_, i) => connect({ endpoints: load.#from(i) })),
    );
    load.#working = Promise.all([
      ...load.#clients.map((client, i) => load.#work(client, load.#recorder.session(`c${i}`), seed + i)),
      ...Array.from({ length: CALLERS }, (_, i) => load.#callAround(load.#from(i), `caller/${i}`, seed + i)),
    ]);
    // A failure ends the test at once, also while it waits.
    load.#working.catch((error: unknown) => {
      load.#failure = error;
    });
    return load;
  }

  /** Waits until the load has gone on for a while. @throws the error of an application */
  async more(what: string): Promise<void> {
    const { transactions, requests } = this;
    await until(`work goes on ${what}`, () => {
      const goesOn = this.transactions > transactions + TRANSACTIONS && this.requests > requests + CALLERS;
      return this.#failure !== undefined || goesOn;
    });
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Ends the load, and judges the history. @throws Error with the verdict, unless it was causally consistent */
  async stop(): Promise<void> {
    this.#stopped = true;
    await within('the last transactions', 60_000, this.#working);
    this.#recorder.close();
    await Promise.all(this.#clients.map((client) => client.close()));
    const verdict = checkHistory(parseHistory(this.#lines.join('\n')));
    if (!verdict.ok) throw new Error(formatVerdict(`seed ${this.seed}`, verdict, 0));
    const { transactions, unknown } = verdict.stats;
    if (transactions !== this.transactions || unknown !== 0)
      throw new Error(`${this.transactions} transactions, and in the history ${transactions} and ${unknown} unknown`);
    console.info(
      `${this.transactions} transactions and ${this.requests} pairs of requests, none failed; seed ${this.seed}`,
    );
  }

  /** All endpoints, in an order of its own for each. */
  #from(i: number): string[] {
    const at = i % this.endpoints.length;
    return [...this.endpoints.slice(at), ...this.endpoints.slice(0, at)];
  }

  /** Transactions one after the other. */
  async #work(client: IsochronClient, recorder: SessionRecorder, seed: number): Promise<void> {
    const hot = new HotTransactions(recorder, new Random(seed), 50);
    while (!this.#stopped) {
      const open = recorder.begin();
      await hot.run(client, open);
      open.committed();
      this.transactions++;
      await pause(THINK_MS);
    }
  }

  /**
   * A plain HTTP caller that follows the rules: on 503, on a gap and on a broken connection it repeats the request at
   * another node. It reads its writes back, each at another node.
   */
  async #callAround(endpoints: readonly string[], key: string, seed: number): Promise<void> {
    const random = new Random(seed);
    let token: Record<string, string> = {};
    for (let n = 1; !this.#stopped; n++) {
      const id = { 'idempotency-key': `abcdefghijklmnopqrs${seed}.${n.toString(36)}` };
      // A write is repeated in its own region, a read anywhere.
      const [home] = endpoints;
      const wrote = await patiently([home!], random, (api) =>
        call(api, 'PUT', keyPath(key), { body: { n }, headers: { ...token, ...id } }),
      );
      token = { 'isochron-session': String(wrote.headers['isochron-session']) };
      const read = await patiently(endpoints, random, (api) => call(api, 'GET', keyPath(key), { headers: token }));
      if (read.text !== JSON.stringify({ n })) throw new Error(`${key}: wrote ${n}, read ${read.status} ${read.text}`);
      token = { 'isochron-session': String(read.headers['isochron-session']) };
      this.requests++;
      await pause(THINK_MS);
    }
  }
}

const patiently = (
  endpoints: readonly string[],
  random: Random,
  ask: (api: string) => Promise<Answer>,
): Promise<Answer> =>
  until('an answer', async () => {
    const answer = await ask(endpoints[Math.floor(random.float() * endpoints.length)]!);
    const { retryable } = (answer.status < 400 ? {} : answer.json) as { retryable?: boolean };
    return retryable === true ? undefined : answer;
  });
