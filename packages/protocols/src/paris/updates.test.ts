/** Claims about updates that merge, from the session to the replicas of every region. */
import { Update } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { everywhere, loseDisk, recovered } from '@isochron/testing/world/lost-disks';
import { World } from '@isochron/testing/world/world';

const NODES = ['virginia-1', 'oregon-1', 'ireland-1'];
const update = (...operations: object[]): Update => new Update(JSON.stringify(operations));
const increment = (path: string): Update => update({ op: 'increment', path, by: 1 });

function settled(): World {
  const world = new World({ spec: everywhere(2) });
  world.run(100);
  return world;
}

/** The document in every region, once it is stable. */
function documents(world: World, key: string, ct: number): unknown[] {
  world.until(() => world.ust() > ct);
  return NODES.map((node) => JSON.parse(String(new TestClient(world, node).readOnce(key)[0])));
}

describe('PaRiS: updates that merge', () => {
  it('edits of different fields in different regions at once are both kept (F6)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const clients = NODES.map((node) => new TestClient(world, node));
    const { ct: first } = clients[0]!.write({ [key]: '{"title":"a","done":false}' });
    world.until(() => world.ust() > first);
    const edits = [{ title: 'b' }, { done: true }, { tag: 'x' }].map((patch) => ({
      op: 'mergePatch',
      path: '',
      patch,
    }));
    const cts = clients.map((client, i) => client.write({ [key]: update(edits[i]!) }).ct);
    const wanted = { title: 'b', done: true, tag: 'x' };
    expect(documents(world, key, Math.max(...cts))).toEqual([wanted, wanted, wanted]);
  });

  it('updates from all regions at once are all in the document, the same in every region (F2)', () => {
    const world = settled();
    const key = keyIn(world, 1);
    const clients = NODES.map((node) => new TestClient(world, node));
    let last = 0;
    for (let i = 0; i < 20; i++)
      for (const client of clients) {
        const log = { op: 'append', path: '/log', items: [`${client.node}:${i}`] };
        last = Math.max(last, client.write({ [key]: update({ op: 'increment', path: '/n', by: 1 }, log) }).ct);
      }
    const [here, ...others] = documents(world, key, last) as { n: number; log: string[] }[];
    expect([here!.n, new Set(here!.log).size]).toEqual([60, 60]);
    expect(others).toEqual([here, here]);
  });

  it('a commit with an update that is sent again, in another region too, counts once (F4)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    tx.write(key, increment('/n'));
    const request = client.commitRequest(tx);
    const cts = ['virginia-1', 'virginia-1', 'oregon-1'].map((node) => {
      const again = { ...request, snapshot: tx.snapshot!, attemptRegions: ['virginia'] };
      return world.call(node, again, 'CommitResp').ct;
    });
    expect(new Set(cts).size).toBe(1);
    expect(documents(world, key, cts[0]!)).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }]);
  });

  it('a session reads its own updates before they are stable, and once each afterwards (F5)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    for (let n = 1; n <= 30; n++) {
      client.write({ [key]: increment('/n') });
      expect(client.readOnce(key)).toEqual([`{"n":${n}}`]);
      world.run(n % 3 === 0 ? 200 : 5);
    }
  });

  it('a replica that lost its disk has every update again after its copy (D10)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const clients = NODES.map((node) => new TestClient(world, node));
    let last = 0;
    for (let i = 0; i < 5; i++)
      for (const client of clients) last = Math.max(last, client.write({ [key]: increment('/n') }).ct);
    world.until(() => world.ust() > last);
    loseDisk(world, 'virginia-1');
    world.until(recovered(world, 'virginia-1'), 20_000);
    expect(documents(world, key, last)).toEqual([{ n: 15 }, { n: 15 }, { n: 15 }]);
  });
});
