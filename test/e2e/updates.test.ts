import { arrayUnion, connect, type IsochronClient, increment, mergePatch, serverTimestamp, set } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';

jest.setTimeout(90_000);

const REGIONS = ['virginia', 'oregon', 'ireland'] as const;
const OPERATIONS = { 'content-type': 'application/vnd.isochron.operations+json' };

let cluster: Cluster;
let clients: IsochronClient[];
const ofRegion = (region: (typeof REGIONS)[number]): IsochronClient => clients[REGIONS.indexOf(region)]!;

beforeAll(async () => {
  cluster = await Cluster.start();
  clients = await Promise.all(REGIONS.map((region) => connect({ endpoints: [cluster.endpoint(region)] })));
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await cleanUp();
});

/** Waits until all writes are visible everywhere. */
const settled = async (writes: readonly Promise<{ stable(): Promise<void> } | undefined>[]): Promise<void> => {
  for (const write of await Promise.all(writes)) await write?.stable();
};

/** The document of a key in every region, from sessions of its own. */
const everywhere = async (key: string): Promise<unknown[]> => {
  const reads = REGIONS.map((region) => call(cluster.endpoint(region), 'GET', keyPath(key)));
  return (await Promise.all(reads)).map(({ json }) => json);
};

/** Each region's document is compared: F2, F4, F5, F6. */
describe('updates', () => {
  it(
    'two people who edit different fields of one document keep both edits',
    logged(async () => {
      await settled([ofRegion('virginia').set('doc', { title: 'draft', tags: ['a'] })]);
      await settled([
        ofRegion('virginia').update('doc', { title: 'final' }),
        ofRegion('ireland').update('doc', { owner: 'ann' }),
        ofRegion('oregon').update('doc', [arrayUnion('/tags', 'a', 'b')]),
      ]);
      const whole = { title: 'final', owner: 'ann', tags: ['a', 'b'] };
      expect(await everywhere('doc')).toEqual([whole, whole, whole]);
    }),
  );

  it(
    'twenty increments in each of two regions give forty',
    logged(async () => {
      const add = (client: IsochronClient) => client.update('count', [increment('/n')]);
      const writes = Array.from({ length: 20 }, () => [add(ofRegion('virginia')), add(ofRegion('ireland'))]);
      await settled(writes.flat());
      expect(await everywhere('count')).toEqual([{ n: 40 }, { n: 40 }, { n: 40 }]);
    }),
  );

  it(
    'forty increments over HTTP give forty, also where each is sent twice',
    logged(async () => {
      const path = keyPath('count-http');
      const patch = (region: string, i: number) =>
        call(cluster.endpoint(region), 'PATCH', path, {
          headers: { ...OPERATIONS, 'idempotency-key': `${region}-${i}` },
          body: '[{"op":"increment","path":"/n","by":1}]',
        });
      const twice = async (region: string, i: number) => {
        const [first, second] = [await patch(region, i), await patch(region, i)];
        expect(second.json).toEqual(first.json);
        return (first.json as { timestamp: number }).timestamp;
      };
      const cts = await Promise.all(
        Array.from({ length: 20 }, (_, i) => [twice('virginia', i), twice('oregon', i)]).flat(),
      );
      await call(cluster.endpoint('ireland'), 'GET', `/v1/stable?ts=${Math.max(...cts)}&timeout=20000`);
      expect(await everywhere('count-http')).toEqual([{ n: 40 }, { n: 40 }, { n: 40 }]);
    }),
  );

  it(
    'a session sees its own updates at once, in its transaction, in listings and after a change of region',
    logged(async () => {
      await settled([ofRegion('oregon').set('own/1', { n: 1 })]);
      const [from, to] = [cluster.endpoint('virginia'), cluster.endpoint('ireland')];
      const one = await connect({ endpoints: [from] });
      const { result } = await one.transaction(async (tx) => {
        await tx.update('own/1', [increment('/n', 4), serverTimestamp('/at')]);
        await tx.update('own/1', { title: 'x' });
        await tx.update('own/2', [mergePatch('', { made: true })]);
        return tx.get('own/1');
      });
      expect(result).toEqual({ n: 5, at: null, title: 'x' });
      await one.update('own/1', [increment('/n', 10)]);
      const mine = { n: 15, at: expect.any(Number), title: 'x' };
      expect(await one.getMany(['own/1', 'own/2'])).toEqual([mine, { made: true }]);
      const two = await connect({ endpoints: [to], session: one.session.export() });
      const listed: unknown[] = [];
      for await (const { key, value } of two.list({ prefix: 'own/' })) listed.push([key, value]);
      expect(listed).toEqual([
        ['own/1', mine],
        ['own/2', { made: true }],
      ]);
      await Promise.all([one.close(), two.close()]);
    }),
  );

  it(
    'a session over HTTP sees its own updates at once, on another node too',
    logged(async () => {
      const path = keyPath('own-http');
      await settled([ofRegion('oregon').set('own-http', { n: 1 })]);
      let token = '';
      for (const region of ['virginia', 'virginia', 'ireland']) {
        const session: Record<string, string> = token === '' ? {} : { 'isochron-session': token };
        const written = await call(cluster.endpoint(region), 'PATCH', path, {
          headers: { ...OPERATIONS, ...session },
          body: '[{"op":"increment","path":"/n","by":1}]',
        });
        expect(written.status).toBe(200);
        token = String(written.headers['isochron-session']);
      }
      const headers = { 'isochron-session': token, prefer: 'wait=20' };
      expect((await call(cluster.endpoint('oregon'), 'GET', path, { headers })).json).toEqual({ n: 4 });
    }),
  );

  it(
    'operations that are refused leave nothing of their transaction',
    logged(async () => {
      const endpoint = cluster.endpoint('virginia');
      const bad = [{ op: 'increment', path: 'n', by: 1 }];
      const ref = (key: string, fields: object) => ({ keyspace: 'default', key, ...fields });
      const writes = [ref('half/a', { value: 1 }), ref('half/b', { operations: bad })];
      const batch = await call(endpoint, 'POST', '/v1/commit', { body: { writes } });
      expect(batch).toMatchObject({ status: 400, json: { code: 'UPDATE_INVALID' } });
      const patch = await call(endpoint, 'PATCH', keyPath('half/b'), { headers: OPERATIONS, body: '[{"op":"boil"}]' });
      expect(patch).toMatchObject({ status: 400, json: { code: 'UPDATE_INVALID' } });
      const client = ofRegion('virginia');
      const run = client.transaction(async (tx) => {
        tx.set('half/a', 1);
        await tx.update('half/b', [set('no pointer', 1)]);
      });
      await expect(run).rejects.toMatchObject({ code: 'UPDATE_INVALID' });
      expect(await client.getMany(['half/a', 'half/b'])).toEqual([undefined, undefined]);
    }),
  );
});

describe('a session whose region fails', () => {
  it(
    'a session whose region fails goes on in another one, and still sees its own updates, each once',
    logged(async () => {
      const own = await Cluster.start({ regions: ['virginia', 'oregon'] });
      const client = await connect({ endpoints: own.endpoints() });
      const { region } = client.status;
      await (await client.set('tea', { left: 10 })).stable();
      for (let i = 0; i < 5; i++) await client.update('tea', [increment('/left', -1)]);
      await own.kill(`${region}-1`);
      expect(await client.get('tea')).toEqual({ left: 5 });
      expect(client.status.region).not.toBe(region);
      await own.restart(`${region}-1`);
      const write = await client.update('tea', [increment('/left', -1)]);
      expect(await client.get('tea')).toEqual({ left: 4 });
      await write.stable();
      const reads = own.endpoints().map((api) => call(api, 'GET', keyPath('tea')));
      expect((await Promise.all(reads)).map(({ json }) => json)).toEqual([{ left: 4 }, { left: 4 }]);
      await client.close();
    }),
  );
});

describe('claims', () => {
  it(
    'of claims of one name in three regions exactly one wins, and all name the same winner',
    logged(async () => {
      for (let round = 0; round < 3; round++) {
        const claims = clients.map((client, i) => client.claim(`names/ann-${round}`, { user: i }));
        const results = await Promise.all(claims);
        const winners = results.flatMap(({ won }, i) => (won ? [i] : []));
        expect(winners).toHaveLength(1);
        const winner = { user: winners[0] };
        expect(results.map(({ value }) => value)).toEqual([winner, winner, winner]);
        expect(await everywhere(`names/ann-${round}`)).toEqual([winner, winner, winner]);
      }
    }),
  );

  it(
    'claims over HTTP have one winner, and a repeated claim gets its answer again',
    logged(async () => {
      const claim = (region: string) =>
        call(cluster.endpoint(region), 'POST', `${keyPath('names/bob')}/claim`, {
          headers: { 'idempotency-key': `claim-${region}`, prefer: 'wait=20' },
          body: { region },
        });
      const first = await Promise.all(REGIONS.map(claim));
      const answers = first.map(({ json }) => json as { won: boolean; value: { region: string } });
      const winners = REGIONS.filter((_, i) => answers[i]!.won);
      expect(winners).toHaveLength(1);
      expect(answers.map(({ value }) => value.region)).toEqual(REGIONS.map(() => winners[0]));
      const again = await Promise.all(REGIONS.map(claim));
      expect(again.map(({ json }) => json)).toEqual(answers);
    }),
  );
});
