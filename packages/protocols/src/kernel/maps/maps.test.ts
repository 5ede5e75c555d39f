/** Claims about what a node's maps say of stable times. */
import { nextMap, Topology } from '@isochron/core';
import { everywhere } from '@isochron/testing/world/lost-disks';
import { Maps } from './maps.js';

const [V, O, I] = [0, 1, 2];
const NO_DISK = { write: () => 0 };

/** Map 1 has ended at 50 where Ireland's node was a member, and map 2, without that node, at 150. */
function leftAndReturned(): Maps {
  const maps = new Maps(Topology.of(everywhere(1)), new Map());
  maps.learn(nextMap(maps.newest, { members: [V!, O!], left: [I!] }, 100), NO_DISK);
  maps.adopt(50, NO_DISK);
  maps.learn(nextMap(maps.newest, { members: [V!, O!, I!] }, 200), NO_DISK);
  return maps;
}

describe('the maps of a node', () => {
  it('stable times of a map without a node show nothing about the node, also below its horizon (M3, D5)', () => {
    const maps = leftAndReturned();
    expect([40, 80, 120].map((stable) => maps.confirmed(['ireland-1'], stable))).toEqual([40, 50, 50]);
    expect(maps.confirmed(['oregon-1'], 120)).toBe(120);
  });

  it('stable times of a map that brings a node back count the node above its horizon (M5, D5)', () => {
    const maps = leftAndReturned();
    maps.adopt(150, NO_DISK);
    expect([40, 180, 250].map((stable) => maps.confirmed(['ireland-1'], stable))).toEqual([40, 50, 250]);
    expect(maps.confirmed(['oregon-1'], 180)).toBe(180);
  });

  it('what two nodes have of one another is shown by the stable times of maps with both (M3, M5, D5)', () => {
    const maps = leftAndReturned();
    maps.adopt(150, NO_DISK);
    maps.learn(nextMap(maps.newest, { members: [V!, I!], left: [O!] }, 260), NO_DISK);
    maps.adopt(190, NO_DISK);
    // Each of the two was counted up to 190: one by the map without the other.
    expect(maps.confirmed(['oregon-1'], 300)).toBe(190);
    expect(maps.confirmed(['ireland-1'], 300)).toBe(300);
    expect(maps.confirmed(['oregon-1', 'ireland-1'], 300)).toBe(50);
  });
});
