import type { ErrorCode } from '@isochron/core/errors';
import { client, closeAll, clusterOf, server, statusOf } from '../testing/harness.js';

afterEach(closeAll);

const REGIONS = ['virginia', 'oregon', 'ireland'].map((id) => ({ id, endpoints: [] }));
const threeRegions = () => clusterOf({ regions: REGIONS.map(({ id }) => id) });
const OREGON = { nodes: ['oregon-1'], regions: ['oregon'] };

/** The node refuses commits of map 0, reports map 3, and takes commits of that. */
function refusesUntilMap(node: Awaited<ReturnType<typeof server>>, code: ErrorCode, retryable: boolean): void {
  node.script = (frame) => {
    if (frame.type !== 'commit') return undefined;
    if (frame.maps !== undefined) return { type: 'committed', id: frame.id, ts: node.cluster.clock + 1 };
    node.push({ type: 'ust', ust: node.cluster.ust, freshness: node.freshness(), map: 3 });
    return { type: 'error', id: frame.id, code, detail: '', retryable };
  };
}

describe('a new attempt of a commit', () => {
  it('a new attempt avoids the regions that do not answer the node, from its next report on, and no longer than that', async () => {
    const node = await server(threeRegions(), { regions: REGIONS });
    const app = await client([node]);
    await app.set('a', 1);
    const reported = async (unresponsive: typeof OREGON | undefined) => {
      const report = unresponsive === undefined ? {} : { unresponsive };
      node.push({ type: 'ust', ust: node.cluster.ust, freshness: node.freshness(), ...report });
      const names = unresponsive?.nodes ?? [];
      await statusOf(app, ({ unresponsive: seen }) => seen.join() === names.join());
    };
    await reported(OREGON);
    await app.set('a', 2);
    await reported(undefined);
    await app.set('a', 3);
    expect(node.received('commit').map(({ avoids }) => avoids)).toEqual([undefined, [['oregon']], undefined]);
  });

  it('a new attempt avoids the sorted regions that the welcome reports; none where that would be every region', async () => {
    const node = await server(threeRegions(), { regions: REGIONS });
    node.unresponsive = { nodes: ['oregon-1', 'ireland-1'], regions: ['oregon', 'ireland'] };
    await (await client([node])).set('a', 1);
    node.unresponsive = { nodes: ['x'], regions: ['oregon', 'ireland', 'virginia'] };
    await (await client([node])).set('a', 1);
    expect(node.received('commit').map(({ avoids }) => avoids)).toEqual([[['ireland', 'oregon']], undefined]);
  });

  it('an attempt keeps its list of avoided regions in every retry, whichever regions answer by then (D4)', async () => {
    const cluster = threeRegions();
    const options = { regions: REGIONS };
    const [east, west] = [await server(cluster, options), await server(cluster, { ...options, region: 'oregon' })];
    for (const node of [east, west]) node.unresponsive = { nodes: ['ireland-1'], regions: ['ireland'] };
    const app = await client([east, west]);
    const [home, other] = app.status.region === 'virginia' ? [east, west] : [west, east];
    home.script = (frame) => (frame.type === 'commit' ? 'apply-and-close' : undefined);
    other.unresponsive = { nodes: ['virginia-1'], regions: ['virginia'] };
    await app.set('a', 1);
    const [first, second] = [home.received('commit')[0], other.received('commit')[0]];
    expect(first).toMatchObject({ attemptRegions: [home.region], avoids: [['ireland']] });
    expect({ ...second, id: 0 }).toEqual({ ...first, id: 0 });
  });

  it('an attempt after an aborted one has a list of its own', async () => {
    const node = await server(threeRegions(), { regions: REGIONS });
    const app = await client([node]);
    node.script = (frame) => {
      if (frame.type !== 'commit' || frame.attemptRegions.length > 1) return undefined;
      node.push({ type: 'ust', ust: node.cluster.ust, freshness: node.freshness(), unresponsive: OREGON });
      return { type: 'error', id: frame.id, code: 'TRANSACTION_ABORTED', detail: '', retryable: false };
    };
    await app.set('a', 1);
    expect(node.received('commit').map(({ attemptRegions, avoids }) => [attemptRegions.length, avoids])).toEqual([
      [1, undefined],
      [2, [[], ['oregon']]],
    ]);
  });

  it('an attempt names the map of its node, and the attempt after one of an older map the new map (M6)', async () => {
    const node = await server(threeRegions(), { regions: REGIONS });
    const app = await client([node]);
    refusesUntilMap(node, 'TRANSACTION_ABORTED', false);
    await app.set('a', 1);
    await app.set('a', 2);
    expect(node.received('commit').map(({ maps }) => maps)).toEqual([undefined, [0, 3], [3]]);
  });

  it('a new attempt begins where the cohorts of the last one do not decide and another region has stopped answering', async () => {
    const node = await server(threeRegions(), { regions: REGIONS });
    const app = await client([node]);
    node.script = (frame) => {
      if (frame.type !== 'commit' || frame.attemptRegions.length > 1) return undefined;
      node.push({ type: 'ust', ust: node.cluster.ust, freshness: node.freshness(), unresponsive: OREGON });
      return { type: 'error', id: frame.id, code: 'OUTCOME_PENDING', detail: '', retryable: true };
    };
    await app.set('a', 1);
    expect(node.received('commit').at(-1)).toMatchObject({
      attemptRegions: ['virginia', 'virginia'],
      avoids: [[], ['oregon']],
    });
  });

  it('a new attempt begins where the cohorts of the last one do not decide and another map is in force (M7)', async () => {
    const node = await server(threeRegions(), { regions: REGIONS });
    const app = await client([node]);
    refusesUntilMap(node, 'OUTCOME_PENDING', true);
    await app.set('a', 1);
    expect(node.received('commit').at(-1)).toMatchObject({
      attemptRegions: ['virginia', 'virginia'],
      maps: [0, 3],
    });
  });
});
