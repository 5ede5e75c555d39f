import fc from 'fast-check';
import { ALWAYS, type Draw, drawSchedule, FAULT_KINDS, type Pair, type Shape, type Step } from './faults.js';

const shapeOf = (regions: number, nodes: number): Shape =>
  Object.fromEntries(
    Array.from({ length: regions }, (_, r) => [`r${r}`, Array.from({ length: nodes }, (_, n) => `r${r}-${n}`)]),
  );
const pairsOf = (shape: Shape): Pair[] => {
  const nodes = Object.values(shape).flat();
  return nodes.flatMap((from) => nodes.filter((to) => from < to).map((to): Pair => [from, to]));
};

const draws = fc
  .record({
    seed: fc.nat(),
    seconds: fc.integer({ min: 5, max: 600 }),
    regions: fc.integer({ min: 1, max: 5 }),
    nodes: fc.integer({ min: 1, max: 3 }),
    kinds: fc.subarray([...FAULT_KINDS]),
  })
  .map(({ seed, seconds, regions, nodes, kinds }): Draw => {
    const shape = shapeOf(regions, nodes);
    return { seed, durationMs: seconds * 1000, shape, pairs: pairsOf(shape), kinds };
  });

/** The process that a fault stops. */
const stopped = ({ fault }: Step, shape: Shape): readonly string[] => {
  if (fault.kind === 'restart-all') return Object.values(shape).flat();
  const kinds = ['kill', 'stop', 'pause', 'freeze', 'wipe', 'rollback'];
  return kinds.includes(fault.kind) && 'node' in fault ? [fault.node] : [];
};

describe('a schedule', () => {
  it('a schedule is the same for the same seed and cluster, and differs for another seed', () => {
    const shape = shapeOf(3, 2);
    const draw = { durationMs: 60_000, shape, pairs: pairsOf(shape), kinds: ALWAYS };
    expect(drawSchedule({ ...draw, seed: 7 })).toEqual(drawSchedule({ ...draw, seed: 7 }));
    expect(drawSchedule({ ...draw, seed: 7 })).not.toEqual(drawSchedule({ ...draw, seed: 8 }));
  });

  it('a schedule has every kind of fault, however short it is', () => {
    const shape = shapeOf(3, 2);
    for (let seed = 0; seed < 50; seed++) {
      const steps = drawSchedule({ seed, durationMs: 20_000, shape, pairs: pairsOf(shape), kinds: ALWAYS });
      expect(new Set(steps.map(({ fault }) => fault.kind))).toEqual(new Set(ALWAYS));
    }
  });

  it('a schedule begins only the given kinds of faults, in order, and late only for a kind that had no room', () => {
    fc.assert(
      fc.property(draws, (draw) => {
        const steps = drawSchedule(draw);
        const begins = steps.map(({ atMs }) => atMs);
        expect(begins).toEqual([...begins].sort((a, b) => a - b));
        const kinds = steps.map(({ fault }) => fault.kind);
        const late = begins.filter((atMs, i) => atMs >= draw.durationMs && kinds.indexOf(kinds[i]!) < i);
        expect(late).toEqual([]);
        expect(begins.every((atMs) => atMs > 0)).toBe(true);
        expect(steps.every(({ fault }) => draw.kinds.includes(fault.kind))).toBe(true);
      }),
    );
  });

  it('a schedule never stops a process that another fault has stopped', () => {
    fc.assert(
      fc.property(draws, (draw) => {
        const until = new Map<string, number>();
        for (const step of drawSchedule(draw)) {
          for (const node of stopped(step, draw.shape)) {
            expect(until.get(node) ?? 0).toBeLessThanOrEqual(step.atMs);
            until.set(node, step.atMs + step.forMs);
          }
        }
      }),
    );
  });

  it('a schedule of no kinds of faults is empty', () => {
    const draw = { seed: 1, durationMs: 60_000, shape: shapeOf(1, 1), pairs: [] };
    expect(drawSchedule({ ...draw, kinds: [] })).toEqual([]);
    expect(drawSchedule({ ...draw, kinds: ['cut', 'mute', 'delay', 'isolate'] })).toEqual([]);
  });
});
