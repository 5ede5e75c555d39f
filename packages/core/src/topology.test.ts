import fc from 'fast-check';
import type { ClusterSpec } from './cluster-map.js';
import { hashKey } from './hash.js';
import { Topology } from './topology.js';

const REGIONS = ['virginia', 'oregon', 'ireland', 'tokyo', 'sydney'];

/** Clusters of one to five regions, with keyspaces that are spread and keyspaces that are pinned to regions. */
const cluster: fc.Arbitrary<ClusterSpec> = fc
  .array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: REGIONS.length })
  .chain((counts) => {
    const regions = counts.map((count, r) => ({
      id: REGIONS[r]!,
      nodes: Array.from({ length: count }, (_, n) => ({ id: `${REGIONS[r]}-${n + 1}` })),
    }));
    const ids = regions.map(({ id }) => id);
    const spread = fc.record({
      partitions: fc.integer({ min: 1, max: 12 }),
      replication: fc.integer({ min: 1, max: ids.length }),
    });
    const pinned = fc.record({
      partitions: fc.integer({ min: 1, max: 12 }),
      regions: fc.subarray(ids, { minLength: 1 }),
    });
    return fc.array(fc.oneof(spread, pinned), { minLength: 1, maxLength: 4 }).map((keyspaces) => ({
      regions,
      keyspaces: keyspaces.map((keyspace, k) => ({ name: `k${k}`, ...keyspace })),
    }));
  });

const forAll = (holds: (topology: Topology, spec: ClusterSpec) => void): void =>
  fc.assert(fc.property(cluster, (spec) => holds(Topology.of(spec), spec)));

test('every region of a partition has its replica on one of its nodes, and no other region has one', () => {
  forAll((topology) => {
    for (const { id, regions } of topology.partitions) {
      for (const region of topology.regions) {
        const node = topology.replicaNode(id, region);
        if (!regions.includes(region)) expect(node).toBeUndefined();
        else expect(topology.regionOf(node!)).toBe(region);
      }
    }
  });
});

test('the partitions of all nodes of a region are those that the region hosts, each once', () => {
  forAll((topology) => {
    for (const region of topology.regions) {
      const held = topology.nodesOf(region).flatMap((node) => topology.partitionsOn(node));
      const hosted = topology.partitions.filter(({ regions }) => regions.includes(region)).map(({ id }) => id);
      expect(held.sort((a, b) => a - b)).toEqual(hosted);
    }
  });
});

test('the nodes of a region hold equally many replicas, but for one', () => {
  forAll((topology) => {
    for (const region of topology.regions) {
      const counts = topology.nodesOf(region).map((node) => topology.partitionsOn(node).length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }
  });
});

test('a keyspace has as many replicas of a partition as its replication, or as its regions where it is pinned', () => {
  forAll((topology, { keyspaces }) => {
    for (const { name, partitions, replication, regions } of keyspaces) {
      const placed = topology.partitionsOf(name);
      expect(placed.map((partition) => partition.name)).toEqual(
        Array.from({ length: partitions }, (_, i) => `${name}/${i}`),
      );
      for (const partition of placed) expect(new Set(partition.regions).size).toBe(regions?.length ?? replication);
    }
  });
});

test('a key is in the partition of its keyspace that its hash names', () => {
  const topology = Topology.of({
    regions: [{ id: 'virginia', nodes: [{ id: 'virginia-1' }] }],
    keyspaces: [
      { name: 'a', partitions: 3 },
      { name: 'b', partitions: 5 },
    ],
  });
  for (const key of ['b/x', 'b/y/z', 'b/', 'b/ключ']) expect(topology.partitionOf(key)).toBe(3 + (hashKey(key) % 5));
  expect(() => topology.partitionOf('c/x')).toThrow(expect.objectContaining({ code: 'KEYSPACE_UNKNOWN' }));
  expect(() => topology.partitionOf('x')).toThrow(expect.objectContaining({ code: 'KEYSPACE_UNKNOWN' }));
});

test('a region prefers its own replica, and otherwise tries all replicas, each once', () => {
  forAll((topology) => {
    for (const { id, regions } of topology.partitions) {
      for (const region of topology.regions) {
        const preferred = topology.preferredRegions(id, region);
        expect([...preferred].sort()).toEqual([...regions].sort());
        if (regions.includes(region)) expect(preferred[0]).toBe(region);
      }
    }
  });
});

test('a cohort is the first preferred replica that the attempt does not avoid, or the first one where it avoids all', () => {
  forAll((topology) => {
    for (const { id } of topology.partitions) {
      for (const home of topology.regions) {
        const preferred = topology.preferredRegions(id, home);
        expect(topology.cohort(id, home).region).toBe(preferred[0]);
        const next = preferred[1] ?? preferred[0]!;
        expect(topology.cohort(id, home, [preferred[0]!]).region).toBe(next);
        expect(topology.cohort(id, home, [...preferred].sort()).region).toBe(preferred[0]);
        expect(topology.cohort(id, home).node).toBe(topology.replicaNode(id, preferred[0]!));
      }
    }
  });
});

test('the home of an attempt is the next region in turn that it does not avoid', () => {
  const topology = Topology.of({
    regions: ['a', 'b', 'c'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
    keyspaces: [{ name: 'default', partitions: 1 }],
  });
  expect(topology.homeOf('b', [])).toBe('b');
  expect(topology.homeOf('b', ['b'])).toBe('c');
  expect(topology.homeOf('c', ['a', 'c'])).toBe('b');
  expect(topology.homeOf('a', ['a', 'b', 'c'])).toBe('a');
});

test('a list of regions to avoid is sorted, names regions of the cluster, and each of them once', () => {
  const topology = Topology.of({
    regions: ['a', 'b'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
    keyspaces: [{ name: 'default', partitions: 1 }],
  });
  const lists = [[], ['a'], ['a', 'b'], ['b', 'a'], ['a', 'a'], ['c']];
  expect(lists.map((list) => topology.isAvoidList(list))).toEqual([true, true, true, false, false, false]);
});
