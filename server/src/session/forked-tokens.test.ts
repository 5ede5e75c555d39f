import { SessionNetwork, startApi, type TestApi } from '../../testing/test-api.js';
import { TestCluster } from '../../testing/test-cluster.js';

/** Tokens that are used more than once: by requests in flight together, on several nodes, later again. */
const KEYS = '/v1/keyspaces/default/keys';
let network: SessionNetwork;
let cluster: TestCluster;
let apis: TestApi[];
let a: TestApi;
let b: TestApi;
let c: TestApi;

beforeEach(async () => {
  network = new SessionNetwork();
  cluster = new TestCluster();
  const open = (id: string) => startApi({ cluster, network, id });
  [a, b, c] = apis = [await open('virginia-1'), await open('virginia-2'), await open('oregon-1')] as [
    TestApi,
    TestApi,
    TestApi,
  ];
});
afterEach(() => Promise.all(apis.map((api) => api.close())));

type Token = string | undefined;
const headersOf = (token: Token) => (token === undefined ? {} : { 'isochron-session': token });

async function put(api: TestApi, key: string, token?: Token): Promise<string> {
  const headers = { 'content-type': 'application/json', ...headersOf(token) };
  const answer = await api.call('PUT', `${KEYS}/${key}`, { body: JSON.stringify(key), headers });
  expect(answer.status).toBe(200);
  return String(answer.headers['isochron-session']);
}

async function get(api: TestApi, key: string, token: Token): Promise<{ status: number; token: string }> {
  const headers = { ...headersOf(token), prefer: 'wait=0' };
  const { status, headers: answered } = await api.call('GET', `${KEYS}/${key}`, { headers });
  return { status, token: String(answered['isochron-session']) };
}

describe('a token that is used twice', () => {
  it('a token that is used twice shows its write, after another use of its origin was copied', async () => {
    const t1 = await put(a, 'q0');
    const g = await get(b, 'q0', t1);
    const wa = await put(a, 'q1', t1);
    await put(b, 'q2', g.token);
    expect((await get(b, 'q1', wa)).status).toBe(200);
  });

  it('a token that is used twice shows all writes of its lineage, with parallel requests on two nodes', async () => {
    network.delayMs = 1;
    let tokens: string[] = [await put(a, 'r')];
    const missed: string[] = [];
    for (let round = 0; round < 15; round++) {
      const written = await Promise.all(
        Array.from({ length: 4 }, async (_, i) => {
          const key = `k${round}-${i}`;
          return { key, token: await put(i % 2 === 0 ? a : b, key, tokens[i % tokens.length]) };
        }),
      );
      const read = await Promise.all(
        written.flatMap(({ key, token }) => [a, b].map(async (api) => ({ key, ...(await get(api, key, token)) }))),
      );
      missed.push(...read.filter(({ status }) => status !== 200).map(({ key }) => key));
      tokens = [...written, ...read].map(({ token }) => token);
    }
    expect(missed).toEqual([]);
  });

  it("a later write of a token's origin is added to a copy, and the copy keeps its own writes", async () => {
    const t1 = await put(a, 'q0');
    const onB = await put(b, 'q1', t1);
    const onA = await put(a, 'q2', t1);
    const more = await put(b, 'q3', onA);
    for (const key of ['q0', 'q2', 'q3']) expect((await get(b, key, more)).status).toBe(200);
    expect((await get(b, 'q1', onB)).status).toBe(200);
    // Later tokens of the copy name the writes into it, on any node.
    for (const key of ['q0', 'q2', 'q3']) expect((await get(c, key, more)).status).toBe(200);
  });

  it('a token that is used twice waits for stable time where a copy lacks a write of a silent origin', async () => {
    const t1 = await put(a, 'q0');
    await get(b, 'q0', t1);
    const wa = await put(a, 'q1', t1);
    network.silent.add('virginia-1');
    expect((await get(b, 'q1', wa)).status).toBe(409);
    cluster.stabilise();
    expect((await get(b, 'q1', wa)).status).toBe(200);
  });

  it('a token that is used twice is complete on a third node, which copies a copy', async () => {
    const t1 = await put(a, 'q0');
    const t2 = await put(b, 'q1', t1);
    const t3 = await put(c, 'q2', t2);
    const late = await put(a, 'q3', t1);
    const merged = await put(b, 'q4', late);
    for (const key of ['q0', 'q1', 'q2']) expect((await get(c, key, t3)).status).toBe(200);
    for (const key of ['q0', 'q3', 'q4']) expect((await get(c, key, merged)).status).toBe(200);
  });
});
