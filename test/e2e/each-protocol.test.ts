/**
 * Each protocol once, in two real nodes: it starts, writes, reads and refuses. `protocols.test.ts` and
 * `operations.test.ts` have the full tests, of some protocols only outside the tier `all`.
 */
import { isTransactionName } from '@isochron/protocols/session-rules';
import { connect } from '@isochron/sdk';
import { forge } from './bad-input.js';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { BRIEF } from './matrix.js';
import { until } from './until.js';

jest.setTimeout(120_000);

const REGIONS = ['virginia', 'oregon'];
/** A token of each cluster; all have one id, placement and secret. */
const tokens = new Map<string, string>();

afterAll(cleanUp);

it.each(BRIEF)(
  'two nodes under the protocol %s start, write, read in both regions, and refuse what they must',
  logged(async (protocol) => {
    const cluster = await Cluster.start({ protocol, regions: REGIONS, partitions: 2, cluster: 'each-protocol' });
    const [here, there] = REGIONS.map((region) => cluster.endpoint(region)) as [string, string];
    expect(await cluster.status('oregon-1')).toMatchObject({ protocol });
    const [client, elsewhere] = await Promise.all([here, there].map((api) => connect({ endpoints: [api] })));
    await client!.set('a', { n: 1 });
    const own = async () => (await client!.get<{ n: number }>('a'))?.n === 1;
    // Without causal consistency a session may read from before its own writes.
    if (protocol === 'nocc') await until('the own write', own);
    else expect(await own()).toBe(true);
    await until('the write in the other region', async () => (await elsewhere!.get('a')) !== undefined);
    const transaction = client!.transaction(async (tx) => {
      const { n } = (await tx.get<{ n: number }>('a'))!;
      tx.set('a', { n: n + 1 });
      tx.set('b', n);
    });
    if (isTransactionName(protocol)) {
      await transaction;
      const seen = async () => (await elsewhere!.get('b')) === 1 && (await elsewhere!.get<{ n: number }>('a'))?.n === 2;
      await until('the transaction in the other region', seen);
    } else await expect(transaction).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_PROTOCOL' });
    await Promise.all([client!.close(), elsewhere!.close()]);
    await refusesTokens(protocol, here);
    await cluster.stop();
    await cluster.dispose();
  }),
);

/** Tokens that are forged or of another protocol. */
async function refusesTokens(protocol: string, api: string): Promise<void> {
  const get = (headers = {}) => call(api, 'GET', keyPath('a'), { headers });
  const token = String((await get()).headers['isochron-session']);
  expect((await get({ 'isochron-session': token })).status).toBe(200);
  const refused = { status: 400, code: 'TOKEN_INVALID' };
  expect((await get({ 'isochron-session': forge(token) })).json).toMatchObject(refused);
  for (const [other, foreign] of tokens) {
    const answer = await get({ 'isochron-session': foreign });
    expect(answer.json).toMatchObject(refused);
    expect(answer.text).toContain(`under the protocol ${other}`);
  }
  tokens.set(protocol, token);
}
