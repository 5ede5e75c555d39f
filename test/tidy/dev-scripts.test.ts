// The scripts of infra/dev run before packages are installed, as plain modules: the tests run them in child processes.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const scripts = join(__dirname, '../../infra/dev');
const urlOf = (script: string) => JSON.stringify(pathToFileURL(join(scripts, script)).href);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-dev-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function runModule(text: string, onOutput?: (child: ChildProcess) => void): Promise<Ended> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', text]);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
    onOutput?.(child);
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}

describe('child processes', () => {
  const runsQuietly = (command: string, limitMs: number) =>
    runModule(`
      import { runQuietly } from ${urlOf('child.mjs')};
      console.log(JSON.stringify(await runQuietly('sh', ['-c', ${JSON.stringify(command)}], { limitMs: ${limitMs} })));
    `);

  it('a command that passes its limit is ended with all processes of its own, and its output so far is kept', async () => {
    // The background process holds the output: the result comes when it has ended, too.
    const { stdout } = await runsQuietly('echo before; sleep 300 & wait', 1_000);
    expect(JSON.parse(stdout)).toEqual({ code: 137, output: 'before\n\nStill running after 1 s: ended.\n' });
  });

  it('a file in the terminal that passes its limit is ended, and counts as a failure', async () => {
    const endless = join(folder, 'endless.mjs');
    writeFileSync(endless, 'setInterval(() => undefined, 1_000);');
    const { stdout, stderr } = await runModule(`
      import { runShown } from ${urlOf('checks.mjs')};
      console.log(JSON.stringify(await runShown(${JSON.stringify(endless)}, [], 500)));
    `);
    expect(JSON.parse(stdout)).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(stderr).toContain('still runs after 0.5 s: ended.');
  });

  it('a command that ends within its limit keeps its exit code', async () => {
    expect(JSON.parse((await runsQuietly('echo done; exit 3', 60_000)).stdout)).toEqual({ code: 3, output: 'done\n' });
  });
});

describe('the lock between processes', () => {
  const lockFile = () => join(folder, '.lock');
  const logFile = () => join(folder, 'log');

  const holdLock = () =>
    runModule(`
      import { appendFileSync } from 'node:fs';
      import { setTimeout as delay } from 'node:timers/promises';
      import { withLock } from ${urlOf('lock.mjs')};
      const log = (text) => appendFileSync(${JSON.stringify(logFile())}, text);
      await withLock(${JSON.stringify(lockFile())}, async () => { log('<'); await delay(20); log('>'); });
    `);

  it('the lock admits one process at a time, and is gone afterwards', async () => {
    const ends = await Promise.all(Array.from({ length: 6 }, holdLock));
    expect(ends.map((end) => end.code)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(readFileSync(logFile(), 'utf8')).toBe('<>'.repeat(6));
    expect(existsSync(lockFile())).toBe(false);
  });

  it('the lock is taken over from a dead process, by one process at a time', async () => {
    const dead = await runModule('console.log(process.pid)');
    writeFileSync(lockFile(), dead.stdout.trim());
    await Promise.all(Array.from({ length: 4 }, holdLock));
    expect(readFileSync(logFile(), 'utf8')).toBe('<>'.repeat(4));
    expect(existsSync(lockFile())).toBe(false);
  });

  it('the lock is released when the work fails', async () => {
    const end = await runModule(`
      import { withLock } from ${urlOf('lock.mjs')};
      await withLock(${JSON.stringify(lockFile())}, async () => { throw new Error('broken work'); });
    `);
    expect(end.stderr).toContain('broken work');
    expect(existsSync(lockFile())).toBe(false);
  });
});

describe('what is up to date', () => {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const evaluate = async (expression: string): Promise<unknown> => {
    const call = `import * as freshness from ${urlOf('freshness.mjs')};
      const root = ${JSON.stringify(folder)};
      console.log(JSON.stringify(${expression} ?? null));`;
    return JSON.parse((await runModule(call)).stdout);
  };
  const isBuilt = () => evaluate('freshness.isBuilt(root)');
  const stampBuild = () => evaluate(`freshness.writeStamp(root, 'build', freshness.buildState(root))`);
  const packages = (version: string) => ({
    packages: { '': {}, 'node_modules/a': { version, integrity: 'sha512-x' } },
  });

  beforeEach(() => {
    write('package-lock.json', JSON.stringify(packages('1.0.0')));
    write('infra/build/tsconfig.json', JSON.stringify({ references: [{ path: '../../packages/a' }] }));
    write('packages/a/src/index.ts', 'export const a = 1;');
    write('packages/a/src/index.test.ts', 'it');
    write('packages/a/dist/index.js', '');
    write('test/dist/isochron/main.js', '');
  });

  it('a project is up to date after a build, and not when a source changed', async () => {
    expect(await isBuilt()).toBe(false);
    await stampBuild();
    expect(await isBuilt()).toBe(true);
    utimesSync(join(folder, 'packages/a/src/index.ts'), 1, 1);
    expect(await isBuilt()).toBe(false);
  });

  it('a project is up to date when only a test changed', async () => {
    await stampBuild();
    write('packages/a/src/index.test.ts', 'it is longer');
    expect(await isBuilt()).toBe(true);
  });

  it.each(['packages/a/dist', 'test/dist/isochron'])('a project is not up to date without %s', async (output) => {
    await stampBuild();
    rmSync(join(folder, output), { recursive: true });
    expect(await isBuilt()).toBe(false);
  });

  it('an install is up to date as long as the lock file is the same', async () => {
    expect(await evaluate('freshness.isInstalled(root)')).toBe(false);
    await evaluate(`freshness.writeStamp(root, 'install', freshness.installState(root))`);
    expect(await evaluate('freshness.isInstalled(root)')).toBe(true);
    write('package-lock.json', JSON.stringify(packages('1.0.1')));
    expect(await evaluate('freshness.isInstalled(root)')).toBe(false);
  });

  it.each([
    ['1.0.0', true],
    ['0.9.0', false],
  ])('an install by hand counts only with the versions of the lock file: %s', async (version, accepted) => {
    const { '': _root, ...installed } = packages(version).packages;
    write('node_modules/.package-lock.json', JSON.stringify({ packages: installed }));
    expect(await evaluate('freshness.isInstalled(root)')).toBe(accepted);
  });
});

describe('the commands', () => {
  const main = (version: string, body: string) =>
    runModule(`
      import { runMain } from ${urlOf('node-version.mjs')};
      Object.defineProperty(process, 'versions', { value: { node: '${version}' } });
      runMain(async () => { ${body} });
    `);

  it('a command prints in one line what to do when Node is too old', async () => {
    const end = await main('18.20.1', `console.log('must not run'); return 0;`);
    expect(end).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Isochron needs Node 20 .*18\.20\.1.*\n$/),
    });
  });

  it('a command returns the exit code of its child process', async () => {
    expect(await main('20.0.0', 'return 7;')).toMatchObject({ code: 7, stderr: '' });
  });

  it('a command prints an error in one line', async () => {
    expect(await main('24.1.0', `throw new Error('no space left');`)).toMatchObject({
      code: 1,
      stderr: 'no space left\n',
    });
  });

  it('a command passes a signal on once and waits for the child', async () => {
    const child = `
      let signals = 0;
      const end = () => process.exit(10 + signals);
      process.on('SIGTERM', () => { signals += 1; process.stdout.write('got'); setTimeout(end, 300); });
      process.stdout.write('ready');
      setInterval(() => {}, 1000);
    `;
    const script = `
      import { runInForeground } from ${urlOf('child.mjs')};
      process.exitCode = await runInForeground(process.execPath, ['-e', ${JSON.stringify(child)}], {});
    `;
    const end = await runModule(script, (running) => running.kill('SIGTERM'));
    expect(end).toMatchObject({ code: 11, stdout: 'readygot' });
  });
});
