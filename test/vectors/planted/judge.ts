/** Builds and runs the package with the planted bugs, and parses the output of its program. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../e2e/processes.js';
import { DEFAULTS, generate } from '../generate.js';
import type { PlantedBug } from './bugs.js';
import { writePackage } from './package.js';

/** The first place where a file detects a bug. */
export interface Finding {
  readonly bug: string;
  readonly file: string;
  /** Number of sequences or cases of the file. */
  readonly count: number;
  readonly where: string;
  readonly what: string;
  readonly expected: string;
  readonly got: string;
}

/**
 * @param swift the command, with its first arguments
 * @param jobs number of compilers that run at once
 */
export function judge(bugs: readonly PlantedBug[], swift: readonly string[], jobs: number): Finding[] {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-planted-'));
  try {
    writePackage(folder, ROOT, bugs);
    const vectors = join(folder, '.vectors');
    mkdirSync(vectors);
    for (const { name, text } of generate(DEFAULTS)) writeFileSync(join(vectors, name), text);
    return findingsOf(run(folder, vectors, swift, jobs));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const WITH_SERVERS = join(ROOT, 'infra/swift/with-servers.mjs');

/**
 * Whole modules are compiled, which is faster than file by file; without optimisation; tests have access to internal
 * names.
 */
const BUILD = '-c release -Xswiftc -Onone -Xswiftc -enable-testing --disable-index-store'.split(' ');

function run(cwd: string, vectors: string, [command = 'swift', ...first]: readonly string[], jobs: number): string {
  const env = { ...process.env, ISOCHRON_VECTORS: vectors };
  const args = [WITH_SERVERS, command, ...first, 'run', ...BUILD, '-j', `${jobs}`, 'Judge'];
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, {
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (error !== undefined) throw error;
  if (status === 0 && stdout.trimEnd().endsWith('judged')) return stdout;
  throw new Error(`${command} ${args.join(' ')} ended with ${status}\n${stdout.slice(-4000)}\n${stderr.slice(-4000)}`);
}

function findingsOf(stdout: string): Finding[] {
  return stdout.split('\n').flatMap((line) => {
    const [bug, file, count, where, what = '', expected = '', got = ''] = line.split('\t');
    if (bug === undefined || file === undefined || count === undefined || where === undefined) return [];
    return [{ bug, file, count: Number(count), where, what, expected, got }];
  });
}
