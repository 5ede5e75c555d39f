import { type NodeId, Topology } from '@isochron/core';
import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { letReturn } from './maps.js';

const topology = Topology.of({
  regions: ['p', 'q'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 2, replication: 2 }],
});

describe('the fault order', () => {
  it('an operator lets a held node return until the node is a member, however long its maps take', () => {
    const time = new VirtualTime();
    const ordered: [number, NodeId][] = [];
    letReturn(
      {
        topology,
        time,
        node: () => ({ up: true }),
        operate: ({ node }) => ordered.push([time.now, node]),
        isEvicted: () => false,
        isMember: () => time.now >= 30_000,
      },
      'p-1',
    );
    time.runUntil(60_000, () => false);
    expect(ordered.slice(0, 2)).toEqual([
      [0, 'p-1'],
      [0, 'q-1'],
    ]);
    expect(ordered.at(-1)).toEqual([30_000, 'q-1']);
  });
});
