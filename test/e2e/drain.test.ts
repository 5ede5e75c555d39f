import { checkHistory, formatVerdict, parseHistory } from '@isochron/checker';
import { Random } from '@isochron/core';
import { connect, type IsochronClient } from '@isochron/sdk';
import { HistoryRecorder, type SessionRecorder } from '@isochron/workload';
import { Cluster, cleanUp, logged } from './harness.js';
import { type Answer, call, keyPath } from './http.js';
import { SessionClient } from './session-client.js';
import { until, within } from './until.js';
import { HotTransactions } from './workload.js';

jest.setTimeout(180_000);
afterEach(cleanUp);

const SEED = 20_250_303;
const SESSIONS = 6;
const CALLERS = 3;

/** Transactions one after the other, until it is told to stop. Nothing may fail. */
async function work(client: IsochronClient, recorder: SessionRecorder, seed: number, job: Job): Promise<void> {
  const hot = new HotTransactions(recorder, new Random(seed), 50);
  while (!job.stopped) {
    const open = recorder.begin();
    await hot.run(client, open);
    open.committed();
    job.done++;
  }
}

interface Job {
  stopped: boolean;
  done: number;
}

/**
 * A plain HTTP caller as one should be: on 503, on a gap and on a broken connection it repeats the request, at another node. It reads back
 * what it wrote, each time somewhere else.
 */
async function callAround(endpoints: readonly string[], key: string, seed: number, job: Job): Promise<void> {
  const random = new Random(seed);
  let token: Record<string, string> = {};
  for (let n = 1; !job.stopped; n++) {
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
    job.done++;
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

describe('while every node in turn is closed by SIGTERM and started again', () => {
  it(
    'nothing that an application does fails, and what it sees is causally consistent',
    logged(async () => {
      const cluster = await Cluster.start();
      const endpoints = cluster.endpoints();
      const lines: string[] = [];
      const recorder = new HistoryRecorder(lines);
      const clients = await Promise.all(
        Array.from({ length: SESSIONS }, (_, i) =>
          connect({ endpoints: [...endpoints.slice(i % 3), ...endpoints.slice(0, i % 3)] }),
        ),
      );
      const [transactions, requests]: [Job, Job] = [
        { stopped: false, done: 0 },
        { stopped: false, done: 0 },
      ];
      const working = Promise.all([
        ...clients.map((client, i) => work(client, recorder.session(`c${i}`), SEED + i, transactions)),
        ...Array.from({ length: CALLERS }, (_, i) =>
          callAround([...endpoints.slice(i), ...endpoints.slice(0, i)], `caller/${i}`, SEED + i, requests),
        ),
      ]);
      // A failure ends the test at once, wherever it waits.
      let failure: unknown;
      working.catch((error: unknown) => {
        failure = error;
      });
      const more = async (what: string) => {
        const [before, asked] = [transactions.done, requests.done];
        await until(`work goes on ${what}`, () => {
          return failure !== undefined || (transactions.done > before + 150 && requests.done > asked + CALLERS);
        });
        if (failure !== undefined) throw failure;
      };
      for (const { id } of cluster.nodes) {
        await more(`before ${id} closes`);
        expect(await cluster.kill(id, 'SIGTERM')).toEqual({ code: 0, signal: null });
        // At once, as a rolling restart does: commits that need one of its replicas wait for it.
        await cluster.restart(id);
      }
      await more('at the end');
      transactions.stopped = true;
      requests.stopped = true;
      await within('the last transactions', 60_000, working);
      recorder.close();
      await Promise.all(clients.map((client) => client.close()));
      const verdict = checkHistory(parseHistory(lines.join('\n')));
      if (!verdict.ok) throw new Error(formatVerdict(`seed ${SEED}`, verdict, 0));
      expect(verdict.stats).toMatchObject({ transactions: transactions.done, unknown: 0 });
      console.info(
        `${transactions.done} transactions and ${requests.done} pairs of requests, none failed; seed ${SEED}`,
      );
      for (const { id } of cluster.nodes) expect(cluster.log(id)).toContain('drained');
      await until('no prepared transaction is left', async () => {
        const all = await Promise.all(cluster.nodes.map(({ id }) => cluster.status(id)));
        return all.every(({ node }) => node.partitions.every(({ prepared }) => prepared === 0));
      });
      await cluster.stop();
    }),
  );
});

describe('SIGTERM', () => {
  it(
    'lets a session leave, finishes what was begun, and refuses new work meanwhile',
    logged(async () => {
      const cluster = await Cluster.start({ regions: ['virginia', 'oregon'] });
      const api = cluster.endpoint('virginia');
      const opened = await call(api, 'POST', '/v1/transactions');
      const session = await SessionClient.open(api);
      await session.hello();
      const node = cluster.process('virginia-1');
      node.signal('SIGTERM');
      await session.next('goaway', ({ type }) => type === 'goaway');
      expect(await call(api, 'GET', '/readyz')).toMatchObject({ status: 503, json: { code: 'NOT_READY' } });
      session.send({ type: 'read', id: 1, keys: ['default/a'] });
      await session.next('a read', ({ id }) => id === 1);
      const late = await SessionClient.open(api);
      late.send({ type: 'hello' });
      await late.next('a refusal', ({ type, code }) => type === 'error' && code === 'NOT_READY');
      const path = `${String(opened.headers.location)}/commit`;
      const done = await call(api, 'POST', path, { body: { writes: [{ keyspace: 'default', key: 'a', value: 1 }] } });
      expect(done.status).toBe(200);
      expect(node.exit).toBeUndefined();
      await session.close();
      expect(await node.exited).toEqual({ code: 0, signal: null });
      const { transaction } = done.json as { transaction: string };
      const asked = await call(cluster.endpoint('oregon'), 'GET', `/v1/transactions/${transaction}`);
      expect(asked.json).toMatchObject({ status: expect.stringMatching(/committed|pending|unknown/) });
      await cluster.restart('virginia-1');
      await until('the other region has it', async () => {
        return (await call(cluster.endpoint('oregon'), 'GET', keyPath('a'))).text === '1';
      });
      await cluster.stop();
    }),
  );

  it(
    'a second time does not wait any more',
    logged(async () => {
      const cluster = await Cluster.start({ regions: ['virginia'] });
      const session = await SessionClient.open(cluster.endpoint('virginia'));
      await session.hello();
      const node = cluster.process('virginia-1');
      node.signal('SIGTERM');
      await session.next('goaway', ({ type }) => type === 'goaway');
      node.signal('SIGTERM');
      expect(await node.exited).toEqual({ code: 1, signal: null });
      // Nothing that was acknowledged depends on an orderly end.
      await cluster.restart('virginia-1');
    }),
  );
});
