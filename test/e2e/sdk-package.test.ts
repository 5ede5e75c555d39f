/** The package of the SDK, installed in an empty project. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { launchBrowser } from './browser.js';
import { Cluster, cleanUp, logged } from './harness.js';
import { installed } from './installed.js';
import { whenChanged } from './package-checks.js';
import { freePorts } from './ports.js';
import { Child, ROOT, run } from './processes.js';
import { until } from './until.js';

jest.setTimeout(180_000);

/** What decides how tools of others see the package. */
const check = whenChanged('sdk-js', 'package-lock.json', 'test/e2e/sdk-package.test.ts');

let folder: string;
let tarball: string;
let project: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-package-'));
  const packed = await run(process.execPath, ['sdk-js/packaging/pack.mjs', folder], { cwd: ROOT });
  expect(packed).toMatchObject({ code: 0, stderr: '' });
  tarball = packed.stdout.trim();
  project = join(folder, 'app');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"name":"app","version":"1.0.0","private":true,"type":"module"}');
  // Only the tarball: anything else that it needed would have to come from a registry.
  const options = ['--offline', '--no-audit', '--no-fund', '--loglevel=error'];
  expect(await run('npm', ['install', ...options, tarball], { cwd: project })).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

const sdk = (): string => join(project, 'node_modules/@isochron/sdk');
const filesOf = (path: string): string[] => readdirSync(path, { recursive: true }).map(String);
describe('the package of the SDK', () => {
  it('the package installs with its licence, and without other packages or native code', () => {
    expect(readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@isochron']);
    expect(readdirSync(join(project, 'node_modules/@isochron'))).toEqual(['sdk']);
    expect(readFileSync(join(sdk(), 'LICENSE'), 'utf8')).toContain('Apache License');
    expect(filesOf(sdk()).filter((name) => /\.node$|binding\.gyp|node_modules|\.ts\.map$/.test(name))).toEqual([]);
  });

  it('the package contains the sessions of protocols, and no machines of nodes', () => {
    const code = filesOf(sdk()).filter((name) => /\.c?js$/.test(name));
    const sources = code.flatMap((name) =>
      [...readFileSync(join(sdk(), name), 'utf8').matchAll(/^\/\/ ([\w./-]+\.js)$/gm)].map(([, source]) => source!),
    );
    expect(sources).toEqual(
      expect.arrayContaining(['sdk-js/dist/connect.js', 'packages/protocols/dist/paris/session.js']),
    );
    const client =
      /^(?:sdk-js\/dist|packages\/(?:client|core)\/dist|packages\/wire\/dist\/(?:channels|session-frames))\//;
    const session =
      /^packages\/protocols\/dist\/.*(?:sessions?|session-rules|snapshot|vectors|own-commits|write-cache|newer|-matrix)\.js$/;
    expect(sources.filter((source) => !client.test(source) && !session.test(source))).toEqual([]);
  });

  it("the React module is a module of clients, for builds with server components: its directive is the file's first line", () => {
    const beginning = (name: string): string => readFileSync(join(sdk(), 'dist', name), 'utf8').slice(0, 12);
    expect(['react.js', 'react.cjs'].map(beginning)).toEqual(['"use client"', '"use client"']);
    for (const name of ['index.js', 'index.cjs']) expect(beginning(name)).not.toContain('use client');
  });

  check('publint accepts the package', async () => {
    const result = await run(process.execPath, [join(installed('publint'), 'src/cli.js'), 'run', tarball, '--strict']);
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('All good!') });
  });

  check('Are The Types Wrong finds the types in every module resolution', async () => {
    const args = [join(installed('@arethetypeswrong/cli'), 'dist/index.js'), tarball, '--format', 'json'];
    const { code, stdout } = await run(process.execPath, args);
    const { analysis, problems } = JSON.parse(stdout) as {
      readonly analysis: { readonly entrypoints: object; readonly types: object };
      readonly problems: object;
    };
    expect([code, problems]).toEqual([0, {}]);
    expect(analysis.types).toMatchObject({ kind: 'included' });
    expect(Object.keys(analysis.entrypoints)).toEqual(expect.arrayContaining(['.', './msgpack', './react']));
  });
});

const TYPED = `
import { type IsochronClient, connect, isIsochronError } from '@isochron/sdk';
import { msgpack } from '@isochron/sdk/msgpack';

interface Todo { title: string }
async function titles(client: IsochronClient): Promise<string[]> {
  const { result } = await client.transaction(async (tx) => tx.getMany<Todo>(['todos/1', 'todos/2']));
  return result.flatMap((todo) => todo?.title ?? []);
}
const codec = msgpack({ pack: () => new Uint8Array(), unpack: (bytes: Uint8Array): unknown => bytes });
const open = connect({ endpoints: ['http://127.0.0.1:7101'], codec }).catch((error: unknown) => {
  if (isIsochronError(error, 'CONNECTION_LOST')) return undefined;
  throw error;
});
open.then((client) => client && titles(client)).then((all) => all?.map((title) => title.length));
`;
const WRONG = "import { connect } from '@isochron/sdk';\nconnect({ endpoint: 'http://127.0.0.1:7101' });\n";

describe('a compiler', () => {
  const base = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022,dom'];
  const typescript5 = () => join(installed('typescript'), 'bin/tsc');
  const typescript7 = () => join(ROOT, 'node_modules/typescript/bin/tsc');

  check.each([
    ['TypeScript 5, node10', typescript5, ['--module', 'commonjs', '--moduleResolution', 'node10'], 'ts'],
    ['TypeScript 5, node16, import', typescript5, ['--module', 'node16'], 'mts'],
    ['TypeScript 5, node16, require', typescript5, ['--module', 'node16'], 'cts'],
    ['TypeScript 5, bundler', typescript5, ['--module', 'esnext', '--moduleResolution', 'bundler'], 'ts'],
    ['TypeScript 7, nodenext, require', typescript7, ['--module', 'nodenext'], 'cts'],
    ['TypeScript 7, bundler', typescript7, ['--module', 'esnext', '--moduleResolution', 'bundler'], 'ts'],
  ])(
    'a compiler finds and accepts the types, including those of the package: %s',
    async (name, compiler, options, extension) => {
      const compile = async (text: string) => {
        const file = `typed-${name.replace(/\W+/g, '-')}.${extension}`;
        writeFileSync(join(project, file), text);
        return (await run(process.execPath, [compiler(), ...base, ...options, file], { cwd: project })).stdout;
      };
      expect(await compile(TYPED)).toBe('');
      expect(await compile(WRONG)).toContain("'endpoint' does not exist in type 'ConnectOptions'");
    },
  );
});

/** The first steps of an application; resolves to the results. */
const USED = `
async function use(endpoint) {
  const client = await connect({ endpoints: [endpoint] });
  const todos = client.collection('todos');
  await todos.set('1', { title: 'buy milk' });
  const { result } = await client.transaction(async (tx) => {
    const todo = await tx.get('todos/1');
    tx.set('todos/2', { title: 'drink it' });
    return todo.title;
  });
  const titles = [];
  for await (const { key, value } of todos.list()) titles.push(key + ' ' + value.title);
  const refused = await client.set('todos/3', NaN).catch((error) => isIsochronError(error, 'VALUE_INVALID'));
  await client.close();
  return { result, titles, refused };
}
`;
const SEEN = { result: 'buy milk', titles: ['1 buy milk', '2 drink it'], refused: true };

describe('an application', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start({ regions: ['virginia'] });
  });

  it.each([
    ['module', "import { connect, isIsochronError } from '@isochron/sdk';", 'mjs'],
    ['CommonJS', "const { connect, isIsochronError } = require('@isochron/sdk');", 'cjs'],
  ])(
    'an application in Node uses the package as a %s, and gets an error that names the missing WebSocket',
    (_kind, load, extension) =>
      logged(async () => {
        const file = `app.${extension}`;
        const call = `use(process.argv[2]).then((seen) => console.log(JSON.stringify(seen)), (error) => console.log(error.message));`;
        writeFileSync(join(project, file), `${load}\n${USED}\n${call}`);
        const go = () => run(process.execPath, [file, cluster.endpoint('virginia')], { cwd: project });
        if (!('WebSocket' in globalThis)) expect((await go()).stdout).toContain('install the package "ws"');
        const ws = join(project, 'node_modules/ws');
        symlinkSync(join(ROOT, 'node_modules/ws'), ws);
        const { code, stdout, stderr } = await go();
        rmSync(ws);
        expect([code, stderr, JSON.parse(stdout)]).toEqual([0, '', SEEN]);
      })(),
  );

  describe('in a browser', () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await launchBrowser(folder);
      writeFileSync(join(project, 'index.html'), '<!doctype html><script type="module" src="/main.js"></script>');
      const show = 'use(location.hash.slice(1)).then((seen) => { document.title = JSON.stringify(seen); });';
      const load = "import { connect, isIsochronError } from '@isochron/sdk';";
      writeFileSync(join(project, 'main.js'), `${load}\n${USED}\n${show}`);
    });
    afterAll(() => browser.close());

    const vite = (...args: string[]) => [join(installed('vite'), 'bin/vite.js'), ...args];

    /** Serves and opens the project. Returns the results of the application, and the scripts that it fetched. */
    async function visit(args: readonly string[]): Promise<{ seen: unknown; scripts: string[] }> {
      const [port] = await freePorts(1);
      const place = ['--host', '127.0.0.1', '--port', String(port), '--strictPort'];
      const server = new Child(process.execPath, [...vite(...args), ...place], { cwd: project });
      const url = `http://127.0.0.1:${port}/`;
      await until('the page is served', () =>
        fetch(url).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      const page = await browser.newPage();
      const errors: string[] = [];
      const scripts: string[] = [];
      page.on('pageerror', (error) => errors.push(error.message));
      page.on('request', (request) => request.resourceType() === 'script' && scripts.push(request.url()));
      await page.goto(`${url}#${cluster.endpoint('virginia')}`);
      const title = await until('the application has shown what it saw', async () => {
        if (errors.length > 0) throw new Error(`${errors.join('\n')}\n${server.stdout}${server.stderr}`);
        return (await page.title()) || undefined;
      });
      await page.close();
      await server.kill('SIGTERM');
      return { seen: JSON.parse(title), scripts };
    }

    check('a page bundled by Vite uses the package, and fetches the session of one protocol only', () =>
      logged(async () => {
        const built = await run(process.execPath, vite('build'), { cwd: project });
        expect(built).toMatchObject({ code: 0 });
        expect(built.stdout + built.stderr).not.toMatch(/warn|externalized/i);
        const { seen, scripts } = await visit(['preview']);
        expect(seen).toEqual(SEEN);
        const chunks = filesOf(join(project, 'dist/assets')).filter((name) => name.startsWith('session-'));
        expect(chunks.length).toBeGreaterThan(5);
        expect(scripts.length).toBeLessThan(chunks.length);
      })(),
    );

    check('a page served by Vite in development uses the package', () =>
      logged(async () => {
        expect((await visit([])).seen).toEqual(SEEN);
      })(),
    );
  });
});
