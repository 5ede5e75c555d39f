import { IsochronError, MAX_TIMESTAMP, Topology, txIdOf } from '@isochron/core';
import { partWithHome } from '@isochron/sessions';
import fc from 'fast-check';
import { SessionNetwork, startApi, type TestApi } from '../../../testing/test-api.js';
import { TestCluster, testConfig } from '../../../testing/test-cluster.js';
import { clusterSpec } from '../../config/cluster-file.js';
import { formatTxId, parseTxId } from './tx-ref.js';

const KEYS = '/v1/keyspaces/default/keys';
const topology = Topology.of(clusterSpec(testConfig()));
const refs = (...keys: string[]) => keys.map((key) => ({ keyspace: 'default', key }));

describe('the id of an interactive transaction', () => {
  it('the id of an interactive transaction has all that another node needs to continue it', () => {
    const timestamp = fc.integer({ min: 0, max: MAX_TIMESTAMP });
    const random = fc.stringMatching(/^[A-Za-z0-9_-]{22}$/);
    const owner = fc.constantFrom(...topology.nodes);
    fc.assert(
      fc.property(random, owner, timestamp, timestamp, (part, node, snapshot, hwt) => {
        const txId = txIdOf(partWithHome(part, { home: topology.regionOf(node), avoid: [] }, topology), hwt % 1000);
        const ref = { txId, owner: node, snapshot: { ts: snapshot }, hwt };
        expect(parseTxId(formatTxId(ref), topology, 0)).toEqual(ref);
      }),
    );
  });

  it('the id of an interactive transaction has the entries of its snapshot, in their exact number', () => {
    const entries = fc.array(fc.integer({ min: 0, max: MAX_TIMESTAMP }), { minLength: 1, maxLength: 64 });
    fc.assert(
      fc.property(entries, fc.integer({ min: 0, max: MAX_TIMESTAMP }), (deps, hwt) => {
        const ref = { txId: `${'a'.repeat(22)}-A0.0`, owner: 'virginia-1', snapshot: { ts: 7, deps }, hwt };
        const id = formatTxId(ref);
        expect(parseTxId(id, topology, deps.length)).toEqual(ref);
        for (const other of [0, deps.length - 1, deps.length + 1])
          if (other !== deps.length) expect(parseTxId(id, topology, other)).toBeUndefined();
      }),
    );
  });

  it('the id of an interactive transaction is invalid when any part of it is wrong', () => {
    fc.assert(fc.property(fc.string(), (text) => parseTxId(text, topology, 0) === undefined));
    for (const text of [
      '@',
      'a@b@c',
      `${'a'.repeat(22)}-A0.0@virginia-1@-1`,
      `${'a'.repeat(22)}-A0.0@virginia-1@zzzzzzzzzzz`,
      `${'a'.repeat(22)}-A0.0@virginia-1@1@2@3`,
      `${'a'.repeat(22)}-A0.0@virginia-1@1.2`,
      `${'a'.repeat(22)}.0@virginia-1@1`,
      `${'a'.repeat(22)}-A1.0@virginia-1@1`,
    ])
      expect(parseTxId(text, topology, 0)).toBeUndefined();
  });
});

describe('an interactive transaction whose node is gone (D8)', () => {
  let network: SessionNetwork;
  let cluster: TestCluster;
  let home: TestApi;
  let neighbour: TestApi;
  let abroad: TestApi;
  beforeEach(async () => {
    network = new SessionNetwork();
    cluster = new TestCluster();
    home = await startApi({ cluster, network });
    neighbour = await startApi({ cluster, network, id: 'virginia-2' });
    abroad = await startApi({ cluster, network, id: 'oregon-1' });
    cluster.put('default/a', '1');
    cluster.stabilise();
  });
  afterEach(() => Promise.all([home.close(), neighbour.close(), abroad.close()]));

  const open = async (headers: Record<string, string> = {}): Promise<string> =>
    String((await home.call('POST', '/v1/transactions', { headers })).headers.location);
  /** The node is gone: its links are down, and it has lost its transactions. */
  const gone = () => {
    cluster.loseTransactions();
    network.silent.add('virginia-1');
  };
  const overtake = () => {
    cluster.put('default/a', '2');
    cluster.stabilise();
  };

  it.each(['neighbour', 'abroad'] as const)(
    'an interactive transaction whose node is gone continues in its snapshot on another node: %s',
    async (which) => {
      const path = await open();
      const target = { neighbour, abroad }[which];
      gone();
      overtake();
      const before = target.node.commits.length;
      target.node.failNext = new IsochronError('CONNECTION_LOST', 'the link is down');
      const seen = await target.call('POST', `${path}/read`, { body: { keys: refs('a', 'b') } });
      expect(seen.json()).toMatchObject({ values: [{ value: 1 }, null] });
      const body = { writes: [{ ...refs('b')[0], value: 1 }] };
      target.node.failNext = new IsochronError('CONNECTION_LOST', 'the link is down');
      const done = await target.call('POST', `${path}/commit`, { body });
      const again = await target.call('POST', `${path}/commit`, { body });
      expect(again.json()).toEqual(done.json());
      expect(cluster.stored().get('default/b')).toHaveLength(1);
      const commits = target.node.commits.slice(before);
      // Every repetition has the home of the node that opened it, and the sentAfter of its snapshot (D4, D5).
      for (const { attemptRegions } of commits) expect(attemptRegions).toEqual(['virginia']);
      expect(new Set(commits.map(({ sentAfter }) => sentAfter)).size).toBe(1);
    },
  );

  it('an interactive transaction continues at the same node after its restart', async () => {
    const path = await open();
    cluster.loseTransactions();
    overtake();
    const seen = await home.call('POST', `${path}/read`, { body: { keys: refs('a') } });
    expect(seen.json()).toMatchObject({ values: [{ value: 1 }] });
    const done = await home.call('POST', `${path}/commit`, { body: { writes: [{ ...refs('b')[0], value: 1 }] } });
    expect(done.status).toBe(200);
  });

  it('an interactive transaction refuses reads that need writes lost with its node, and still commits', async () => {
    const wrote = await home.call('PUT', `${KEYS}/a`, { body: { mine: true } });
    const path = await open({ 'isochron-session': String(wrote.headers['isochron-session']) });
    const shown = await home.call('POST', `${path}/read`, { body: { keys: refs('a') } });
    expect(shown.json()).toMatchObject({ values: [{ value: { mine: true } }] });
    gone();
    const lost = await neighbour.call('POST', `${path}/read`, { body: { keys: refs('a') } });
    expect(lost.json()).toMatchObject({ code: 'REPLICA_UNREACHABLE', retryable: true });
    // The commit needs no own writes.
    const done = await abroad.call('POST', `${path}/commit`, { body: { writes: [{ ...refs('b')[0], value: 1 }] } });
    expect(done.status).toBe(200);
    const { request } = abroad.node.calls.at(-1)!;
    expect(request).toMatchObject({
      hwt: Number(wrote.headers['isochron-commit-timestamp']),
      attemptRegions: ['virginia'],
    });
  });

  it('an interactive transaction whose node is gone ends without an error', async () => {
    const path = await open();
    gone();
    neighbour.node.failNext = new IsochronError('CONNECTION_LOST', 'the link is down');
    expect((await neighbour.call('DELETE', path)).status).toBe(204);
  });

  it('an interactive transaction is refused where its id claims a time in the future (T1)', async () => {
    const id = formatTxId({
      txId: `${'a'.repeat(22)}-A0.0`,
      owner: 'virginia-1',
      snapshot: { ts: MAX_TIMESTAMP },
      hwt: 0,
    });
    const seen = await home.call('POST', `/v1/transactions/${id}/read`, { body: { keys: refs('a') } });
    expect(seen.json()).toMatchObject({ code: 'TIMESTAMP_IN_FUTURE' });
  });
});
