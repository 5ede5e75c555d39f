/** Every protocol of interactive transactions in the real server: the same HTTP, WebSocket and SDK interfaces. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHistory, formatVerdict, parseHistory } from '@isochron/checker';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import { connect, type IsochronClient } from '@isochron/sdk';
import { writeClusterFile } from '@isochron/server';
import { HistoryRecorder } from '@isochron/workload';
import { Cluster, cleanUp, logged, START_LIMIT_MS } from './harness.js';
import { type Answer, call, keyPath } from './http.js';
import { runsInFull } from './matrix.js';
import { isochron } from './processes.js';
import { SessionClient } from './session-client.js';
import { until } from './until.js';
import { runSession } from './workload.js';

jest.setTimeout(120_000);

interface Case {
  readonly protocol: ProtocolName;
  /** How many of the three regions hold each partition. */
  readonly replication: number;
  /** Entries of a snapshot beside its timestamp. */
  readonly entries: number;
  readonly capabilities: readonly string[];
  /** Whether its reads may wait for their snapshots. */
  readonly blocks: boolean;
}

const ALWAYS = ['transactions', 'list', 'stable', 'chained-commits'];
const SNAPSHOTS = [...ALWAYS, 'snapshots', 'read-past'];
const CASES: readonly Case[] = [
  {
    protocol: 'paris',
    replication: 2,
    entries: 0,
    capabilities: [...SNAPSHOTS, 'stable-snapshots', 'changes', 'live-queries', 'updates', 'write-counters'],
    blocks: false,
  },
  { protocol: 'bpr', replication: 2, entries: 0, capabilities: SNAPSHOTS, blocks: true },
  { protocol: 'nocc', replication: 2, entries: 0, capabilities: ALWAYS, blocks: false },
  { protocol: 'wren', replication: 3, entries: 3, capabilities: SNAPSHOTS, blocks: false },
  { protocol: 'cure', replication: 3, entries: 3, capabilities: SNAPSHOTS, blocks: true },
  { protocol: 'h-cure', replication: 3, entries: 3, capabilities: SNAPSHOTS, blocks: true },
];
const IN_FULL = CASES.filter(runsInFull);

/** One seed for all sessions of a history. */
const SEED = 20_250_102;
const REGIONS = ['virginia', 'oregon', 'ireland'];
const ONE_WAY_MS = { 'virginia<>oregon': 5, 'virginia<>ireland': 15, 'oregon<>ireland': 25 };
/** A token of each cluster; all have one id and secret, and one placement if their protocols allow it. */
const tokens = new Map<string, string>();

const tokenIn = ({ headers }: Answer): Record<string, string> => ({
  'isochron-session': String(headers['isochron-session']),
});
const put = (api: string, key: string, body: unknown, headers = {}) =>
  call(api, 'PUT', keyPath(key), { body, headers: { 'content-type': 'application/json', ...headers } });
const ref = (key: string) => ({ keyspace: 'default', key });

afterAll(cleanUp);

describe.each(IN_FULL)('the protocol $protocol', ({ protocol, replication, entries, capabilities, blocks }) => {
  const causal = capabilities.includes('snapshots');
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await Cluster.start({ protocol, replication, cluster: 'protocols', wan: ONE_WAY_MS });
  });
  afterAll(() => cluster.dispose());

  it(
    'the cluster and the handshake of a session name the protocol and its capabilities',
    logged(async () => {
      expect(await cluster.status('oregon-1')).toMatchObject({ protocol, capabilities });
      const session = await SessionClient.open(cluster.endpoint('oregon'));
      expect(await session.hello()).toMatchObject({ protocol, capabilities });
      await session.close();
    }),
  );

  it(
    'interactive transactions and one-shot reads and writes run through the SDK',
    logged(async () => {
      const client = await connect({ endpoints: [cluster.endpoint('virginia')] });
      await (await client.set('sdk/a', { n: 1 })).stable();
      const { result, write } = await client.transaction(async (tx) => {
        const a = await tx.get<{ n: number }>('sdk/a');
        tx.set('sdk/b', { n: (a?.n ?? 0) + 1 });
        tx.delete('sdk/a');
        return [a?.n, await tx.get('sdk/b'), await tx.get('sdk/a')];
      });
      expect(result).toEqual([1, { n: 2 }, undefined]);
      await write?.stable();
      const elsewhere = await connect({ endpoints: [cluster.endpoint('ireland')] });
      expect(await elsewhere.getMany(['sdk/a', 'sdk/b'])).toEqual([undefined, { n: 2 }]);
      expect(await keysOf(elsewhere, 'sdk/')).toEqual(['sdk/b']);
      expect(await client.transactionStatus(write!.txId)).toEqual({ state: 'committed', timestamp: write!.timestamp });
      await Promise.all([client.close(), elsewhere.close()]);
    }),
  );

  it(
    'interactive transactions and one-shot reads and writes run through HTTP',
    logged(async () => {
      const api = cluster.endpoint('oregon');
      const written = await put(api, 'http/a', { n: 1 });
      const { timestamp } = written.json as { timestamp: number };
      expect((await call(api, 'GET', `/v1/stable?ts=${timestamp}&timeout=20000`)).status).toBe(200);
      const opened = await call(api, 'POST', '/v1/transactions', { headers: tokenIn(written) });
      const path = String(opened.headers.location);
      // Another node of another region passes the request on.
      const far = cluster.endpoint('ireland');
      const seen = await call(far, 'POST', `${path}/read`, { body: { keys: [ref('http/a'), ref('http/b')] } });
      expect(seen).toMatchObject({ status: 200, json: { values: [{ value: { n: 1 } }, null] } });
      const writes = [{ ...ref('http/b'), value: 2 }];
      const done = await call(far, 'POST', `${path}/commit`, { body: { writes } });
      expect(done).toMatchObject({ status: 200 });
      const again = await call(api, 'POST', `${path}/commit`, { body: { writes } });
      expect(again.json).toEqual(done.json);
      const { timestamp: ts } = done.json as { timestamp: number };
      await call(api, 'GET', `/v1/stable?ts=${ts}&timeout=20000`);
      const read = await call(api, 'POST', '/v1/read', { body: { keys: [ref('http/a'), ref('http/b')] } });
      expect(read).toMatchObject({ status: 200, json: { values: [{ value: { n: 1 } }, { value: 2 }] } });
      const listed = await listing(api, 'http/', 1);
      expect(listed).toEqual(['http/a', 'http/b']);
    }),
  );

  it(
    'the tokens of a session name the protocol, and sign what the session has seen',
    logged(async () => {
      const answer = await call(cluster.endpoint('virginia'), 'GET', keyPath('nothing'));
      const token = tokenIn(answer)['isochron-session']!;
      tokens.set(protocol, token);
      const text = Buffer.from(token, 'base64url').toString('latin1');
      expect(text).toContain(protocol);
      const forged = await call(cluster.endpoint('virginia'), 'GET', keyPath('nothing'), {
        headers: { 'isochron-session': forge(token) },
      });
      expect(forged.json).toMatchObject({ code: 'TOKEN_INVALID' });
    }),
  );

  it(
    'the token and the exported session of another protocol are refused',
    logged(async () => {
      const others = CASES.filter((other) => other.protocol !== protocol && tokens.has(other.protocol));
      const api = cluster.endpoint('virginia');
      for (const other of others) {
        const headers = { 'isochron-session': tokens.get(other.protocol)! };
        const answer = await call(api, 'GET', keyPath('nothing'), { headers });
        // With another placement, the token is of another cluster.
        const same = other.replication === replication;
        expect(answer.json).toMatchObject({ status: 400, code: same ? 'TOKEN_INVALID' : 'TOKEN_FOREIGN' });
        if (same) expect(answer.text).toContain(`under the protocol ${other.protocol}`);
      }
      const session = {
        version: 1,
        token: tokens.get(protocol)!,
        protocol: 'other',
        ust: 0,
        hwt: 0,
        writes: [],
      } as const;
      await expect(connect({ endpoints: [api], session })).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
    }),
  );

  if (causal) {
    it(
      'a session that moves to another region with its token reads its own writes there',
      logged(async () => {
        const key = 'moved/http';
        let headers = {};
        for (const [i, region] of [...REGIONS, ...REGIONS].entries()) {
          const api = cluster.endpoint(region);
          const seen = await call(api, 'GET', keyPath(key), { headers: { prefer: 'wait=20', ...headers } });
          expect([region, seen.status, seen.json]).toEqual([
            region,
            i === 0 ? 404 : 200,
            i === 0 ? expect.anything() : i,
          ]);
          const written = await put(api, key, String(i + 1), tokenIn(seen));
          expect(written.status).toBe(200);
          headers = tokenIn(written);
          // The read follows at once, in the region of the write.
          const own = await call(api, 'GET', keyPath(key), { headers });
          expect([own.status, own.json]).toEqual([200, i + 1]);
          headers = tokenIn(own);
        }
      }),
    );

    it(
      'six sessions that move between the regions record a causally consistent history',
      logged(async () => {
        const lines: string[] = [];
        const recorder = new HistoryRecorder(lines);
        await Promise.all(
          Array.from({ length: 6 }, (_, i) => {
            const route = REGIONS.map((_region, r) => cluster.endpoint(REGIONS[(i + r) % REGIONS.length]!));
            const recorded = recorder.session(`c${i}`);
            const stay = i % 2 === 0 ? 20 : 100;
            return runSession({ recorder: recorded, route, seed: SEED + i, keys: 20, transactions: 100, stay });
          }),
        );
        recorder.close();
        const verdict = checkHistory(parseHistory(lines.join('\n')));
        if (!verdict.ok) throw new Error(formatVerdict(`${protocol}, seed ${SEED}`, verdict, 0));
        expect(verdict.stats).toMatchObject({ transactions: 600 });
      }),
    );
  }

  it(
    'the reads that waited are counted, with their times',
    logged(async () => {
      const api = cluster.endpoint('virginia');
      const client = await connect({ endpoints: [api] });
      // The new write is not applied yet: a read of the freshest snapshot waits for it.
      for (let i = 0; i < 5; i++) {
        await client.set(`blocked/${i}`, i);
        await client.getMany(Array.from({ length: 6 }, (_, k) => `blocked/${k}`));
      }
      await client.close();
      const { node } = await cluster.status('virginia-1');
      const metrics = (await call(cluster.node('virginia-1').metrics, 'GET', '/metrics')).text;
      const reads = /^isochron_blocked_reads_total\{.*protocol="([a-z-]+)".*\} (\d+)$/m.exec(metrics);
      expect(reads?.[1]).toBe(protocol);
      expect(Number(reads?.[2]) > 0).toBe(blocks);
      expect(node.blocking.reads > 0).toBe(blocks);
      expect(node.blocking.longestMs).toBeLessThanOrEqual(node.blocking.totalMs);
      if (!blocks) expect(node.blocking).toEqual({ reads: 0, totalMs: 0, longestMs: 0 });
    }),
  );

  it(
    'unsupported requests and malformed snapshots are refused',
    logged(async () => {
      const api = cluster.endpoint('virginia');
      const { ust } = (await call(api, 'GET', '/v1/clock')).json as { ust: number };
      const past = await call(api, 'GET', `${keyPath('nothing')}?at=${ust}`);
      expect(past.json).toMatchObject({ code: causal ? 'KEY_NOT_FOUND' : 'NOT_SUPPORTED_BY_PROTOCOL' });
      const client = await connect({ endpoints: [api] });
      const snapshot = client.snapshot().then(
        () => 'OPEN',
        ({ code }: { code: string }) => code,
      );
      expect(await snapshot).toBe(causal ? 'OPEN' : 'NOT_SUPPORTED_BY_PROTOCOL');
      await client.close();
      const session = await SessionClient.open(api);
      await session.hello();
      const deps = Array.from({ length: entries + 1 }, () => 1);
      session.send({ type: 'read', id: 1, keys: ['default/a'], at: ust, deps });
      session.send({ type: 'read', id: 2, keys: ['default/a'], at: ust, deps: ['x'] });
      session.send({ type: 'read', id: 3, keys: ['default/a'], deps: deps.slice(1) });
      session.send({ type: 'read', id: 4, keys: ['default/a'], at: ust, deps: new Array(entries).fill(2 ** 52) });
      const codeOf = async (id: number) => (await session.next(`answer ${id}`, (frame) => frame.id === id)).code;
      expect(await codeOf(1)).toBe('INVALID_REQUEST');
      expect(await codeOf(2)).toBe('INVALID_REQUEST');
      expect(await codeOf(3)).toBe('INVALID_REQUEST');
      expect(await codeOf(4)).toBe(entries > 0 ? 'TIMESTAMP_IN_FUTURE' : 'INVALID_REQUEST');
      await session.close();
    }),
  );
});

describe('a node', () => {
  afterEach(cleanUp);

  it(
    'a node keeps its link down to a peer that runs another protocol',
    logged(async () => {
      const cluster = await Cluster.prepare({ regions: ['oregon', 'virginia'] });
      const configFile = join(cluster.folder, 'bpr.yaml');
      writeFileSync(configFile, writeClusterFile({ ...cluster.file, protocol: 'bpr' }));
      cluster.launch('oregon-1');
      cluster.launch('virginia-1', { configFile });
      const reason = async () => {
        const { node } = await cluster.status('oregon-1');
        return node.links[0]?.lastError?.startsWith('PEER_CONFIG_MISMATCH') || undefined;
      };
      expect(await until('oregon-1 reports why its link is down', reason, { timeoutMs: START_LIMIT_MS })).toBe(true);
    }),
  );

  it(
    'a node does not open the data of another protocol',
    logged(async () => {
      const cluster = await Cluster.start({ regions: ['oregon'] });
      await cluster.stop();
      const configFile = join(cluster.folder, 'bpr.yaml');
      writeFileSync(configFile, writeClusterFile({ ...cluster.file, protocol: 'bpr' }));
      const args = ['--config', configFile, '--node', 'oregon-1', '--secret-file', cluster.secretFile];
      const result = await isochron(['node', ...args, '--data', cluster.node('oregon-1').dataDir]);
      expect(result.code).toBe(1);
      expect(result.stderr).toMatch(/PLACEMENT_MISMATCH: .*written under the protocol paris, not bpr/);
    }),
  );
});

it('isochron dev accepts the protocols by name, and refuses a placement that a protocol does not support', async () => {
  const unknown = await isochron(['dev', '--protocol', 'raft']);
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  for (const { protocol } of CASES) expect(unknown.stderr).toContain(protocol);
  const folder = mkdtempSync(join(tmpdir(), 'isochron-e2e-'));
  const partial = await isochron(['dev', '--protocol', 'wren', '--replication', '2', '--data', folder]);
  rmSync(folder, { recursive: true });
  expect(partial).toMatchObject({ code: 1, stdout: '' });
  expect(partial.stderr).toMatch(/CONFIG_INVALID: .*cluster\.yaml:\d+: protocol "wren": /);
});

/** Keys of a listing through the SDK. */
async function keysOf(client: IsochronClient, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of client.list({ prefix, pageSize: 1 })) keys.push(key);
  return keys;
}

/** Keys of a listing through HTTP, page by page. */
async function listing(api: string, prefix: string, limit: number): Promise<string[]> {
  const keys: string[] = [];
  let query = `prefix=${encodeURIComponent(prefix)}`;
  for (;;) {
    const answer = await call(api, 'GET', `/v1/keyspaces/default/keys?${query}&limit=${limit}`);
    expect(answer.status).toBe(200);
    const { entries, cursor } = answer.json as { entries: { key: string }[]; cursor: string | null };
    keys.push(...entries.map(({ key }) => key));
    if (cursor === null) return keys;
    query = `cursor=${encodeURIComponent(cursor)}`;
  }
}

/** The same token with one bit of its clock values changed. */
function forge(token: string): string {
  const record = Buffer.from(token, 'base64url');
  record[12]! ^= 1;
  return record.toString('base64url');
}
