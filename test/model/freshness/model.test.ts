/** The rules of suspension and return: none of them breaks a promise, and without each of them a schedule does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commitNumber, partOf } from '../../commit.js';
import { TIER } from '../../tier.js';
import { Model } from './model.js';
import { drawnRun, neighbours, replay, scheduleOf, shrunk } from './search.js';
import { actionsOf, FAIR, FIVE, SOLE_COPY, THREE } from './shapes.js';
import type { Mutant, Shape } from './state.js';

interface KeptSchedule extends Shape {
  readonly rule: string;
  readonly mutant: Mutant;
  readonly promise: string;
  readonly schedule: readonly string[];
}

const KEPT = JSON.parse(readFileSync(join(__dirname, 'schedules.json'), 'utf8')) as readonly KeptSchedule[];
const IS_ALL = TIER === 'all';
/** The first seed, and the part of the schedules near fair schedules: the commit picks both. */
const NUMBER = commitNumber();
const STEPS = 250;
/** In how many parts the schedules near fair schedules are divided. */
const PARTS = IS_ALL ? 1 : 50;

jest.setTimeout(900_000);

describe('the model of suspension and return', () => {
  it.each([
    ['three nodes', THREE, 3, IS_ALL ? 5000 : 150],
    ['three nodes and a sole copy', SOLE_COPY, 3, IS_ALL ? 3000 : 100],
    ['five nodes, of which two are suspended at once', FIVE, 5, IS_ALL ? 1000 : 30],
  ])('no drawn schedule of %s breaks a promise', (_of, shape, nodes, runs) => {
    const counts = { suspended: 0, returned: 0, deferred: 0, reads: 0, commits: 0, recommits: 0, returns: 0 };
    for (let seed = NUMBER; seed < NUMBER + runs; seed++) {
      const { model, finding } = drawnRun(seed, STEPS, shape, nodes);
      if (finding !== undefined) throw new Error(`seed ${seed}: ${textOf(shrunk(finding, shape, nodes))}`);
      for (const [name, count] of Object.entries(model.world.counts)) counts[name as keyof typeof counts] += count;
    }
    // The runs have done what the rules are about.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
  });

  it.each(Object.entries(FAIR))('no schedule that differs at one place breaks a promise: %s', (_name, script) => {
    const fair = scheduleOf(script, THREE);
    expect(replay(fair, THREE)).toBeUndefined();
    const near = partOf([...neighbours(fair, actionsOf(THREE, 3))], PARTS, NUMBER);
    expect(near.length).toBeGreaterThan(100);
    for (const schedule of near) {
      const finding = replay(schedule, THREE);
      if (finding !== undefined) throw new Error(textOf(shrunk(finding, THREE)));
    }
  });

  it.each(KEPT.map((kept) => [kept.rule, kept.mutant, kept.promise, kept] as const))(
    'a schedule needs rule %s: with %s it breaks "%s"',
    (_rule, _mutant, promise, { mutant, schedule, ...shape }) => {
      expect(replay(schedule, { ...shape, mutant })?.promise).toBe(promise);
      expect(replay(schedule, { ...shape, mutant: undefined })).toBeUndefined();
    },
  );

  it('a late answer about an earlier attempt lets no attempt be prepared that was answered as aborted (D4)', () => {
    const schedule = [
      ...['move 1 2', 'suspend 0 1', 'deliver 0 0', 'deliver 0 0', 'deliver 0 2', 'deliver 2 0', 'deliver 0 2'],
      ...['deliver 0 0', 'deliver 0 0', 'deliver 0 1', 'deliver 1 0', 'adopt 0', 'write 1 0,1', 'deliver 2 0'],
      ...['deliver 2 0', 'deliver 0 2', 'deliver 2 2', 'deliver 0 2', 'adopt 2', 'repeat 1', 'resolve 2'],
      ...['deliver 2 0', 'resolve 0'],
    ];
    expect(replay(schedule, SOLE_COPY)).toBeUndefined();
  });

  it('a returned node commits the deferred writes of a lost session again, in their order', () => {
    const shape = { ...THREE, sessions: 1 };
    const model = new Model(shape);
    const script = ['move 0 2', 'write 0 1', '...', 'write 0 2', '...', 'suspend 0 2', '...', 'adopt', 'rounds'];
    for (const action of scheduleOf(script, shape)) model.apply(action);
    const { nodes, acknowledged } = model.world;
    expect(acknowledged).toEqual(new Set([0, 1]));
    expect(nodes[0]!.map).toBe(1);
    expect(nodes[0]!.log[2]).toEqual([]);
    model.end();
    const [first, second] = [nodes[1]!.log[1]![0]!, nodes[0]!.log[2]![0]!];
    expect([first.tx, second.tx]).toEqual([0, 1]);
    expect(first.ct).toBeLessThan(second.ct);
    expect(nodes[0]!.ust).toBeGreaterThanOrEqual(second.ct);
  });
});

const textOf = ({ message, schedule }: { message: string; schedule: readonly string[] }): string =>
  [message, ...schedule].join('\n');
