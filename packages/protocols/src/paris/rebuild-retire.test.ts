/** Claims about damaged disks that are to be given up, and about data that was set aside (D10). */
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { everywhere, joined, loseDisk, rebuild, recovered, runRebuilding } from '@isochron/testing/world/lost-disks';
import { PlainStore } from '@isochron/testing/world/plain-store';
import { World } from '@isochron/testing/world/world';

const V = 'virginia-1';
const O = 'oregon-1';
const I = 'ireland-1';
const DAMAGED = 'a record is damaged';

describe('D10: a damaged disk that is a sole copy', () => {
  it('a damaged disk is never given up where no other region has the partition', () => {
    const { keyspaces, ...regions } = everywhere(3);
    const world = new World({ spec: { ...regions, keyspaces: [{ ...keyspaces[0]!, replication: 1 }] } });
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"only here"' });
    world.until(() => world.ust() >= ct, 1000);
    world.node(V).parts.membership.retire(DAMAGED);
    world.run(10_000);
    expect(rebuild(world, V).retiring).toBe(DAMAGED);
    expect(new TestClient(world, O).readOnce(keyIn(world, 0))).toEqual(['"only here"']);
  });

  it('a damaged disk is not given up while its peer has no data, and is when the peer has them again', () => {
    const { world, key, ct } = stable();
    world.cut(V, I); // virginia has nothing yet, and waits for ireland's answer
    loseDisk(world, V);
    world.run(600);
    world.node(O).parts.membership.retire(DAMAGED);
    expect(runRebuilding(world, 5_000)).toEqual([]);
    expect(joined(world, V)()).toBe(false);
    world.heal(V, I);
    world.until(() => world.node(V).store.read(0, key, ct) !== undefined, 5000);
    expect(runRebuilding(world, 20_000)).toEqual([O]);
    world.until(recovered(world, O), 10_000);
    expect(world.node(O).store.read(0, key, ct)).toMatchObject({ ts: ct });
  });

  it('a damaged disk is not given up while its peer is about to give up its own', () => {
    const { world, key, ct } = stable();
    for (const node of [V, O]) world.node(node).parts.membership.retire(DAMAGED);
    expect(runRebuilding(world, 10_000)).toEqual([]);
    for (const node of [V, O]) expect(world.node(node).store.read(0, key, ct)).toMatchObject({ ts: ct });
  });

  it('a damaged disk is not given up on the report of a peer that is unreachable now', () => {
    const world = new World({ spec: everywhere(1) });
    world.run(300);
    world.cut(V, I); // its last commit is not stable
    new TestClient(world, V).write({ [keyIn(world, 0)]: '"last"' });
    world.node(V).parts.membership.retire(DAMAGED);
    expect(runRebuilding(world, 2_000)).toEqual([]);
    expect(world.sent.some(({ message, from }) => message.type === 'JoinResp' && from.node === O)).toBe(true);
    world.filter = ({ message }) => message.type !== 'JoinResp';
    expect(runRebuilding(world, 2_000)).toEqual([]);
    world.heal(V, I);
    expect(runRebuilding(world, 5_000)).toEqual([]);
    expect(world.ust()).toBeGreaterThan(world.node(V).parts.replicas[0]!.replication.lastLogged);
    world.filter = () => true;
    expect(runRebuilding(world, 5_000)).toEqual([V]);
  });

  /** A stable version in virginia and oregon. */
  function stable(): { world: World; key: string; ct: number } {
    const world = new World();
    const key = keyIn(world, 0);
    const { ct } = new TestClient(world, V).write({ [key]: '"acknowledged"' });
    world.until(() => world.ust() >= ct, 1000);
    world.run(2000);
    return { world, key, ct };
  }
});

describe('D10: a node that is about to be rebuilt', () => {
  it('a node that is about to be rebuilt stays while an undecided transaction is prepared on it', () => {
    const world = new World();
    world.run(100);
    world.filter = ({ message }) => !['PrepareResp', 'ResolveReq', 'CommitTx'].includes(message.type);
    const client = new TestClient(world, V);
    const tx = client.begin();
    for (const partition of [0, 2, 4]) tx.write(keyIn(world, partition), '"undecided"');
    world.ask(V, client.commitRequest(tx));
    world.until(() => world.node(V).store.prepared.size > 0, 1000);
    world.node(V).parts.membership.retire(DAMAGED);
    expect(runRebuilding(world, 5_000)).toEqual([]);
    world.filter = () => true;
    expect(runRebuilding(world, 30_000)).toEqual([V]);
    const [outcome] = world.node(O).store.outcomes.values();
    expect(outcome).toMatchObject({ status: 'committed' });
  });

  it('a node that is about to be rebuilt prepares nothing new, and the commit goes on in another region', () => {
    const { keyspaces, ...regions } = everywhere(2);
    const world = new World({ spec: { ...regions, keyspaces }, settings: { commitTimeoutMs: 2000 } });
    world.run(300);
    world.cut(V, I); // it waits for its last commit to be stable, so it stays during the test
    new TestClient(world, V).write({ [keyIn(world, 1)]: '"last"' });
    world.node(V).parts.membership.retire(DAMAGED);
    const client = new TestClient(world, O);
    const tx = client.begin();
    tx.write(keyIn(world, 0), '"new"');
    const request = { ...client.commitRequest(tx), snapshot: client.session.ust, attemptRegions: ['virginia'] };
    expect(world.call(O, request)).toMatchObject({ type: 'Refused', code: 'OUTCOME_PENDING' });
    expect(world.node(V).store.outcomes.has(`0|${request.txId}`)).toBe(false);
    expect(world.call(O, { ...request, attemptRegions: ['virginia', 'oregon'] })).toMatchObject({ type: 'CommitResp' });
  });
});

describe('D10: data that were set aside', () => {
  it('data that was set aside stays known through a restart of all nodes: nodes without data never take it for a first start', () => {
    const world = new World({ spec: everywhere(2) });
    new TestClient(world, V).write({ [keyIn(world, 0)]: '"a"' });
    world.run(300);
    for (const node of [V, O, I]) world.crash(node);
    for (const node of [V, O, I]) world.restart(node, new PlainStore(), { setAside: node === O });
    world.run(5_000);
    expect([V, O, I].map((node) => joined(world, node)())).toEqual([false, false, false]);
    for (const node of [V, O, I]) expect(rebuild(world, node).lostPartitions).toEqual([0, 1]);
    // An operator must decide.
    for (const node of [V, O, I]) world.crash(node);
    for (const node of [V, O, I]) world.restart(node, new PlainStore(), { setAside: node === O, acceptLoss: true });
    world.until(() => [V, O, I].every((node) => joined(world, node)()), 5000);
    world.until(recovered(world, V), 5000);
  });
});
