import { connect, OutcomeUnknownError } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { isochron } from './processes.js';
import { SessionClient } from './session-client.js';
import { until } from './until.js';

jest.setTimeout(120_000);
afterAll(cleanUp);

/** Longer than a test takes on a busy machine. */
const RETENTION_MS = 20_000;
const NEVER = 'abcdefghijklmnopqrstuv.0';
let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({ regions: ['virginia', 'oregon'], settings: { outcomeRetentionMs: RETENTION_MS } });
});

const asked = async (api: string, id: string, query = ''): Promise<unknown> =>
  (await call(api, 'GET', `/v1/transactions/${id}${query}`)).json;

describe('the status of a transaction by its id', () => {
  it(
    'the status of a transaction whose answer was lost is found by another process in another region',
    logged(async () => {
      const api = cluster.endpoint('virginia');
      const client = await connect({ endpoints: [api], requestTimeoutMs: 300, commitTimeoutMs: 600 });
      const process = cluster.process('virginia-1');
      let error: unknown;
      try {
        // The commit arrives at a node that does not process it yet, and has reached no other node.
        process.signal('SIGSTOP');
        error = await client.set('lost', 1).catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(OutcomeUnknownError);
        // A node that stood still for seconds may refuse the commit for its clock: that would be an end, too.
        await client.close({ flushMs: 0 });
      } finally {
        process.signal('SIGCONT');
      }
      const { txId, sentAfter } = error as OutcomeUnknownError;
      const kept = JSON.stringify({ txId, sentAfter });
      const later = await connect({ endpoints: [cluster.endpoint('oregon')] });
      const { state, timestamp } = await until('it has happened', async () => {
        const status = await later.transactionStatus(JSON.parse(kept) as { txId: string; sentAfter: number });
        return status.state === 'committed' && status;
      });
      expect(state).toBe('committed');
      await later.close();
      expect(await asked(api, txId)).toEqual({ id: txId, status: 'committed', timestamp });
      const options = ['--endpoint', cluster.endpoint('oregon'), '--sent-after', String(sentAfter)];
      // The stopped node may not answer the first request of the other one.
      let last = '';
      const report = async () => {
        const result = await isochron(['transaction', txId, ...options]);
        last = `exit code ${result.code}: ${result.stdout}${result.stderr}`;
        return result.code === 0 && result;
      };
      const output = await until('the command line reports it', report, { explain: () => last });
      expect(output.stdout).toBe(`committed at ${timestamp}\n`);
      const json = await isochron(['transaction', txId, '--json', ...options]);
      expect(JSON.parse(json.stdout)).toEqual({ transaction: txId, status: 'committed', timestamp });
      const got = await until('it is visible', async () => {
        const answer = await call(cluster.endpoint('oregon'), 'GET', keyPath('lost'));
        return answer.status === 200 && answer;
      });
      expect(got.headers['isochron-commit-timestamp']).toBe(String(timestamp));
    }),
  );

  it(
    'the status of a transaction survives the restart of every node',
    logged(async () => {
      const client = await connect({ endpoints: cluster.endpoints() });
      const { txId, timestamp } = await client.set('kept', 1);
      await client.close();
      for (const { id } of cluster.nodes) await cluster.kill(id);
      await cluster.startAgain();
      for (const api of cluster.endpoints())
        expect(await asked(api, txId)).toEqual({ id: txId, status: 'committed', timestamp });
    }),
  );

  it(
    'the status of an old transaction is unknown or forgotten, by sentAfter, and a commit that old is refused',
    logged(async () => {
      const api = cluster.endpoint('virginia');
      expect(await asked(api, NEVER)).toEqual({ id: NEVER, status: 'unknown', timestamp: null });
      expect(await asked(api, NEVER, '?sentAfter=1')).toEqual({ id: NEVER, status: 'forgotten', timestamp: null });
      const shown = await isochron(['transaction', NEVER, '--sent-after', '1', '--endpoint', api]);
      expect(shown).toMatchObject({ code: 0, stdout: 'forgotten\n' });
      const session = await SessionClient.open(api);
      const { ust } = await session.hello();
      const writes = [{ key: 'default/forgotten', value: '1' }];
      const commit = { type: 'commit', tx: NEVER, snapshot: ust, hwt: 0, attemptRegions: ['virginia'], writes };
      let id = 0;
      // The horizon of kept outcomes moves when the node looks after it.
      const isRefused = async () => {
        session.send({ ...commit, id: ++id, sentAfter: 1 });
        const mine = id;
        const answer = await session.next('an answer', (frame) => frame.id === mine);
        return (answer as { code?: string }).code === 'OUTCOME_FORGOTTEN';
      };
      await until('it is refused', isRefused, { timeoutMs: 3 * RETENTION_MS });
      await session.close();
    }),
  );

  it('the status of a malformed id is refused', async () => {
    const { code, stderr } = await isochron(['transaction', 'nonsense', '--endpoint', cluster.endpoint('virginia')]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: INVALID_REQUEST: /)]);
  });
});
