/** Updates and claims through the machine. */
import { Update } from '@isochron/core/updates/update';
import { World } from '@isochron/testing/client/world';
import { memoryNodes, refusal } from '@isochron/testing/nodes/memory-node';
import { type Claimed, decideClaim } from './session/claim.js';
import type { Committed } from './session/outcome.js';

const KEY = 'default/a';
const ADD = '[{"op":"increment","path":"/n","by":1}]';
const INIT = '[{"op":"init","value":{"by":1}}]';

function connected(hasUpdates = true) {
  const [node] = memoryNodes('east');
  if (!hasUpdates) node.lacks('updates');
  const world = new World([node]);
  expect(world.ask({ f: 'connect' }).settled).toBe(1);
  const update = (operations: string) => world.ask({ f: 'write', key: KEY, value: new Update(operations) });
  const committed = (operations: string) => update(operations).value as Committed;
  return { world, node, update, committed };
}

describe('an update', () => {
  it('an update is sent as its operations, unchanged when it is repeated', () => {
    const { world, node, update } = connected();
    let lost = false;
    node.script = (frame) => {
      if (frame.type !== 'commit' || lost) return undefined;
      lost = true;
      return 'apply-and-close';
    };
    update(ADD);
    world.run(100);
    const commits = node.received('commit');
    expect(commits.map(({ writes }) => writes)).toEqual([1, 2].map(() => [{ key: KEY, value: { operations: ADD } }]));
    expect(new Set(commits.map(({ tx }) => tx)).size).toBe(1);
    expect(world.ask({ f: 'read', keys: [KEY] }).value).toEqual(['{"n":1}']);
    expect(world.violations).toEqual([]);
  });

  it('an update is refused under a protocol without updates, and nothing is sent', () => {
    const { node, update } = connected(false);
    expect(update(ADD).reason?.code).toBe('NOT_SUPPORTED_BY_PROTOCOL');
    expect(node.received('commit')).toEqual([]);
  });
});

describe('a claim', () => {
  const claim = (world: World, commit: Committed, timeoutMs = 500) =>
    world.call({ f: 'claimed', decide: decideClaim, key: KEY, commit, timeoutMs });

  it('a claim is decided by the version that made the document, at the timestamp of the claim', () => {
    const { world, node, committed } = connected();
    const [first, second] = [committed(INIT), committed('[{"op":"init","value":{"by":2}}]')];
    const calls = [claim(world, first), claim(world, second)];
    world.run(100);
    const results = calls.map(({ value }) => value as Claimed);
    expect(results).toEqual([
      { won: true, value: '{"by":1}' },
      { won: false, value: '{"by":1}' },
    ]);
    expect(node.received('origin').map(({ at }) => at)).toEqual([first.timestamp, second.timestamp]);
  });

  it('a claim waits until it is stable before it is read', () => {
    const { world, node, committed } = connected();
    node.cluster.hold();
    const commit = committed(INIT);
    const call = claim(world, commit, 40);
    world.run(100);
    expect([call.reason?.code, node.received('origin')]).toEqual(['STABLE_TIMEOUT', []]);
  });

  it('a claim that is read too late reports that its snapshot is gone', () => {
    const { world, node, committed } = connected();
    const commit = committed(INIT);
    node.script = (frame) => (frame.type === 'origin' ? refusal(frame.id, 'SNAPSHOT_TOO_OLD', false) : undefined);
    const call = claim(world, commit);
    world.run(100);
    expect(call.reason?.code).toBe('SNAPSHOT_TOO_OLD');
  });

  it('a claim goes on over another connection, and ends once when it is cancelled', () => {
    const { world, node, committed } = connected();
    const commit = committed(INIT);
    let lost = false;
    node.script = (frame) => {
      if (frame.type !== 'origin' || lost) return undefined;
      lost = true;
      return 'close';
    };
    const [kept, given] = [claim(world, commit), claim(world, commit)];
    given.cancel(new Error('enough'));
    world.run(500);
    expect(kept.value).toEqual({ won: true, value: '{"by":1}' });
    expect([given.settled, String(given.reason)]).toEqual([1, 'Error: enough']);
    expect(world.violations).toEqual([]);
  });

  it('an answer with a document and no origin is damaged, and is not taken', () => {
    const { world, node, committed } = connected();
    const commit = committed(INIT);
    node.script = ({ type, ...frame }) =>
      type === 'origin' ? { type, id: (frame as { id: number }).id, value: [1, '1'], origin: null } : undefined;
    const call = claim(world, commit);
    world.run(5000);
    expect([call.settled, call.value]).toEqual([1, undefined]);
  });
});
