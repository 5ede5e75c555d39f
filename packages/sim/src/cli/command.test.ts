import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROTOCOLS } from '../protocols/index.js';
import { runSimCommand } from './command.js';
import { exitCodeOf } from './exit-codes.js';
import { readKept } from './kept.js';
import type { Summary } from './summary.js';

const folder = mkdtempSync(join(tmpdir(), 'isochron-sim-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command; returns its output and its exit code. */
async function sim(...args: string[]) {
  const printed = { out: '', err: '' };
  const spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      printed.out += String(text);
      return true;
    }),
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      printed.err += String(text);
      return true;
    }),
  ];
  try {
    return { code: await runSimCommand(args), ...printed };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const small = ['--transactions', '20', '--workers', '1'];

describe('npm run sim', () => {
  it('npm run sim runs seeds and prints how many, how fast and with which content', async () => {
    const { code, err } = await sim('--seeds', '5', '--seed-start', '10', ...small);
    expect(code).toBe(0);
    expect(err).toMatch(
      /^paris: 5 of 5 seeds from 10, 0 failed, \d+ transactions, \d+ faults, \d+ virtual s in .* seeds\/s\)\n$/,
    );
  });

  it('npm run sim prints a line of JSON for each seed, with the checks that failed', async () => {
    const { code, out } = await sim('--seeds', '3', '--seed-start', '20', '--json', ...small);
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Summary);
    expect(code).toBe(0);
    expect(lines.map(({ seed, ok, failed }) => [seed, ok, failed])).toEqual([
      [20, true, []],
      [21, true, []],
      [22, true, []],
    ]);
  });

  it('npm run sim runs one seed, and prints every event of it with --verbose', async () => {
    const short = await sim('--seed', '4', '--transactions', '20');
    expect(short).toMatchObject({ code: 0, out: expect.stringMatching(/^seed 4: passed, \d+ transactions/) });
    const long = await sim('--seed', '4', '--transactions', '20', '--verbose');
    expect(long.out.split('\n').length).toBeGreaterThan(200);
    expect(long.out).toContain('everything is healed');
  });

  it('npm run sim replays a saved plan', async () => {
    const file = join(folder, 'plan.json');
    writeFileSync(file, JSON.stringify(PROTOCOLS.get('paris')!.draw(4, { transactions: 20 })));
    const [plan, seed] = [await sim('--plan', file), await sim('--seed', '4', '--transactions', '20')];
    expect(plan).toEqual(seed);
  });

  it('the command runs every plan of a file of kept seeds, whatever its protocol, and reports those that fail', async () => {
    const file = join(folder, 'kept.json');
    const plans = ['paris', 'orbe'].map((name) => PROTOCOLS.get(name)!.draw(4, { transactions: 20 }));
    writeFileSync(file, JSON.stringify(plans.map((plan) => ({ seed: 4, check: 'a-check', why: '', plan }))));
    expect(await sim('--kept', file, '--workers', '1')).toMatchObject({ code: 0, out: '2 plans, 0 failed\n' });
    const { out } = await sim('--kept', file, '--workers', '1', '--json');
    expect(out).toMatch(/"protocol":"paris"[^\n]*\n[^\n]*"protocol":"orbe"/);
    const paris = PROTOCOLS.get('paris')!;
    const run: typeof paris.run = (plan, limits) => paris.run(plan, { ...limits, livenessMs: 0 });
    const broken = jest.spyOn(PROTOCOLS, 'get').mockReturnValue({ ...paris, run });
    try {
      writeFileSync(file, JSON.stringify([{ seed: 4, check: 'a-check', why: '', plan: plans[0] }]));
      const failing = await sim('--kept', file, '--workers', '1');
      expect(failing).toMatchObject({
        code: 3,
        out: expect.stringMatching(/^seed 4: LIVENESS .*\n.*\n1 plans, 1 failed/),
      });
    } finally {
      broken.mockRestore();
    }
  });

  it.each([
    ['an unknown option', ['--sedes', '3'], 'unknown option'],
    ['a protocol that is not simulated', ['--protocol', 'raft'], 'Allowed choices are paris'],
    ['a seed that is no number', ['--seed', 'x'], 'whole number'],
    ['no time at all', ['--minutes', '0'], 'above 0'],
    ['options that contradict each other', ['--seed', '1', '--seeds', '2'], 'cannot be used with'],
    ['an argument', ['8812'], 'too many arguments'],
    ['a plan that is not there', ['--plan', '/nowhere/plan.json'], 'is not a plan'],
    ['kept seeds that are not there', ['--kept', '/nowhere/seeds.json'], 'has no kept seeds'],
    ['a file that is no plan', ['--plan', join(folder, 'none.json')], 'it names no protocol'],
  ])('npm run sim refuses %s in one line, with exit code 2', async (_what, args, message) => {
    writeFileSync(join(folder, 'none.json'), '{}');
    const { code, err } = await sim(...args);
    expect([code, err.trim().split('\n').length]).toEqual([2, 1]);
    expect(err).toContain(message);
  });

  it('npm run sim explains itself', async () => {
    const { code, out } = await sim('--help');
    expect(code).toBe(0);
    expect(out).toContain('--seed 8812 --verbose');
    expect(out).toContain('Exit code');
  });

  it('the exit code tells a broken promise, a standstill and a thrown error apart', () => {
    expect([undefined, 'safety', 'liveness', 'crash'].map((kind) => exitCodeOf(kind as never))).toEqual([0, 1, 3, 4]);
  });
});

describe('a seed that fails', () => {
  it('a seed that fails is made smaller, shown with its replay, and saved', async () => {
    const saved = join(folder, 'saved');
    const paris = PROTOCOLS.get('paris')!;
    // A time that no run can keep simulates a protocol whose work does not end.
    const broken = jest.spyOn(PROTOCOLS, 'get').mockReturnValue({
      ...paris,
      run: (plan, limits) => paris.run(plan, { ...limits, livenessMs: 0 }),
    });
    try {
      const kept = join(folder, 'seeds.json');
      const args = ['--seed', '4', '--transactions', '20', '--save', saved, '--keep', kept];
      const { code, out } = await sim(...args);
      expect(code).toBe(3);
      expect(out).toMatch(/seed 4: LIVENESS [a-z-]+ at step \d+/);
      expect(out).toContain('replay: npm run sim -- --protocol paris --seed 4 --transactions 20 --verbose');
      expect(out).toMatch(/commit [0-9a-f]{12}|commit unknown/);
      expect(JSON.parse(readFileSync(join(saved, 'paris-4.json'), 'utf8'))).toMatchObject({
        protocol: 'paris',
        seed: 4,
      });
      await sim(...args);
      expect(readKept(kept)).toMatchObject([{ seed: 4, check: expect.any(String), plan: { protocol: 'paris' } }]);
    } finally {
      broken.mockRestore();
    }
  });
});
