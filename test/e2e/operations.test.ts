/** Every protocol of single operations in the real server, over HTTP, WebSocket, SDK and command line. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import { connect, type IsochronClient } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { type Answer, call, keyPath } from './http.js';
import { runsInFull } from './matrix.js';
import { isochron } from './processes.js';
import { SessionClient } from './session-client.js';
import { until } from './until.js';

jest.setTimeout(180_000);

interface Case {
  readonly protocol: ProtocolName;
  /** Its capabilities beside operations on one key and waiting for stable time. */
  readonly more: readonly string[];
  /** A state that no session can have from two regions. */
  readonly impossible: readonly number[];
  /** A state from the future; undefined if tokens do not show what a session has seen. */
  readonly future: readonly number[] | undefined;
}

const ROTS = ['rot', 'snapshots'];
const FUTURE = 2 ** 52;
/** One row for each protocol. */
const CASES: readonly Case[] = [
  { protocol: 'contrarian', more: ROTS, impossible: [1], future: [FUTURE, 0] },
  { protocol: 'okapi', more: ROTS, impossible: [1], future: [FUTURE, 0, 0] },
  { protocol: 'gentlerain', more: ROTS, impossible: [1], future: [FUTURE, 0] },
  { protocol: 'eventual', more: ['rot'], impossible: [1], future: undefined },
  { protocol: 'orbe', more: [], impossible: [0, 9, 1], future: [0, 0, FUTURE] },
  { protocol: 'orbe-clock', more: ROTS, impossible: [0, 9, 1], future: [0, 0, FUTURE] },
  { protocol: 'orbe-cleaning', more: [], impossible: [0, 9, 1], future: [0, 0, FUTURE] },
  { protocol: 'cops-gt', more: ROTS, impossible: [1], future: [FUTURE, 0, 0] },
  { protocol: 'cc-lo', more: ROTS, impossible: [1], future: [FUTURE, 0, 0] },
];
const IN_FULL = CASES.filter(runsInFull);

const REGIONS = ['virginia', 'oregon'];
const ONE_WAY_MS = { 'virginia<>oregon': 15 };
/** A token of each cluster; all have one id, placement and secret. */
const tokens = new Map<string, string>();

const tokenIn = ({ headers }: Answer): Record<string, string> => ({
  'isochron-session': String(headers['isochron-session']),
});
const put = (api: string, key: string, body: unknown, headers = {}) =>
  call(api, 'PUT', keyPath(key), {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
const get = (api: string, key: string, headers = {}) => call(api, 'GET', keyPath(key), { headers });
const refs = (...keys: string[]) => keys.map((key) => ({ keyspace: 'default', key }));
const timestampOf = ({ json }: Answer) => (json as { timestamp: number }).timestamp;
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'nothing',
    ({ code }: { code: string }) => code,
  );

afterAll(cleanUp);

describe.each(IN_FULL)('the protocol $protocol', ({ protocol, more, impossible, future }) => {
  const capabilities = ['operations', 'stable', ...more];
  const causal = protocol !== 'eventual';
  const rots = more.includes('rot');
  let cluster: Cluster;
  let virginia: string[];
  let oregon: string[];

  beforeAll(async () => {
    const placement = { regions: REGIONS, nodesPerRegion: 2, partitions: 4, replication: 2 };
    cluster = await Cluster.start({ protocol, ...placement, cluster: 'operations', wan: ONE_WAY_MS });
    virginia = cluster.endpoints('virginia');
    oregon = cluster.endpoints('oregon');
  });
  afterAll(() => cluster.dispose());

  /** In one read-only transaction if the protocol has them. */
  const several = (client: IsochronClient, keys: readonly string[]): Promise<unknown[]> =>
    rots ? client.getMany(keys) : Promise.all(keys.map((key) => client.get(key)));

  it(
    'the cluster and the handshake of a session name the protocol and its capabilities',
    logged(async () => {
      const status = await cluster.status('oregon-2');
      expect({ ...status, capabilities: [...status.capabilities].sort() }).toMatchObject({
        protocol,
        capabilities: [...capabilities].sort(),
      });
      const session = await SessionClient.open(oregon[0]!);
      const welcome = await session.hello();
      expect(welcome).toMatchObject({ protocol, capabilities: status.capabilities });
      expect(welcome).not.toHaveProperty('seen');
      await session.close();
    }),
  );

  it(
    'the SDK gets, sets, deletes and reads, and every region has the result',
    logged(async () => {
      const client = await connect({ endpoints: [virginia[0]!] });
      const elsewhere = await connect({ endpoints: [oregon[1]!] });
      await client.set('sdk/a', { n: 1 });
      await client.set('sdk/bytes', Uint8Array.of(0, 255));
      // All at once: the session runs them one after the other.
      const mixed = [client.get('sdk/a'), client.set('sdk/a', { n: 2 }), client.get('sdk/a'), client.delete('sdk/c')];
      expect((await Promise.all(mixed)).filter((_one, i) => i % 2 === 0)).toEqual([{ n: 1 }, { n: 2 }]);
      expect(await client.get('sdk/bytes')).toEqual(Uint8Array.of(0, 255));
      expect(await several(client, ['sdk/a', 'sdk/none', 'sdk/bytes'])).toEqual([
        { n: 2 },
        undefined,
        Uint8Array.of(0, 255),
      ]);
      await (await client.delete('sdk/bytes')).stable();
      expect(client.status).toMatchObject({ state: 'online', pendingCommits: 0 });
      await until('everything to be there', async () => (await elsewhere.get('sdk/bytes')) === undefined);
      expect(await several(elsewhere, ['sdk/a', 'sdk/bytes'])).toEqual([{ n: 2 }, undefined]);
      await Promise.all([client.close(), elsewhere.close()]);
    }),
  );

  it(
    'HTTP gets, sets, deletes and reads',
    logged(async () => {
      const [api, other] = virginia as [string, string];
      const written = await put(api, 'http/a', { n: 1 });
      expect(written).toMatchObject({ status: 200, json: { timestamp: expect.any(Number) } });
      const read = await get(other, 'http/a', tokenIn(written));
      expect(read).toMatchObject({ status: 200, json: { n: 1 } });
      expect(read.headers['isochron-commit-timestamp']).toBe(String(timestampOf(written)));
      expect(read.headers).not.toHaveProperty('isochron-snapshot');
      const again = await get(api, 'http/a', { ...tokenIn(read), 'if-none-match': String(read.headers.etag) });
      expect(again.status).toBe(304);
      const one = { writes: [{ ...refs('http/b')[0], bytes: 'AP8=' }] };
      const committed = await call(other, 'POST', '/v1/commit', { body: one, headers: tokenIn(read) });
      expect(committed.status).toBe(200);
      const body = { keys: refs('http/a', 'http/none', 'http/b') };
      const many = await call(api, 'POST', '/v1/read', { body, headers: tokenIn(committed) });
      const values = [{ value: { n: 1 } }, null, { bytes: 'AP8=' }];
      expect(many).toMatchObject(
        rots ? { status: 200, json: { values } } : { status: 501, json: { code: 'NOT_SUPPORTED_BY_PROTOCOL' } },
      );
      expect(many.json).not.toHaveProperty('snapshot');
      const alone = await call(api, 'POST', '/v1/read', {
        body: { keys: refs('http/b') },
        headers: tokenIn(committed),
      });
      expect(alone).toMatchObject({ status: 200, json: { values: [{ bytes: 'AP8=' }] } });
      const deleted = await call(api, 'DELETE', keyPath('http/a'), { headers: tokenIn(alone) });
      const gone = await get(other, 'http/a', tokenIn(deleted));
      expect(gone).toMatchObject({ status: 404, json: { code: 'KEY_NOT_FOUND' } });
      const stable = await call(api, 'GET', `/v1/stable?ts=${timestampOf(deleted)}&timeout=20000`);
      expect(stable.status).toBe(200);
      await until('the deletion to be everywhere', async () => (await get(oregon[0]!, 'http/a')).status === 404);
      await until('the last write but one, too', async () => (await get(oregon[1]!, 'http/b')).status === 200);
    }),
  );

  it(
    'the command line gets, sets and deletes, and refuses the rest',
    logged(async () => {
      const at = ['--endpoint', virginia[1]!];
      expect(await isochron(['set', 'cli/a', '{"n":1}', ...at, '--stable'])).toMatchObject({ code: 0 });
      expect(JSON.parse((await isochron(['get', 'cli/a', ...at])).stdout)).toEqual({ n: 1 });
      expect(await isochron(['delete', 'cli/a', ...at])).toMatchObject({ code: 0 });
      expect((await isochron(['status', ...at])).stdout).toContain(protocol);
      for (const args of [
        ['list'],
        ['transaction', 'abcdefghijklmnopqrstuv.0'],
        ['get', 'a', '--at', '1'],
        ['export'],
      ]) {
        const refused = await isochron([...args, ...at]);
        expect([args, refused.code, refused.stderr]).toEqual([
          args,
          1,
          expect.stringMatching(/^error: NOT_SUPPORTED_BY_PROTOCOL: /),
        ]);
      }
    }),
  );

  if (causal) {
    it(
      'no session reads an effect without its cause, over two nodes and two regions',
      logged(async () => {
        for (let round = 0; round < 15; round++) {
          const [cause, effect] = [`causal/${round}/cause`, `causal/${round}/effect`];
          const first = await put(virginia[0]!, cause, round);
          // Another node of the region, with the state of the first node's session.
          const second = await get(virginia[1]!, cause, tokenIn(first));
          expect(second).toMatchObject({ status: 200, json: round });
          await put(virginia[1]!, effect, round, tokenIn(second));
          const seen = await until('the effect in the other region', async () => {
            const answer = await get(oregon[0]!, effect);
            return answer.status === 200 ? answer : undefined;
          });
          expect((await get(oregon[1]!, cause, tokenIn(seen))).status).toBe(200);
          if (!rots) continue;
          const both = await call(oregon[1]!, 'POST', '/v1/read', { body: { keys: refs(effect, cause) } });
          const [found, due] = (both.json as { values: unknown[] }).values;
          if (found !== null) expect(due).not.toBeNull();
        }
      }),
    );

    it(
      'a session reads its earlier writes in another region',
      logged(async () => {
        let headers = {};
        for (const [i, api] of [virginia[0]!, oregon[0]!, virginia[1]!, oregon[1]!].entries()) {
          const seen = await get(api, 'moved/http', headers);
          expect([i, seen.status]).toEqual([i, i === 0 ? 404 : 200]);
          if (i > 0) expect(seen.json).toBe(i);
          const written = await put(api, 'moved/http', i + 1, tokenIn(seen));
          const own = await get(api, 'moved/http', tokenIn(written));
          expect([own.status, own.json]).toEqual([200, i + 1]);
          headers = tokenIn(own);
        }
        let session: IsochronClient['session'] | undefined;
        for (const [i, api] of [oregon[0]!, virginia[0]!, oregon[1]!].entries()) {
          const client = await connect({ endpoints: [api], ...(session && { session: session.export() }) });
          expect(await client.get('moved/sdk')).toBe(i === 0 ? undefined : i);
          await client.set('moved/sdk', i + 1);
          session = client.session;
          await client.close();
        }
        // From the SDK to HTTP, and back.
        const http = await get(virginia[1]!, 'moved/sdk', { 'isochron-session': session!.token });
        expect(http).toMatchObject({ status: 200, json: 3 });
        const written = await put(oregon[0]!, 'moved/sdk', 4, tokenIn(http));
        const token = tokenIn(written)['isochron-session']!;
        const back = await connect({ endpoints: [virginia[0]!], token });
        expect(await back.get('moved/sdk')).toBe(4);
        await back.close();
      }),
    );
  }

  it(
    'tokens name the protocol, and forged ones and those of other protocols are refused',
    logged(async () => {
      const answer = await get(virginia[0]!, 'nothing');
      const token = tokenIn(answer)['isochron-session']!;
      tokens.set(protocol, token);
      const record = Buffer.from(token, 'base64url');
      expect(record.toString('latin1')).toContain(protocol);
      record[record.length - 20]! ^= 1;
      const forged = await get(virginia[0]!, 'nothing', { 'isochron-session': record.toString('base64url') });
      expect(forged.json).toMatchObject({ status: 400, code: 'TOKEN_INVALID' });
      for (const [other, foreign] of tokens) {
        if (other === protocol) continue;
        const refused = await get(virginia[0]!, 'nothing', { 'isochron-session': foreign });
        expect(refused.json).toMatchObject({ status: 400, code: 'TOKEN_INVALID' });
        expect(refused.text).toContain(`under the protocol ${other}`);
        expect(await codeOf(connect({ endpoints: [virginia[0]!], token: foreign }))).toBe('TOKEN_INVALID');
      }
      const exported = { version: 1, token, ust: 0, hwt: 0, writes: [] } as const;
      const seen = { seen: [], region: 'virginia' };
      for (const session of [
        { ...exported, protocol: 'other', seen },
        // A token that names this protocol, without the session's state.
        { ...exported, protocol },
        { ...exported, protocol, seen: { ...seen, region: 7 } as never },
      ]) {
        expect(await codeOf(connect({ endpoints: [virginia[0]!], session }))).toBe('TOKEN_INVALID');
      }
    }),
  );

  it(
    'unsupported requests over HTTP are refused with an alternative',
    logged(async () => {
      const [api] = virginia as [string];
      const two = { writes: [...refs('a', 'b')].map((ref) => ({ ...ref, value: 1 })) };
      const patch = { body: '{}', headers: { 'content-type': 'application/merge-patch+json' } };
      const requests: [string, string, object?][] = [
        ['GET', '/v1/keyspaces/default/keys?prefix=a'],
        ['POST', '/v1/transactions'],
        ['GET', '/v1/transactions/abcdefghijklmnopqrstuv.0'],
        ['POST', '/v1/transactions/abcdefghijklmnopqrstuv.0/commit', { body: two }],
        ['DELETE', '/v1/transactions/abcdefghijklmnopqrstuv.0'],
        ['POST', '/v1/commit', { body: two }],
        ['PATCH', keyPath('a'), patch],
        ['GET', `${keyPath('a')}?at=1`],
        ['POST', '/v1/read', { body: { keys: refs('a', 'b'), at: 1 } }],
      ];
      for (const [method, path, request] of requests) {
        const { json } = await call(api, method, path, request);
        expect([method, path, json]).toEqual([
          method,
          path,
          expect.objectContaining({
            status: 501,
            code: 'NOT_SUPPORTED_BY_PROTOCOL',
            detail: expect.stringMatching(new RegExp(`${protocol}, has no [a-z-]+\\. [A-Z].+\\.$`)),
          }),
        ]);
      }
      const paths = Object.keys(
        (JSON.parse((await call(api, 'GET', '/openapi.json')).text) as { paths: object }).paths,
      );
      expect(paths.filter((path) => path.includes('transactions'))).toEqual([]);
      expect(paths).toContain('/v1/read');
    }),
  );

  it(
    'unsupported calls of the SDK are refused',
    logged(async () => {
      const client = await connect({ endpoints: [oregon[0]!] });
      for (const [name, attempt] of Object.entries({
        transaction: () => client.transaction(async (tx) => tx.set('a', 1)),
        update: () => client.update('a', { n: 1 }),
        operations: () => client.update('a', [{ op: 'increment', path: '/n', by: 1 }]),
        claim: () => client.claim('a', 1),
        snapshot: () => client.snapshot(),
        past: () => client.snapshot({ at: 1 }),
        list: () => client.list().page(),
        ...(rots ? {} : { getMany: () => client.getMany(['a', 'b']) }),
        transactionStatus: () => client.transactionStatus('abcdefghijklmnopqrstuv.0'),
      })) {
        expect([name, await codeOf(attempt())]).toEqual([name, 'NOT_SUPPORTED_BY_PROTOCOL']);
      }
      // The client still works.
      await client.set('after/refusals', 1);
      expect(await client.get('after/refusals')).toBe(1);
      await client.close();
    }),
  );

  it(
    'meaningless frames are answered with a code, and the session goes on',
    logged(async () => {
      const session = await SessionClient.open(virginia[0]!);
      await session.hello();
      const seen = { seen: [], region: 'virginia' };
      const write = { type: 'put', tx: 'abcdefghijklmnopqrstuv.7', key: 'default/a', value: '1', sentAfter: 0 };
      const futures = future === undefined ? [] : [{ type: 'get', key: 'default/a', ...seen, seen: future }];
      const frames: [code: string, frame: object][] = [
        ['NOT_SUPPORTED_BY_PROTOCOL', { type: 'start', tx: 'abcdefghijklmnopqrstuv.0' }],
        ['NOT_SUPPORTED_BY_PROTOCOL', { type: 'read', keys: ['default/a'] }],
        ['NOT_SUPPORTED_BY_PROTOCOL', { type: 'list', keyspace: 'default' }],
        ['NOT_SUPPORTED_BY_PROTOCOL', { type: 'commit' }],
        ['NOT_SUPPORTED_BY_PROTOCOL', { type: 'abort', tx: 'abcdefghijklmnopqrstuv.0' }],
        ['NOT_SUPPORTED_BY_PROTOCOL', { type: 'status', tx: 'abcdefghijklmnopqrstuv.0' }],
        ['FRAME_TYPE_UNKNOWN', { type: 'toString' }],
        ['INVALID_REQUEST', { type: 'get', ...seen }],
        ['INVALID_REQUEST', { type: 'get', key: 'default/a' }],
        ['INVALID_REQUEST', { type: 'get', key: 'default/a', seen: ['x'], region: 'virginia' }],
        ['INVALID_REQUEST', { type: 'get', key: 'default/a', ...seen, region: 7 }],
        ['INVALID_REQUEST', { type: 'get', key: 'default/a', ...seen, region: 'atlantis' }],
        ['INVALID_REQUEST', { type: 'get', key: 'default/a', ...seen, depends: 7 }],
        ['INVALID_REQUEST', { type: 'get', key: 'default/a', ...seen, depends: [{ key: 'default/a' }] }],
        ['KEYSPACE_UNKNOWN', { type: 'get', key: 'nowhere/a', ...seen }],
        rots
          ? ['INVALID_REQUEST', { type: 'rot', keys: [7], ...seen }]
          : ['NOT_SUPPORTED_BY_PROTOCOL', { type: 'rot', keys: [], ...seen }],
        ['INVALID_REQUEST', { ...write, ...seen }],
        ['INVALID_REQUEST', { ...write, ...seen, attemptRegions: ['atlantis'] }],
        ['INVALID_REQUEST', { ...write, ...seen, attemptRegions: ['virginia'], tx: 'x' }],
        ['VALUE_INVALID', { ...write, ...seen, attemptRegions: ['virginia'], value: '{' }],
        ['INVALID_REQUEST', { type: 'get', key: 'default/a', ...seen, seen: impossible }],
        ['INVALID_REQUEST', { type: 'get', key: 'default/a', ...seen, seen: (future ?? [0]).map(String) }],
        ...futures.map((frame): [string, object] => ['TIMESTAMP_IN_FUTURE', frame]),
      ];
      frames.forEach(([, frame], i) => {
        session.send({ ...frame, id: i + 1 });
      });
      for (const [i, [code, frame]] of frames.entries()) {
        const answer = await session.next(`answer ${i + 1}`, ({ id }) => id === i + 1);
        expect([frame, answer.code]).toEqual([frame, code]);
      }
      session.send({ type: 'get', id: 1000, key: 'default/nothing', ...seen });
      expect(await session.next('the last answer', ({ id }) => id === 1000)).toMatchObject({ values: [null] });
      await session.close();
    }),
  );

  it(
    'a write that is repeated under its Idempotency-Key happens once, also after the node was killed',
    logged(async () => {
      const ids = [0, 1, 2, 3, 4, 5].map((i) => `idempotent-${protocol}-x.${i}`);
      const write = (id: string, body: unknown, api = virginia[0]!) =>
        put(api, `once/${id}`, body, { 'idempotency-key': id });
      const first = await Promise.all(ids.map((id) => write(id, 1)));
      expect(first.map(({ status }) => status)).toEqual(ids.map(() => 200));
      await Promise.all([cluster.kill('virginia-1'), cluster.kill('virginia-2')]);
      await Promise.all([cluster.restart('virginia-1'), cluster.restart('virginia-2')]);
      for (const [i, id] of ids.entries()) {
        const again = await until(`the answer to ${id}`, async () => {
          const answer = await write(id, 1, virginia[i % 2]!);
          return answer.status === 503 ? undefined : answer;
        });
        expect(again.json).toEqual(first[i]!.json);
      }
      expect((await write(ids[0]!, 2)).json).toMatchObject({ code: 'TX_ID_REUSED' });
      expect((await get(virginia[0]!, `once/${ids[0]}`)).json).toBe(1);
    }),
  );

  it(
    'another region reports the outcome of a write, and does the write when the first region has aborted it (D4)',
    logged(async () => {
      const [here, there] = [await SessionClient.open(virginia[0]!), await SessionClient.open(oregon[0]!)];
      await Promise.all([here.hello(), there.hello()]);
      const sentAfter = ((await call(oregon[0]!, 'GET', '/v1/clock')).json as { ust: number }).ust;
      const write = (id: number, attemptRegions: readonly string[]) => {
        const tx = `attempts-under-${protocol}-x.${id % 10}`;
        return {
          type: 'put',
          id,
          tx,
          key: `default/home/${id % 10}`,
          value: '1',
          sentAfter,
          attemptRegions,
          seen: [],
          region: attemptRegions[0],
        };
      };
      here.send(write(1, ['virginia']));
      const done = await here.next('the first answer', ({ id }) => id === 1);
      expect(done).toMatchObject({ type: 'written', region: 'virginia' });
      there.send([write(11, ['virginia', 'oregon']), write(12, ['virginia', 'oregon'])]);
      expect(await there.next('what became of it', ({ id }) => id === 11)).toMatchObject({
        ts: done.ts,
        region: 'virginia',
      });
      expect(await there.next('one that never arrived', ({ id }) => id === 12)).toMatchObject({ region: 'oregon' });
      here.send(write(22, ['virginia']));
      const late = await here.next('the late arrival', ({ id }) => id === 22);
      expect(late).toMatchObject({ type: 'error', code: 'TRANSACTION_ABORTED' });
      await Promise.all([here.close(), there.close()]);
    }),
  );

  it(
    'a session of the SDK moves to another node, or to another region, when its own are gone',
    logged(async () => {
      const client = await connect({ endpoints: [...virginia, ...oregon], requestTimeoutMs: 30_000 });
      const start = client.status.region!;
      const here = cluster.nodes.filter(({ region }) => region === start);
      const { timestamp } = await client.set('failover/a', 1);
      // Every node must report that it is served everywhere: after the region's failure no node can find out.
      for (const api of [...virginia, ...oregon]) await call(api, 'GET', `/v1/stable?ts=${timestamp}&timeout=20000`);
      await cluster.kill(client.status.node!);
      const reading = client.get('failover/b');
      const left = here.find(({ id }) => cluster.runs(id))!;
      // It serves its own partitions only: reads of the others may wait until the session is elsewhere.
      await cluster.kill(left.id);
      expect(await reading).toBeUndefined();
      // A new write: data that only the dead region had could not be read elsewhere.
      await client.set('failover/a', 2);
      expect(client.status.region).not.toBe(start);
      expect(await client.get('failover/a')).toBe(2);
      await Promise.all(here.map(({ id }) => cluster.restart(id)));
      const back = await connect({ endpoints: [here[0]!.api], session: client.session.export() });
      await until('the write in the region that came back', async () => (await back.get('failover/a')) === 2);
      await Promise.all([client.close(), back.close()]);
    }),
  );
});

it.each(CASES)('$protocol is refused with the line of a keyspace that is not in every region', async ({ protocol }) => {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-e2e-'));
  const partial = await isochron(['dev', '--protocol', protocol, '--replication', '2', '--data', folder]);
  rmSync(folder, { recursive: true });
  expect(partial).toMatchObject({ code: 1, stdout: '' });
  expect(partial.stderr).toMatch(new RegExp(`CONFIG_INVALID: .*cluster\\.yaml:\\d+: protocol "${protocol}": `));
});

it('a cluster with transactions refuses single operations', async () => {
  const cluster = await Cluster.start({ regions: ['virginia'] });
  const session = await SessionClient.open(cluster.endpoint('virginia'));
  await session.hello();
  const seen = { seen: [], region: 'virginia' };
  session.send([
    { type: 'get', id: 1, key: 'default/a', ...seen },
    { type: 'rot', id: 2, keys: ['default/a'], ...seen },
    { type: 'put', id: 3 },
  ]);
  for (const id of [1, 2, 3]) {
    const { code } = await session.next(`answer ${id}`, (frame) => frame.id === id);
    expect(code).toBe('NOT_SUPPORTED_BY_PROTOCOL');
  }
  await session.close();
  await cluster.dispose();
});
