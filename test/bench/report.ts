/** The results as JSON, with the data needed to interpret them later. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, platform, release, totalmem } from 'node:os';
import { dirname } from 'node:path';
import type { BenchSettings } from './context.js';
import { isMet, type Row, ratioOf } from './figures.js';
import { MOST_OF_OTHERS } from './machine-load.js';
import { ROOT } from './root.js';

/** The properties of the machine that figures depend on. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  /** Type of the data's file system: its name, or its number in `statfs`. */
  readonly fileSystem: string;
  /** Commit of the sources, with the suffix `-dirty` if they differ; null outside of git. */
  readonly commit: string | null;
  /** Average number of runnable processes, all of others, in the minute before the run. */
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
    system: `${platform()} ${/^\d+\.\d+/.exec(release())?.[0] ?? release()}`,
    node: process.version,
    fileSystem: fileSystemOf(statfsSync(folder).type),
    commit: commitOf(ROOT),
    loadBefore: loadavg()[0] ?? 0,
  };
}

/** Of Linux. */
const FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x01021994, 'tmpfs'],
  [0x794c7630, 'overlayfs'],
  [0x2fc12fc1, 'zfs'],
]);

const fileSystemOf = (type: number): string => FILE_SYSTEMS.get(type) ?? `file system 0x${type.toString(16)}`;

function commitOf(folder: string): string | null {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return git('rev-parse', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '-dirty');
  } catch {
    return null;
  }
}

/** A benchmark that was measured. */
export interface Result {
  readonly benchmark: string;
  /** Share of the machine that others used meanwhile, 0 to 1; null if the system does not report it. */
  readonly others: number | null;
  readonly rows: readonly Row[];
}

/** Writes the report. */
export function writeReport(
  file: string,
  settings: BenchSettings,
  machine: Machine,
  results: readonly Result[],
  failures: readonly Failure[],
): void {
  const rowOf = (row: Row) => ({ ...row, ratio: ratioOf(row) ?? null, met: isMet(row) ?? null });
  const all = results.map(({ rows, ...result }) => ({ ...result, rows: rows.map(rowOf) }));
  mkdirSync(dirname(file), { recursive: true });
  const report = { date: new Date().toISOString(), machine, settings, results: all, failures };
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

/** The lines above the table. */
export function machineLines(machine: Machine, results: readonly Result[] = []): string[] {
  const { cpu, cores, memoryBytes, system, node, commit, loadBefore } = machine;
  const memory = `${Math.round(memoryBytes / 2 ** 30)} GiB`;
  const loaded = results.filter(({ others }) => others !== null && others > MOST_OF_OTHERS);
  return [
    `${cores} × ${cpu}, ${memory}, ${system}, Node ${node}, commit ${commit ?? 'unknown'}`,
    'Nodes, limits and load generators are processes that share these cores: compare ratios, not rates.',
    ...(loadBefore > 0.5
      ? [`Others used the machine before this run (load ${loadBefore.toFixed(1)}): expect noise.`]
      : []),
    ...loaded.map(
      ({ benchmark, others }) =>
        `Others used ${((others ?? 0) * 100).toFixed(0)} % of the machine during ${benchmark}: its figures are not valid.`,
    ),
  ];
}
