/**
 * A whole node, from HTTP down to LevelDB: accepted values come back unchanged, and refused ones leave no trace.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { parseClusterFile } from '../../server/src/config/cluster-file.js';
import { peeringOf } from '../../server/src/config/peering.js';
import { buildApi } from '../../server/src/http/api.js';
import { type OpenedNode, openNode } from '../../server/src/node/open.js';
import { promised } from '../../server/src/node/promised.js';
import { fuzz } from './fuzz.js';
import { hostileValue, jsonOf, place, replaced } from './hostile.js';
import { type Answer, askRaw, headerOf, type RawRequest } from './requests.js';

const SECRET = 'a secret for tests only';
const config = parseClusterFile(
  `protocol: paris
regions: [{ id: virginia, nodes: [{ id: virginia-1, api: "http://127.0.0.1:1", peer: "ws://127.0.0.1:0" }] }]
keyspaces: [{ name: default, partitions: 4 }]
settings: { durability: memory, cacheBytes: 10000, commitTimeoutMs: 600000, readTimeoutMs: 600000 }`,
  'node.yaml',
);
const json = { 'content-type': 'application/json' };

/** Keys of one to 1,024 bytes with almost any content. */
const key = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 }),
    fc.constantFrom(
      '\0',
      'a\u00000',
      '/',
      '//',
      '..',
      '%',
      '\u{10ffff}',
      '__proto__',
      'k'.repeat(1024),
      'é'.repeat(512),
    ),
  )
  .filter((text) => Buffer.byteLength(text) <= 1024 && !/[\ud800-\udfff]/u.test(text));
const value = fc.oneof(
  // As JSON stores it: without a negative zero.
  fc.jsonValue().map((document) => ({ value: JSON.parse(JSON.stringify(document)) as unknown })),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => ({ bytes: Buffer.from(bytes).toString('base64') })),
  fc.constant({ delete: true }),
);

describe('a node', () => {
  let dataDir: string;
  let node: OpenedNode;
  let app: FastifyInstance;
  let port: number;
  let failure: unknown;
  const open = async () => {
    const logger = pino({ level: 'silent' });
    const peering = peeringOf(config, 'virginia-1');
    const onFailure = (error: unknown) => {
      failure = error;
    };
    node = await openNode({ config, node: 'virginia-1', dataDir, secret: SECRET, peering, logger, onFailure });
    app = await buildApi(node, { secret: SECRET, docs: false, limits: { eventLoopDelayMs: 600_000 } });
    port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
    while (!node.ready()) await new Promise((resolve) => setImmediate(resolve));
  };
  const close = async () => {
    await app.close();
    await node.close();
  };
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'isochron-fuzz-'));
    await open();
  });
  afterEach(() => expect([failure, node.ready()]).toEqual([undefined, true]));
  afterAll(async () => {
    await close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const ask = async (request: RawRequest): Promise<Answer> => (await askRaw(port, request))!;
  const post = (url: string, body: unknown, session?: string): Promise<Answer> =>
    ask({
      method: 'POST',
      url,
      headers: { ...json, ...(session && { 'isochron-session': session }) },
      payload: jsonOf(body),
    });

  type Entry = { readonly key: string } & Record<string, unknown>;
  const refsOf = (entries: readonly Entry[]) => entries.map((entry) => ({ keyspace: 'default', key: entry.key }));
  /** The result of a read for written entries. */
  const expected = (entries: readonly Entry[]) =>
    entries.map(({ key: _key, ...written }) => ('delete' in written ? null : expect.objectContaining(written)));

  const entries = fc.uniqueArray(
    fc.tuple(key, value).map(([name, written]): Entry => ({ key: name, ...written })),
    {
      selector: (entry) => entry.key,
      minLength: 1,
      maxLength: 8,
    },
  );

  fuzz('a node returns written values unchanged, for any keys and values', 60, [entries], async (written) => {
    const writes = written.map((entry) => ({ keyspace: 'default', ...entry }));
    const committed = await post('/v1/commit', { writes });
    expect(committed.status).toBe(200);
    const read = await post('/v1/read', { keys: refsOf(written) }, headerOf(committed.head, 'isochron-session'));
    expect(JSON.parse(read.body)).toMatchObject({ values: expected(written) });
    const { timestamp } = JSON.parse(committed.body) as { timestamp: number };
    await promised<number>((done) => node.stable(timestamp, 600_000, done));
    const stable = await post('/v1/read', { keys: refsOf(written) });
    expect(JSON.parse(stable.body)).toMatchObject({ values: expected(written) });
  });

  fuzz('a node returns written values unchanged after a restart', 3, [entries], async (written) => {
    const committed = await post('/v1/commit', { writes: written.map((entry) => ({ keyspace: 'default', ...entry })) });
    const { timestamp } = JSON.parse(committed.body) as { timestamp: number };
    await close();
    await open();
    await promised<number>((done) => node.stable(timestamp, 600_000, done));
    const read = await post('/v1/read', { keys: refsOf(written) });
    expect(JSON.parse(read.body)).toMatchObject({ values: expected(written) });
    const listed = JSON.parse((await ask({ method: 'GET', url: '/v1/keyspaces/default/keys?limit=1000' })).body);
    const keys = (listed as { entries: { key: string }[] }).entries.map((entry) => entry.key);
    for (const { key: name, ...rest } of written)
      expect([name, keys.includes(name)]).toEqual([name, !('delete' in rest)]);
  });

  const body = {
    writes: [
      { keyspace: 'default', key: 'one', value: { n: 1 } },
      { keyspace: 'default', key: 'two', bytes: 'AAEC' },
    ],
  };
  const parts = fc.array(fc.tuple(place, hostileValue), { minLength: 1, maxLength: 2 });
  fuzz(
    'a node applies a commit as a whole, or refuses it and stores no part of it',
    60,
    [parts, fc.nat()],
    async (spoilt, n) => {
      const known = ['one', 'two'].map((name): Entry => ({ key: name, value: n }));
      const before = await post('/v1/commit', { writes: known.map((entry) => ({ keyspace: 'default', ...entry })) });
      const session = headerOf(before.head, 'isochron-session');
      const hostile = spoilt.reduce<unknown>((whole, [at, by]) => replaced(whole, at, () => by), body);
      if ((await post('/v1/commit', hostile, session)).status === 200) return;
      const after = await post('/v1/read', { keys: refsOf(known) }, session);
      expect(JSON.parse(after.body)).toMatchObject({ values: expected(known) });
    },
  );
});
