import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../e2e/processes.js';
import type { RunRecord } from './samples.js';
import { decodeRun } from './samples-file.js';

const MAIN = join(__dirname, '../../dist/bench/papers/main.js');
const bench = (...args: string[]) => run(process.execPath, [MAIN, ...args]);

describe('bench:papers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-papers-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('bench:papers carries out an experiment on real nodes, and renders the same report from its samples', async () => {
    const out = join(folder, 'first');
    expect(await bench('--quick', '--only', 'paris-locality', '--out', out)).toMatchObject({ code: 0 });
    const text = readFileSync(join(out, 'samples.json'), 'utf8');
    const { experiments, failures, settings } = decodeRun(text);
    expect(failures).toEqual([]);
    expect(settings.quick).toBe(true);
    const [{ points, systems }] = experiments as [RunRecord['experiments'][0]];
    expect(systems).toEqual([{ name: 'PaRiS', keysByRegion: { virginia: 4000, oregon: 4000, ireland: 4000 } }]);
    expect(points.map(({ sessions }) => sessions)).toEqual([24, 192]);
    for (const { rounds } of points) {
      expect(rounds[0]!.operations).toBeGreaterThan(0);
      expect(rounds[0]!.latencies.transaction!.count).toBe(rounds[0]!.operations);
      expect(rounds[0]!.counts['isochron_events_total{event=sentMessages}']).toBeGreaterThan(0);
    }
    const again = join(folder, 'again');
    expect(await bench('--from', join(out, 'samples.json'), '--out', again)).toMatchObject({ code: 0 });
    const files = ['paris-locality-100-0-local.svg', 'report.md'];
    expect(readdirSync(out).sort()).toEqual([...files, 'samples.json']);
    expect(readdirSync(again).sort()).toEqual(files);
    for (const file of files)
      expect(readFileSync(join(again, file), 'utf8')).toBe(readFileSync(join(out, file), 'utf8'));
  });

  it('bench:papers refuses an unknown name, and lists the experiments', async () => {
    const { code, stderr } = await bench('--only', 'paris-vs-everyone');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/paris-vs-bpr, .*wren-vs-cure/)]);
  });
});
