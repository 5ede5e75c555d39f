import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../../e2e/processes.js';
import { readCosts } from './costs.js';
import { QUICK_SCALE } from './experiment.js';
import type { ScaleRecord } from './record.js';
import { simulate } from './simulate.js';

const MAIN = join(__dirname, '../../../dist/bench/papers/scale/main.js');

describe('bench:scale', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-scale-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('bench:scale writes a report, and figures that are the same in every process', async () => {
    const args = [MAIN, '--quick', '--seed', '5', '--workers', '2', '--out', folder];
    expect(await run(process.execPath, args)).toMatchObject({ code: 0 });
    expect(readdirSync(folder).sort()).toEqual(['report.md', 'scale.json']);
    const { runs } = JSON.parse(readFileSync(join(folder, 'scale.json'), 'utf8')) as ScaleRecord;
    const { model } = readCosts(join(__dirname, 'costs.json'));
    const { conditions, configurations } = QUICK_SCALE;
    const expected = configurations.map((configuration) => ({
      configuration,
      result: simulate({ configuration, conditions, model, seed: 5 }),
    }));
    expect(runs).toEqual(JSON.parse(JSON.stringify(expected)));
    const report = readFileSync(join(folder, 'report.md'), 'utf8');
    for (const part of ['Seed 5', '### The cost model', 'PaRiS 50:50, 5 regions of 2 nodes'])
      expect(report).toContain(part);
  });
});
