/** The code of the documentation, run unchanged against a cluster: see `test/tidy/pages.ts` for the kinds of blocks. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { type CodeBlock, codeBlocks } from '../tidy/pages.js';
import { Repository } from '../tidy/repository.js';
import { Cluster, cleanUp, logged } from './harness.js';
import { freePortBase } from './ports.js';
import { BUILT_ISOCHRON, Child, isochron, ROOT, run } from './processes.js';
import { until } from './until.js';

jest.setTimeout(60_000);

const repository = new Repository(ROOT);
const blocks = repository.paths
  .filter((path) => path.endsWith('.md'))
  .flatMap((path) => codeBlocks(path, repository.read(path)));
/** The blocks of a kind, each behind the name of its test. */
const blocksOf = (kind: string): [string, CodeBlock][] =>
  blocks.filter((block) => block.kind === kind).map((block) => [`${block.path}:${block.line}`, block]);

/** The ports of the nodes of `npm start`. */
const DEFAULT_PORTS = [7101, 7102, 7103];
/** API, peering and metrics of three nodes that `isochron dev` starts. */
const OFFSETS = [0, 1, 2, 100, 101, 102, 200, 201, 202];
/** Packages that a page may import, by folder. */
const PACKAGES = { sdk: 'sdk-js', core: 'packages/core', checker: 'packages/checker' };

/** Renders the component of a page for a client of the cluster. */
const RENDER = `
import { connect } from '@isochron/sdk';
import { IsochronProvider } from '@isochron/sdk/react';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { App } from './app.js';

const client = await connect({ endpoints: ['http://127.0.0.1:7101'] });
console.log(renderToString(createElement(IsochronProvider, { client }, createElement(App))));
await client.close();
`;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
});
afterAll(cleanUp);

/** The code with the ports of this test's cluster. */
function here(code: string): string {
  const ports = new Map(DEFAULT_PORTS.map((port, i) => [String(port), new URL(cluster.endpoints()[i]!).port]));
  return code.replace(/127\.0\.0\.1:(\d+)/g, (whole, port: string) =>
    ports.has(port) ? `127.0.0.1:${ports.get(port)}` : whole,
  );
}

/** The project of an app with the installed packages. */
function project(): string {
  const folder = mkdtempSync(join(cluster.folder, 'app-'));
  mkdirSync(join(folder, 'node_modules/@isochron'), { recursive: true });
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
  for (const [name, path] of Object.entries(PACKAGES))
    symlinkSync(join(ROOT, path), join(folder, 'node_modules/@isochron', name));
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return folder;
}

/** The output that a block announces in comments; undefined if it announces none. */
function expectedOutput({ code }: CodeBlock): string[] | undefined {
  const lines = [...code.matchAll(/(?:\/\/|#) prints: (.*)$/gm)].map(([, text]) => text!);
  return lines.length === 0 ? undefined : lines;
}

/** Fails unless the output is the announced one. */
function expectOutput(block: CodeBlock, stdout: string): void {
  const expected = expectedOutput(block);
  if (expected !== undefined) expect(stdout.trimEnd().split('\n')).toEqual(expected);
}

describe('the pages', () => {
  it("the README shows the code of the Swift SDK's documentation in both languages", () => {
    const page = readFileSync(join(ROOT, 'sdk-swift/Sources/Isochron/Isochron.docc/Isochron.md'), 'utf8');
    const [example] = blocks.filter(({ path, kind }) => path === 'README.md' && kind === 'run');
    expect(page).toContain(`\`\`\`ts\n${example!.code}\n\`\`\``);
  });

  it.each(blocksOf('run'))('the code of a page runs unchanged, and prints the announced output: %s', (_name, block) =>
    logged(async () => {
      const folder = project();
      const { code: script } = await transform(here(block.code), { loader: 'ts', format: 'esm', target: 'node20' });
      writeFileSync(join(folder, 'example.js'), script);
      const result = await run(process.execPath, ['example.js'], { cwd: folder });
      expect(result).toMatchObject({ code: 0, stderr: '' });
      expectOutput(block, result.stdout);
    })(),
  );

  it.each(blocksOf('run'))('a strict compiler accepts the code of a page: %s', async (_name, block) => {
    const folder = project();
    writeFileSync(join(folder, 'example.ts'), block.code);
    const options = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck'];
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const result = await run(process.execPath, [tsc, ...options, '--types', 'node', 'example.ts'], { cwd: folder });
    expect(result).toMatchObject({ code: 0, stdout: '' });
  });

  it.each(blocksOf('react'))('the component of a page renders, and a strict compiler accepts it: %s', (_name, block) =>
    logged(async () => {
      const folder = project();
      for (const name of ['react', 'react-dom', '@types/react', 'csstype'])
        symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
      const options = { loader: 'tsx', jsx: 'automatic', format: 'esm', target: 'node20' } as const;
      writeFileSync(join(folder, 'app.js'), (await transform(block.code, options)).code);
      writeFileSync(join(folder, 'example.js'), here(RENDER));
      const result = await run(process.execPath, ['example.js'], { cwd: folder });
      expect(result).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('<p>Loading') });
      writeFileSync(join(folder, 'app.tsx'), block.code);
      const strict = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck'];
      const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), ...strict, '--jsx', 'react-jsx', 'app.tsx'];
      expect(await run(process.execPath, args, { cwd: folder })).toMatchObject({ code: 0, stdout: '' });
    })(),
  );

  it.each(blocksOf('rules'))('the cases of the access rules of a page pass: %s', async (_name, { code }) => {
    const file = join(mkdtempSync(join(cluster.folder, 'rules-')), 'rules.yaml');
    writeFileSync(file, code);
    expect(await isochron(['rules', 'test', file])).toMatchObject({ code: 0, stderr: '' });
    expect(await isochron(['rules', 'test', file, '--json'])).toMatchObject({ code: 0, stderr: '' });
  });

  it.each(blocksOf('curl'))('the last command of a page soon shows what the first one wrote: %s', (_name, { code }) =>
    logged(async () => {
      const script = here(code);
      expect(await run('bash', ['--norc', '-euo', 'pipefail', '-c', script])).toMatchObject({ code: 0 });
      const written = /-d '([^']+)'/.exec(code)![1]!;
      const last = script.trim().split('\n').at(-1)!;
      await until('the other region shows it', async () => {
        const { stdout } = await run('bash', ['-c', last]);
        return stdout === written;
      });
    })(),
  );

  it.each(blocksOf('http'))('the requests of a page succeed, and give the announced answers: %s', (_name, block) =>
    logged(async () => {
      const curl = `curl() { command curl -sS --fail-with-body "$@"; }\n`;
      const result = await run('bash', ['--norc', '-euo', 'pipefail', '-c', curl + here(block.code)], {
        cwd: cluster.folder,
      });
      expect(result).toMatchObject({ code: 0, stderr: '' });
      expectOutput(block, result.stdout);
    })(),
  );

  /** Runs the commands of a block one after the other. Each has to end with this exit code. */
  async function runs({ code: commands }: CodeBlock, code: number): Promise<void> {
    const cwd = mkdtempSync(join(cluster.folder, 'shell-'));
    for (const line of commands.split('\n')) {
      const args = /^npm run -s isochron -- (.+)$/.exec(line.replace(/\s+#.*$/, ''))?.[1];
      if (args === undefined) throw new Error(`not a call of the command line: ${line}`);
      const env = { ISOCHRON_ENDPOINT: cluster.endpoint('virginia') };
      expect([line, await isochron(args.split(' '), { cwd, env })]).toMatchObject([line, { code }]);
    }
  }

  it.each(blocksOf('cli'))('the commands of a page succeed: %s', (_name, block) => logged(() => runs(block, 0))());

  it.each(blocksOf('refused'))(
    'a command of a page that gives up data is refused by a healthy cluster: %s',
    (_name, block) => logged(() => runs(block, 1))(),
  );

  it.each(blocksOf('start'))('the commands of a page start a cluster: %s', async (_name, { code }) => {
    const args = /^npm start(?: -- (?<args>.+))?$/.exec(code)?.groups?.args?.split(' ') ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'isochron-pages-'));
    // The last value of an option counts.
    const place = ['--data', join(folder, 'data'), '--port-base', `${await freePortBase(OFFSETS)}`];
    const dev = new Child(process.execPath, [BUILT_ISOCHRON, 'dev', ...args, ...place], { channel: true });
    const explain = () => `${dev.stdout}${dev.stderr}`;
    try {
      const isUp = () => dev.exit ?? /\n$/.test(dev.stdout);
      expect(await until('the cluster runs', isUp, { timeoutMs: 40_000, explain })).toBe(true);
      expect(await dev.kill('SIGINT')).toEqual({ code: 0, signal: null });
    } finally {
      await dev.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
