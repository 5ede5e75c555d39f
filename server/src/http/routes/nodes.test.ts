import { startApi, type TestApi } from '../../../testing/test-api.js';

let api: TestApi;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const order = async (body: unknown) => (await api.call('POST', '/v1/nodes', { body })).json() as unknown;

describe('orders about nodes', () => {
  it.each(['suspend', 'hold', 'return', 'evict'] as const)(
    'an order that a map carries out is answered with the version of the map: %s',
    async (action) => {
      api.node.mapVersion = 7;
      expect(await order({ action, nodes: ['oregon-1', 'ireland-1'] })).toEqual({
        node: 'virginia-1',
        map: 7,
        why: null,
        nodes: [],
      });
      expect(api.node.ordered).toEqual([[action, 'oregon-1', 'ireland-1']]);
    },
  );

  it.each([
    'away',
    'held',
    'not-held',
    'member',
    'evicted',
    'answers',
    'no-majority',
    'silent',
    'only-replica',
    'rebuilding',
    'another-order',
    'late',
  ] as const)('an order that no map carries out is answered with the reason and its nodes: %s', async (why) => {
    api.node.outcome = { why, nodes: ['oregon-1'] };
    expect(await order({ action: 'hold', nodes: ['ireland-1'] })).toMatchObject({ why, nodes: ['oregon-1'] });
  });

  it('an order about a node that the cluster does not have is refused, and names the nodes that it has', async () => {
    api.node.outcome = { why: 'unknown-node', nodes: ['nowhere-1'] };
    const detail = /has no node "nowhere-1"; it has virginia-1, .*oregon-1/;
    expect(await order({ action: 'hold', nodes: ['nowhere-1'] })).toMatchObject({
      status: 400,
      code: 'INVALID_REQUEST',
      detail: expect.stringMatching(detail),
    });
  });

  it.each([
    {},
    { action: 'remove', nodes: ['a'] },
    { action: 'hold', nodes: [] },
    { action: 'hold', nodes: 'a' },
    null,
  ])('an order with a body that the route does not know is refused: %j', async (body) => {
    expect(await order(body)).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
    expect(api.node.ordered).toEqual([]);
  });
});
