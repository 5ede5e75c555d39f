/** Writes and claims over HTTP that are repeated under their id at nodes of all regions: each has one effect (D4). */
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';

jest.setTimeout(120_000);
afterAll(cleanUp);

const REGIONS = ['virginia', 'oregon', 'ireland'];
const KEYS = 12;

const put = async (cluster: Cluster, region: string, number: number): Promise<string> => {
  const key = number % 2 === 0 ? `order ${number}` : `ireland:order ${number}`;
  const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
  const answer = await call(cluster.endpoint(region), 'PUT', keyPath(`k${number}`), { headers, body: String(number) });
  const { status, text } = answer;
  expect({ region, number, status, text }).toEqual({ region, number, status: 200, text });
  return answer.text;
};

/** Repeats writes in all regions: some after the first answer, and some at the same time. */
async function repeatWrites(cluster: Cluster): Promise<void> {
  for (let number = 0; number < KEYS; number++) {
    const first = await put(cluster, REGIONS[number % 3]!, number);
    const others = await Promise.all(REGIONS.map((region) => put(cluster, region, number)));
    expect(new Set([first, ...others]).size).toBe(1);
  }
  for (let number = KEYS; number < 2 * KEYS; number++) {
    const answers = await Promise.all(REGIONS.map((region) => put(cluster, region, number)));
    expect(new Set(answers).size).toBe(1);
  }
}

/** Claims a name, and repeats the claim in all regions under its key and under its transaction. */
async function repeatClaim(cluster: Cluster): Promise<void> {
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
}

it.each(['paris', 'cure', 'gentlerain'])(
  'a write that is repeated under its Idempotency-Key in every region has one effect and one answer: %s',
  logged(async (protocol) => {
    const cluster = await Cluster.start({ regions: REGIONS, protocol, replication: protocol === 'paris' ? 2 : 3 });
    await repeatWrites(cluster);
    if (protocol === 'paris') await repeatClaim(cluster);
    await cluster.dispose();
  }),
);
