/** What a session does about commits that a map of the cluster has deferred (M10). */
import type { SessionCut } from '@isochron/core';
import { World } from '@isochron/testing/client/world';
import { memoryNodes, refusal } from '@isochron/testing/nodes/memory-node';

/** A node whose stable time stands still, and a client that has written one document. */
function written() {
  const [node] = memoryNodes('east');
  node!.cluster.hold();
  const world = new World([node!]);
  world.ask({ f: 'connect' });
  world.run(50);
  const first = world.write('a');
  world.run(50);
  expect(first.settled).toBe(1);
  const { ts, token } = node!.answers('committed')[0]!;
  const { tx } = node!.received('commit')[0]!;
  return { node: node!, world, ts, token, tx };
}

/** The node has adopted a map that has suspended another node. */
const adopts = (node: ReturnType<typeof written>['node'], cut: SessionCut): void => {
  const freshness = { now: 0, stalenessMs: 0, stale: false, heldBackBy: null };
  node.push({ type: 'ust', ust: 1, freshness, map: cut.map, cuts: [cut] });
};

describe('deferred commits of a session', () => {
  it('a deferred commit of which a lost disk has taken a part is given up, and later writes go on (M10, D10)', () => {
    const { node, world, ts, tx } = written();
    node.script = (frame) => {
      if (frame.type === 'status') return { type: 'status', id: frame.id, tx, status: 'lost', ts: null };
      if (frame.type !== 'commit') return undefined;
      if (frame.tx === tx) return refusal(frame.id, 'OUTCOME_LOST', false);
      return { type: 'committed', id: frame.id, ts: ts + 10, map: 1, nodes: [0] };
    };
    adopts(node, { map: 1, horizon: ts - 1, nodes: [0] });
    world.run(50);
    const second = world.write('b');
    world.run(100);
    expect(node.received('commit').map((frame) => frame.tx === tx)).toEqual([true, true, false]);
    expect([second.settled, second.reason, world.violations]).toEqual([1, undefined, []]);
  });

  it('a client that begins with a token learns while it waits that what the token names is deferred (M10, D9)', () => {
    const { node, ts, token } = written();
    const world = new World([node], { token });
    const connect = world.ask({ f: 'connect' });
    world.run(50);
    expect(connect.settled).toBe(0);
    adopts(node, { map: 1, horizon: ts - 1, nodes: [0] });
    node.cluster.release();
    world.run(500);
    expect([connect.settled, connect.reason?.code]).toEqual([1, 'SESSION_DEFERRED']);
  });
});
