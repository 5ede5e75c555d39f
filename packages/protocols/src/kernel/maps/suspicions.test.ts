import { type NodeId, Topology } from '@isochron/core';
import { Suspicions } from './suspicions.js';

const topology = Topology.of({
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }, { id: `${id}-2` }] })),
  keyspaces: [{ name: 'default', partitions: 6, replication: 2 }],
});
const [V1, V2, O1, O2, I1, I2] = topology.nodes as [NodeId, NodeId, NodeId, NodeId, NodeId, NodeId];
const GRACE_MS = 4_000;

/** The voters of all regions with the same reports; each names the members that stay, at the grace's end. */
function judged(
  reports: Readonly<Record<NodeId, readonly NodeId[]>>,
  forMs = GRACE_MS,
): (readonly NodeId[] | undefined)[] {
  return topology.voters.map((voter) => {
    const suspicions = new Suspicions(voter);
    for (const [node, silent] of Object.entries(reports)) suspicions.report(node, silent);
    suspicions.staying(topology, 0, GRACE_MS);
    return suspicions.staying(topology, forMs, GRACE_MS);
  });
}

describe('which members are suspended', () => {
  it('a member that no voter receives from is suspended after the grace, by the first voter', () => {
    const silent = { [V1]: [O2], [O1]: [O2], [I1]: [O2] };
    expect(judged(silent, GRACE_MS - 1)).toEqual([undefined, undefined, undefined]);
    expect(judged(silent)).toEqual([[V1, V2, O1, I1, I2], undefined, undefined]);
  });

  it('a region that is gone is suspended by the first voter of the others, and decides nothing itself', () => {
    const [virginia, others] = [
      [V1, V2],
      [O1, O2, I1, I2],
    ];
    const silent = { [O1]: virginia, [I1]: virginia, [V1]: others, [V2]: others };
    expect(judged(silent)).toEqual([undefined, others, undefined]);
  });

  it('of two members that do not receive from each other one is suspended', () => {
    expect(judged({ [V2]: [I2], [I2]: [V2] })).toEqual([[V1, V2, O1, O2, I1], undefined, undefined]);
    expect(judged({ [V2]: [I2, O2], [I2]: [V2], [O2]: [V2] })).toEqual([[V1, O1, O2, I1, I2], undefined, undefined]);
  });

  it('no member is suspended without a majority of the voters', () => {
    expect(judged({ [V1]: [O1, I1, O2, I2], [O1]: [V1, V2, I1, I2], [I1]: [V1, V2, O1, O2] })).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('no member is suspended where only nodes without data stay: they have no minimum, and so no horizon (M3)', () => {
    const spread = Topology.of({
      regions: ['virginia', 'oregon', 'ireland'].map((region) => ({ id: region, nodes: [{ id: `${region}-1` }] })),
      keyspaces: [{ name: 'default', partitions: 1, replication: 1 }],
    });
    const holder = spread.replicaNode(0, spread.partitions[0]!.regions[0]!)!;
    const others = spread.nodes.filter((node) => node !== holder);
    const looks = (silent: NodeId) => {
      const suspicions = new Suspicions(spread.voters.find((voter) => voter !== silent)!);
      for (const node of spread.nodes) if (node !== silent) suspicions.report(node, [silent]);
      suspicions.staying(spread, 0, GRACE_MS);
      return suspicions.staying(spread, GRACE_MS, GRACE_MS);
    };
    expect(looks(holder)).toBeUndefined();
    expect(looks(others.at(-1)!)).toContain(holder);
  });

  it('a member that answers again begins its grace anew', () => {
    const suspicions = new Suspicions(V1);
    const look = (silent: readonly NodeId[], now: number) => {
      for (const voter of [V1, O1, I1]) suspicions.report(voter, silent);
      return suspicions.staying(topology, now, GRACE_MS);
    };
    expect([look([O2], 0), look([], 3_000), look([O2], 3_500), look([O2], 5_000)]).toEqual(Array(4).fill(undefined));
    expect(look([O2], 7_500)).not.toContain(O2);
  });
});
