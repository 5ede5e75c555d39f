/** Claims about the nodes that a transaction needs (M4): a map decides by them what it defers. */
import type { Need, NodeId, Timestamp } from '@isochron/core';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import type { World } from '@isochron/testing/world/world';

const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];
const numberOf = (world: World, node: NodeId) => world.topology.numberOf(node);
/** Partitions whose cohort is on a node, for a home in virginia. */
const cohortsOn = (world: World, node: NodeId) =>
  [0, 1, 2, 3, 4, 5].filter((partition) => world.topology.cohort(partition, 'virginia').node === node);

interface Options {
  readonly hwt?: Timestamp;
  readonly behind?: readonly Need[];
}

function commits(world: World, n: number, partitions: readonly number[], { hwt = 0, behind }: Options = {}) {
  const request = {
    ...commitOver(
      world,
      id(n),
      [...partitions].sort((a, b) => a - b),
    ),
    hwt,
    behind,
  };
  const answer = world.call(V, request, 'CommitResp');
  world.run(200);
  return answer;
}

/** What the logs of all replicas of a partition say. */
const logged = (world: World, n: number, partition: number): unknown[] =>
  [V, O, I].flatMap((node) =>
    (world.node(node).store.logs.get(partition) ?? []).filter(({ tx }) => tx.txId === id(n)).map(({ tx }) => tx.needs),
  );

describe('PaRiS: the nodes that a transaction needs', () => {
  it('every log of a slice names the other nodes with slices of its transaction (M4)', () => {
    const world = settled();
    const [onV, onO] = [cohortsOn(world, V)[0]!, cohortsOn(world, O)[0]!];
    const { nodes } = commits(world, 1, [onV, onO]);
    expect([...nodes!].sort()).toEqual([numberOf(world, V), numberOf(world, O)].sort());
    expect(logged(world, 1, onV)).toEqual([[{ node: numberOf(world, O) }], [{ node: numberOf(world, O) }]]);
    expect(logged(world, 1, onO)).toEqual([[{ node: numberOf(world, V) }], [{ node: numberOf(world, V) }]]);
  });

  it('a transaction of one node, behind nothing unstable, needs no other node (M4)', () => {
    const world = settled();
    const onV = cohortsOn(world, V);
    commits(world, 1, onV, { hwt: world.ust() });
    for (const partition of onV) expect(logged(world, 1, partition)).toEqual([undefined, undefined]);
  });

  it('a transaction needs what the unstable writes of its session need, and not what its stable writes need (M4)', () => {
    const world = settled();
    const [onO] = cohortsOn(world, O);
    const [stable, ct] = [world.ust(), world.ust() + 20_000_000];
    const behind = [
      { node: numberOf(world, I), ct: stable },
      { node: numberOf(world, V), ct },
    ];
    commits(world, 1, [onO!], { hwt: ct, behind });
    expect(logged(world, 1, onO!)).toEqual([[behind[1]], [behind[1]]]);
  });

  it('an unstable write that is known by its timestamp alone may need any node (M4)', () => {
    const world = settled();
    const [onV] = cohortsOn(world, V);
    const hwt = world.ust() + 20_000_000;
    commits(world, 1, [onV!], { hwt });
    expect(logged(world, 1, onV!)).toEqual([[{ ct: hwt }], [{ ct: hwt }]]);
    commits(world, 2, [onV!], { hwt: hwt + 500_000_000, behind: [{ node: 1, ct: hwt + 1 }] });
    expect(logged(world, 2, onV!)[0]).toContainEqual({ ct: hwt + 500_000_000 });
  });

  it('a commit that is sent again follows a write that has moved above the hwt of the commit (M4, M8)', () => {
    const world = settled();
    const onV = cohortsOn(world, V)[0]!;
    // Stable time stands still below.
    world.filter = ({ message }) => !message.type.startsWith('Gossip');
    const moved = world.node(V).parts.stable.value + 1_000_000_000;
    const behind = [{ node: numberOf(world, I), ct: moved }];
    const { ct } = commits(world, 1, [onV], { hwt: 1, behind });
    expect(ct).toBeGreaterThan(moved);
    expect(logged(world, 1, onV)[0]).toEqual(behind);
  });

  it('a prepared slice keeps what its transaction needs over a crash (M4)', () => {
    const world = settled();
    const [onV, onO] = [cohortsOn(world, V)[0]!, cohortsOn(world, O)[0]!];
    world.ask(
      V,
      commitOver(
        world,
        id(1),
        [onV, onO].sort((a, b) => a - b),
      ),
    );
    world.until(() => [V, O].every((node) => world.node(node).store.prepared.size === 1), 1_000);
    for (const node of [V, O]) world.crash(node);
    for (const node of [V, O]) world.restart(node);
    world.until(() => logged(world, 1, onV).length === 2 && logged(world, 1, onO).length === 2, 60_000);
    expect(logged(world, 1, onO)).toEqual([[{ node: numberOf(world, V) }], [{ node: numberOf(world, V) }]]);
  });
});
