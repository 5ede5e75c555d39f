import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readCosts } from './costs.js';
import { QUICK_SCALE } from './experiment.js';
import type { ScaleRecord } from './record.js';
import { simulate } from './simulate.js';

const MAIN = join(__dirname, '../../../dist/bench/papers/scale/main.js');
const run = promisify(execFile);

describe('bench:scale', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-scale-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('bench:scale writes a report, and figures that are the same in every process', async () => {
    await run(process.execPath, [MAIN, '--quick', '--seed', '5', '--workers', '2', '--out', folder]);
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
