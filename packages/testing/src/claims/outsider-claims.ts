/// <reference types="jest" />
/**
 * The claims of every protocol with transactions about nodes that take part in the transactions of others (D12), as
 * tests. `transaction-claims.test.ts` runs them for each such protocol.
 */
import type { TransactionMessage } from '@isochron/protocols/kernel/transactions/messages';
import { keyIn, TestClient } from '../world/clients.js';
import { commitOver, id } from '../world/commits.js';
import { World, type WorldOptions } from '../world/world.js';

const COORDINATOR = 'oregon-1';
const VICTIM = 'virginia-1';
const OUTSIDER = 'ireland-1';

/** Two partitions of which the outsider holds no cohort. */
function partitionsOf({ topology }: World): readonly [number, number] {
  const at = (node: string) => topology.partitions.filter(({ id }) => topology.cohort(id, 'virginia').node === node);
  return [at('virginia-1')[0]!.id, (at(COORDINATOR)[0] ?? at('virginia-1')[1]!).id];
}

/** A transaction that is acknowledged, and prepared at its cohorts until `world.filter` lets decisions through. */
function prepared(options: WorldOptions) {
  const world = new World(options);
  world.run(100);
  const partitions = partitionsOf(world);
  const commit = commitOver(world, id(0), [...partitions]);
  world.filter = ({ message }) => !['CommitTx', 'ResolveResp'].includes(message.type);
  const { ct } = world.call(COORDINATOR, commit, 'CommitResp');
  const [mine] = partitions;
  const cohort = world.node(VICTIM).parts.replicas.find(({ partition }) => partition === mine)!.cohort;
  const identity = { txId: id(0), attempt: 0, home: 'virginia', map: 0, cohorts: partitions };
  const inject = (message: TransactionMessage, machine = 'coordinator') =>
    world.inject({ node: VICTIM, machine: `replica/${mine}` }, { node: OUTSIDER, machine }, message);
  return { world, partitions, commit, ct, cohort, identity, inject };
}

/**
 * Registers the claims for one protocol.
 *
 * @param separate whether the cohorts are on different nodes, so that questions of one to the other can be lost
 */
export function outsiderClaims(subject: WorldOptions, separate: boolean): void {
  const about = { partition: partitionsOf(new World(subject))[0], txId: id(0), attempt: 0 };
  const isWhole = ({ world, partitions, ct }: ReturnType<typeof prepared>) => {
    world.filter = () => true;
    world.until(() => world.ust() >= ct);
    world.run(500);
    const outcomes = partitions.map((partition) => {
      const { node } = world.topology.cohort(partition, 'virginia');
      return world.node(node).store.outcome(partition, id(0))?.ts;
    });
    expect(outcomes).toEqual([ct, ct]);
    const keys = partitions.map((partition) => keyIn(world, partition));
    expect(new TestClient(world, OUTSIDER).readOnce(...keys)).toEqual(['1', '1']);
  };

  describe('a node without a part in a transaction', () => {
    it.each(['CommitTx', 'AbortTx', 'ResolveNow'] as const)(
      '%s of a node that did not send the prepare is ignored and counted (D2, D12)',
      (type) => {
        const scene = prepared(subject);
        const { cohort, inject, ct } = scene;
        inject(type === 'CommitTx' ? { type, ...about, ct: ct + 7 } : { type, ...about });
        scene.world.run(3);
        expect(cohort.slices.prepared.get(id(0))?.resolution).toBeUndefined();
        expect([cohort.slices.known(id(0), 0)?.state, cohort.counters.outsiders]).toEqual(['prepared', 1]);
        isWhole(scene);
      },
    );

    const answers = separate ? (['aborted', 'committed'] as const) : [];
    for (const state of answers)
      it(`an answer that a transaction is ${state}, of a node without the cohort, is ignored and counted (D2, D12)`, () => {
        const scene = prepared(subject);
        const { world, partitions, cohort, inject, ct } = scene;
        world.until(() => cohort.slices.prepared.get(id(0))?.resolution !== undefined);
        inject({ type: 'ResolveResp', ...about, partition: partitions[1], state, ts: ct + 7 }, 'replica/x');
        world.run(3);
        expect([cohort.slices.known(id(0), 0)?.state, cohort.counters.outsiders]).toEqual(['prepared', 1]);
        isWhole(scene);
      });

    it.each(['ResolveReq', 'PrepareReq'] as const)(
      '%s of a later attempt, from a node that did not send the prepare, does not abort it (D4, D12)',
      (type) => {
        const scene = prepared(subject);
        const { commit, cohort, identity, inject } = scene;
        const later = {
          partition: about.partition,
          identity: { ...identity, attempt: 1 },
          sentAfter: commit.sentAfter,
        };
        const writes = [{ key: commit.writes[0]!.key, value: '"other"' }];
        const rest = { ust: commit.sentAfter, ht: commit.sentAfter, principal: 'anonymous', writes };
        inject(type === 'ResolveReq' ? { type, ...later } : { type, ...later, ...rest });
        scene.world.run(3);
        expect(cohort.slices.known(id(0), 0)?.state).not.toBe('aborted');
        isWhole(scene);
      },
    );

    it('votes and refusals of a node without the cohort are ignored at the coordinator, and counted (D2, D12)', () => {
      const world = new World(subject);
      world.run(100);
      world.filter = ({ message }) => message.type !== 'PrepareResp';
      const partitions = partitionsOf(world);
      const ref = world.ask(COORDINATOR, commitOver(world, id(0), [...partitions]));
      world.run(5);
      const messages: TransactionMessage[] = [
        ...partitions.map((partition) => ({ ...about, type: 'PrepareResp' as const, partition, pt: 1 })),
        { type: 'PrepareRefused', ...about, code: 'OVERLOADED', detail: '' },
        { type: 'ResolveResp', ...about, state: 'committed', ts: world.ust() + 7 },
      ];
      for (const message of messages)
        world.inject({ node: COORDINATOR, machine: 'coordinator' }, { node: OUTSIDER, machine: 'replica/0' }, message);
      world.run(5);
      expect(world.answer(COORDINATOR, ref)).toBeUndefined();
      expect(world.node(COORDINATOR).parts.coordinator.commits.counters.outsiders).toBe(messages.length);
      world.filter = () => true;
      world.until(() => world.answer(COORDINATOR, ref)?.type === 'CommitResp');
    });

    it('an answer about an attempt counts from its own cohorts, and not from those of an earlier one (D4, D12)', () => {
      const world = new World(subject);
      world.run(100);
      world.filter = ({ message }) => message.type !== 'PrepareResp';
      const cohortAt = (partition: number, home: string) => world.topology.cohort(partition, home).node;
      const partition = world.topology.partitions.find(
        (one) => cohortAt(one.id, 'ireland') === OUTSIDER && cohortAt(one.id, 'virginia') === VICTIM,
      )!.id;
      const later = { ...commitOver(world, id(0), [partition]), attemptRegions: ['ireland', 'virginia'] };
      const ref = world.ask(COORDINATOR, later);
      world.run(50);
      const message = {
        type: 'ResolveResp',
        txId: id(0),
        attempt: 1,
        partition,
        state: 'committed',
        ts: world.ust() + 7,
      };
      const to = { node: COORDINATOR, machine: 'coordinator' };
      world.inject(to, { node: OUTSIDER, machine: `replica/${partition}` }, message as never);
      world.run(5);
      expect(world.answer(COORDINATOR, ref)).toBeUndefined();
      expect(world.node(COORDINATOR).parts.coordinator.commits.counters.outsiders).toBe(1);
      world.filter = () => true;
      world.until(() => world.answer(COORDINATOR, ref)?.type === 'CommitResp');
    });

    it('a repetition through another coordinator may decide the attempt (D4)', () => {
      const scene = prepared(subject);
      const { world, commit, cohort, inject, ct } = scene;
      world.ask(OUTSIDER, commit);
      world.run(50);
      inject({ type: 'CommitTx', ...about, ct });
      world.run(3);
      expect([cohort.slices.known(id(0), 0)?.state, cohort.counters.outsiders]).toEqual(['committed', 0]);
      isWhole(scene);
    });
  });
}
