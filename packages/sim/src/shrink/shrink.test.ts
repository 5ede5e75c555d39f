import type { Plan } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';
import { minimise } from './minimise.js';
import { removeNode } from './remove-node.js';
import { shrink } from './shrink.js';

const paris = PROTOCOLS.get('paris')!;
const always = { goesOn: () => true };
const transactionsOf = (plan: Plan) => plan.sessions.flatMap(({ transactions }) => transactions);

/** A plan with much of everything. */
function richPlan(): Plan {
  for (let seed = 1; ; seed++) {
    const plan = paris.draw(seed);
    if (plan.faults.length > 5 && plan.sessions.length > 5 && plan.cluster.regions.length > 2) return plan;
  }
}

describe('minimise', () => {
  it('minimise finds the items that matter, in few questions', () => {
    let asked = 0;
    const items = Array.from({ length: 200 }, (_, i) => i);
    const rest = minimise(items, (some) => {
      asked++;
      return some.includes(17) && some.includes(160);
    });
    expect(rest).toEqual([17, 160]);
    expect(asked).toBeLessThan(80);
  });

  it('minimise leaves nothing where nothing matters', () => {
    expect(minimise([1, 2, 3], () => true)).toEqual([]);
  });
});

describe('shrink', () => {
  it('shrink removes sessions, transactions, steps, faults, nodes and settings that the failure does not need', () => {
    const plan = richPlan();
    const wanted = transactionsOf(plan).find((tx) => tx.kind === 'interactive' && tx.steps.length > 2)!;
    const [fault] = plan.faults;
    const small = shrink(
      plan,
      ({ sessions, faults }) =>
        sessions.some(({ transactions }) => transactions.some((tx) => tx.thinkMs === wanted.thinkMs)) &&
        faults.some((f) => f.kind === fault!.kind && f.atMs === fault!.atMs),
      always,
    );
    expect([small.sessions.length, transactionsOf(small).length, small.faults.length]).toEqual([1, 1, 1]);
    expect(transactionsOf(small)[0]).toMatchObject({ steps: [expect.anything()] });
    expect(small.environment).toMatchObject({ jitter: 0, coldReads: 0, encoded: false });
    expect(small.safetyMs).toBeLessThan(plan.safetyMs);
    expect(JSON.stringify(small).length).toBeLessThan(JSON.stringify(plan).length / 5);
    expect(paris.run(small).ok).toBe(true);
  });

  it('shrink tries only plans that run', () => {
    let tried = 0;
    shrink(
      paris.draw(3, { transactions: 20 }),
      (candidate) => {
        tried++;
        paris.run(candidate);
        return tried % 3 === 0;
      },
      { goesOn: () => tried < 150 },
    );
    expect(tried).toBeGreaterThan(20);
  });

  it('shrink stops when its budget is used up', () => {
    let left = 5;
    const plan = richPlan();
    shrink(plan, () => true, { goesOn: () => left-- > 0 });
    expect(left).toBeLessThan(0);
  });
});

describe('removing a node', () => {
  const plan = richPlan();

  it('removing a node takes it out of every part of the plan that names it', () => {
    const bare = { ...plan, faults: [], sessions: [], http: undefined };
    const node = plan.cluster.regions.at(-1)!.nodes.at(-1)!.id;
    const smaller = removeNode(bare, node)!;
    expect(JSON.stringify(smaller)).not.toContain(`"${node}"`);
    const nodes = smaller.cluster.regions.flatMap((region) => region.nodes);
    const { environment } = smaller;
    expect([environment.clocks.length, environment.syncMs.length]).toEqual([nodes.length, nodes.length]);
    expect(environment.delayMs.map((row) => row.length)).toEqual(
      smaller.cluster.regions.map(() => smaller.cluster.regions.length),
    );
    expect(paris.run(smaller).ok).toBe(true);
  });

  it('removing a node leaves a node that a fault names, and the last one', () => {
    const node = plan.cluster.regions[0]!.nodes[0]!.id;
    const named = { ...plan, faults: [{ kind: 'crash', atMs: 1, forMs: 1, node, batchSurvives: true }] };
    expect(removeNode(named, node)).toBeUndefined();
    const alone = { ...plan, faults: [], cluster: { ...plan.cluster, regions: [{ id: 'r', nodes: [{ id: 'r-1' }] }] } };
    expect(removeNode(alone, 'r-1')).toBeUndefined();
  });
});
