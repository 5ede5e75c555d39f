import { Topology } from '@isochron/core';
import { PeerWatch } from './peer-watch.js';

const topology = Topology.of({
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }, { id: `${id}-2` }] })),
  keyspaces: [{ name: 'default', partitions: 1, replication: 2 }],
});

/** A watch on virginia-1 that received a frame from every peer at `receivedMs`, except from those named. */
function watched(maps?: ConstructorParameters<typeof PeerWatch>[3]) {
  const watch = new PeerWatch('virginia-1', topology, 0, maps);
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
  it('a node without a frame for a second is reported, with its region if it hosts partitions', () => {
    const { watch, receivedAt, look } = watched();
    receivedAt.set('oregon-1', 1_000);
    expect(look(2_000)).toBe(false);
    expect(look(2_250)).toBe(true);
    expect(watch.unresponsive).toEqual({ nodes: ['oregon-1'], regions: ['oregon'] });
    receivedAt.delete('oregon-1');
    expect(look(2_500)).toBe(true);
    expect(watch.unresponsive).toEqual({ nodes: [], regions: [] });
  });

  it('a node whose link is down is reported at once, without a region if it hosts no partitions', () => {
    const { watch, receivedAt, look } = watched();
    receivedAt.set('ireland-2', undefined);
    expect(look(250)).toBe(true);
    expect(watch.unresponsive).toEqual({ nodes: ['ireland-2'], regions: [] });
  });

  it('no peer is reported after the own process has stood still', () => {
    const { watch, receivedAt, look, jump, now } = watched();
    look(1_000);
    for (const node of topology.nodes) receivedAt.set(node, now());
    jump(5_000);
    expect(look(now() + 1_000)).toBe(false);
    expect(look(now() + 500)).toBe(true);
    expect(watch.unresponsive).toEqual({ nodes: topology.nodes.slice(1).sort(), regions: ['oregon'] });
  });

  it('a node that leaves is reported like a node that does not answer, with its region', () => {
    const leaving = new Set<string>();
    const { watch, look } = watched(() => ({ current: topology, leaving }));
    look(1_000);
    leaving.add('oregon-1');
    expect(look(1_250)).toBe(true);
    expect(watch.unresponsive).toEqual({ nodes: ['oregon-1'], regions: ['oregon'] });
  });

  it('a node that is no member is reported without its region: no attempt of its map has a cohort there', () => {
    const members = topology.map.members.filter((number) => topology.nodes[number] !== 'oregon-1');
    const current = new Topology({ ...topology.map, version: 1, members });
    const { watch, receivedAt, look } = watched(() => ({ current, leaving: new Set() }));
    receivedAt.set('oregon-1', undefined);
    look(250);
    expect(watch.unresponsive).toEqual({ nodes: ['oregon-1'], regions: [] });
  });
});
