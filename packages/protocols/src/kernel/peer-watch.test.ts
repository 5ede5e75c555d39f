import { Topology } from '@isochron/core';
import { PeerWatch } from './peer-watch.js';

const topology = new Topology({
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }, { id: `${id}-2` }] })),
  keyspaces: [{ name: 'default', partitions: 1, replication: 2 }],
});

/** A watch on virginia-1 that received a frame from every peer at `receivedMs`, but for those named. */
function watched() {
  const watch = new PeerWatch('virginia-1', topology, 0);
  const receivedAt = new Map<string, number | undefined>();
  let now = 0;
  const look = (untilMs: number) => {
    let changed = false;
    while (now < untilMs) {
      now += 250;
      const at = now;
      changed = watch.look(now, (node) => (receivedAt.has(node) ? receivedAt.get(node) : at)) || changed;
    }
    return changed;
  };
  return { watch, receivedAt, look, jump: (ms: number) => (now += ms), now: () => now };
}

describe('which nodes do not answer', () => {
  it('reports a node from which no frame has come for a second, and its region where it hosts partitions', () => {
    const { watch, receivedAt, look } = watched();
    receivedAt.set('oregon-1', 1_000);
    expect(look(2_000)).toBe(false);
    expect(look(2_250)).toBe(true);
    expect(watch.unresponsive).toEqual({ nodes: ['oregon-1'], regions: ['oregon'] });
    receivedAt.delete('oregon-1');
    expect(look(2_500)).toBe(true);
    expect(watch.unresponsive).toEqual({ nodes: [], regions: [] });
  });

  it('reports a node whose link is down at once, and no region for a node without partitions', () => {
    const { watch, receivedAt, look } = watched();
    receivedAt.set('ireland-2', undefined);
    expect(look(250)).toBe(true);
    expect(watch.unresponsive).toEqual({ nodes: ['ireland-2'], regions: [] });
  });

  it('blames no peer after its own process has stood still', () => {
    const { watch, receivedAt, look, jump, now } = watched();
    look(1_000);
    for (const node of topology.nodes) receivedAt.set(node, now());
    jump(5_000);
    expect(look(now() + 1_000)).toBe(false);
    expect(look(now() + 500)).toBe(true);
    expect(watch.unresponsive).toEqual({ nodes: topology.nodes.slice(1).sort(), regions: ['oregon'] });
  });
});
