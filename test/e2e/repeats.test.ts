/** Writes over HTTP that are repeated under their id at nodes of all regions: each has one effect (D4). */
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';

jest.setTimeout(120_000);
afterAll(cleanUp);

const REGIONS = ['virginia', 'oregon', 'ireland'];
const KEYS = 12;

const protocols: [string, number][] = [
  ['paris', 2],
  ['paris', 3],
  ['cure', 2],
  ['gentlerain', 3],
];

it.each(protocols)(
  'a write that is repeated under its Idempotency-Key in every region has one effect: %s, %i copies',
  logged(async (protocol, replication) => {
    const cluster = await Cluster.start({ regions: REGIONS, protocol, replication });
    const put = async (region: string, number: number) => {
      const key = number % 2 === 0 ? `order ${number}` : `ireland:order ${number}`;
      const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
      const answer = await call(cluster.endpoint(region), 'PUT', keyPath(`k${number}`), {
        headers,
        body: String(number),
      });
      expect([region, number, answer.status]).toEqual([region, number, 200]);
      return answer.text;
    };
    for (let number = 0; number < KEYS; number++) {
      const first = await put(REGIONS[number % 3]!, number);
      const others = await Promise.all(REGIONS.map((region) => put(region, number)));
      expect(new Set([first, ...others]).size).toBe(1);
    }
    for (let number = KEYS; number < 2 * KEYS; number++) {
      const answers = await Promise.all(REGIONS.map((region) => put(region, number)));
      expect(new Set(answers).size).toBe(1);
    }
    await cluster.dispose();
  }),
);

it(
  'a claim that is repeated in another region under its transaction still has won, and the change feed has it once',
  logged(async () => {
    const cluster = await Cluster.start({ regions: REGIONS });
    const headers = { 'content-type': 'application/json', prefer: 'wait=20' };
    const claim = (region: string, key: string) =>
      call(cluster.endpoint(region), 'POST', `${keyPath('name')}/claim`, {
        headers: { ...headers, 'idempotency-key': key },
        body: '{"user":"ann"}',
      });
    const first = (await claim('virginia', 'ann')).json as { transaction: string; timestamp: number; won: boolean };
    expect(first.won).toBe(true);
    for (const region of REGIONS)
      for (const key of ['ann', first.transaction]) expect((await claim(region, key)).json).toEqual(first);
    const feed = await call(
      cluster.endpoint('oregon'),
      'GET',
      `/v1/changes?keyspace=default&at=${first.timestamp - 1}`,
    );
    const { transactions } = feed.json as { transactions: { transaction: string }[] };
    expect(transactions.filter(({ transaction }) => transaction === first.transaction)).toHaveLength(1);
    expect(transactions).toHaveLength(1);
    await cluster.dispose();
  }),
);
