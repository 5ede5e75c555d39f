import type { Plan } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';

const paris = PROTOCOLS.get('paris')!;

/** A drawn plan with other faults. */
function planOf(seed: number, faults: Plan['faults'] = []): Plan {
  return { ...paris.draw(seed, { transactions: 60 }), faults };
}

/** All responses of a node's machine of session frames, by type. */
function answersIn(plan: Plan): Set<string> {
  const { ok, failures, trace } = paris.run(plan, { trace: true });
  expect([ok, failures]).toEqual([true, []]);
  const lines = trace.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  return new Set(lines.flatMap((line) => /session-frames ← \S+: (\w+)/.exec(line)?.[1] ?? []));
}

describe("an SDK's client in the simulator", () => {
  it('a simulated client reads, commits, lists and asks through session frames', () => {
    const answers = new Set([2, 4, 6].flatMap((seed) => [...answersIn(planOf(seed))]));
    expect([...answers].sort()).toEqual(
      expect.arrayContaining(['CommitResp', 'EndTxResp', 'ListResp', 'ReadResp', 'StartTxResp']),
    );
  });

  it('a simulated client commits its writes where nothing goes wrong', () => {
    const plan = planOf(5);
    const { stats } = paris.run({ ...plan, http: undefined });
    expect([stats.unknown, stats.committed / stats.transactions > 0.9]).toEqual([0, true]);
  });

  it('a simulated client goes on where its connections are lost over and over', () => {
    const { sessions } = planOf(7);
    const faults = Array.from({ length: 40 }, (_, i) => ({
      kind: 'clientDisconnect' as const,
      atMs: 50 * i,
      forMs: 0,
      session: sessions[i % sessions.length]!.name,
    }));
    expect(answersIn(planOf(7, faults)).has('CommitResp')).toBe(true);
  });

  it('a simulated client gives the same run for the same plan', () => {
    const [one, two] = [planOf(9), planOf(9)].map((plan) => paris.run(plan, { trace: true }));
    expect(one!.stats).toEqual(two!.stats);
    expect(one!.trace).toEqual(two!.trace);
  });
});
