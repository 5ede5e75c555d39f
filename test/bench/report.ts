/** The results as JSON, with what is needed to make sense of them later. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, platform, release, totalmem } from 'node:os';
import { dirname } from 'node:path';
import type { BenchSettings } from './context.js';
import { isMet, type Row, ratioOf } from './figures.js';
import { ROOT } from './root.js';

/** The machine, as far as figures depend on it. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  /** Type of the file system that data lies on, as `statfs` numbers it. */
  readonly fileSystem: string;
  /** Commit of the sources, with `-dirty` behind it when they differ; null outside of git. */
  readonly commit: string | null;
  /** Processes that wanted to run in the minute before, on average: of others, so far. */
  readonly loadBefore: number;
}

/** A benchmark that could not be finished. */
export interface Failure {
  readonly benchmark: string;
  readonly error: string;
}

export function machineOf(folder: string): Machine {
  const cores = cpus();
  return {
    cpu: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    memoryBytes: totalmem(),
    system: `${platform()} ${release()}`,
    node: process.version,
    fileSystem: `0x${statfsSync(folder).type.toString(16)}`,
    commit: commitOf(ROOT),
    loadBefore: loadavg()[0] ?? 0,
  };
}

function commitOf(folder: string): string | null {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return git('rev-parse', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '-dirty');
  } catch {
    return null;
  }
}

/** Writes the report. */
export function writeReport(
  file: string,
  settings: BenchSettings,
  machine: Machine,
  rows: readonly Row[],
  failures: readonly Failure[],
): void {
  const results = rows.map((row) => ({ ...row, ratio: ratioOf(row) ?? null, met: isMet(row) ?? null }));
  mkdirSync(dirname(file), { recursive: true });
  const report = { date: new Date().toISOString(), machine, settings, results, failures };
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

/** The lines above the table. */
export function machineLines(machine: Machine): string[] {
  const { cpu, cores, memoryBytes, system, node, commit, loadBefore } = machine;
  const memory = `${Math.round(memoryBytes / 2 ** 30)} GiB`;
  return [
    `${cores} × ${cpu}, ${memory}, ${system}, Node ${node}, commit ${commit ?? 'unknown'}`,
    'Nodes, limits and load generators are processes that share these cores: compare ratios, not rates.',
    ...(loadBefore > 0.5
      ? [`Others used the machine before this run (load ${loadBefore.toFixed(1)}): expect noise.`]
      : []),
  ];
}
