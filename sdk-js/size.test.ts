import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';

const root = join(__dirname, '..');

/** Bundles from the sources, so that no build is needed first. */
const sources: Plugin = {
  name: 'sources',
  setup({ onResolve }) {
    onResolve({ filter: /^@isochron\/(core|protocols|wire|client)(\/.*)?$/ }, ({ path }) => {
      const [, name, ...rest] = path.split('/');
      return { path: join(root, 'packages', name!, 'src', `${rest.join('/') || 'index'}.ts`), sideEffects: false };
    });
    onResolve({ filter: /^\.{1,2}\/.*\.js$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace(/\.js$/, '.ts')),
      sideEffects: false,
    }));
  },
};

/** The files of an application with this code, which are not written. `outdir` is in their paths. */
const bundled = (contents: string, outdir: string) =>
  build({
    stdin: { contents, resolveDir: join(__dirname, 'src'), loader: 'ts' },
    bundle: true,
    splitting: true,
    write: false,
    outdir,
    minify: true,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    plugins: [sources],
  });

interface Bundle {
  readonly gzipBytes: number;
  readonly bytes: number;
  /** Its sources. */
  readonly inputs: string[];
  /** Its imports from outside. */
  readonly imports: string[];
}

/**
 * The bundle of a browser application with this line: the file that it loads, all files that this one imports at once,
 * and those whose source matches `also`, which it fetches later.
 */
async function bundle(contents: string, also?: RegExp): Promise<Bundle> {
  const { outputFiles, metafile } = await bundled(contents, '/bundle');
  const outputs = new Map(Object.entries(metafile.outputs));
  const isLoaded = (entryPoint: string): boolean => entryPoint.endsWith('<stdin>') || also?.test(entryPoint) === true;
  const loaded = new Set([...outputs].flatMap(([name, { entryPoint }]) => (isLoaded(entryPoint ?? '') ? [name] : [])));
  for (const name of loaded) {
    for (const { path, kind } of outputs.get(name)!.imports) if (kind === 'import-statement') loaded.add(path);
  }
  const chunks = [...loaded].map((name) => outputs.get(name)!);
  const codes = outputFiles.filter(({ path }) => [...loaded].some((name) => path.endsWith(name.split('/').at(-1)!)));
  const used = chunks.flatMap(({ inputs }) => Object.entries(inputs));
  return {
    gzipBytes: codes.reduce((sum, { contents: code }) => sum + gzipSync(code, { level: 9 }).length, 0),
    bytes: codes.reduce((sum, { contents: code }) => sum + code.length, 0),
    inputs: used.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path),
    imports: chunks.flatMap(({ imports }) => imports.filter(({ external }) => external).map(({ path }) => path)),
  };
}

/** Of the code between nodes, a client has the declarations of session frames alone. */
const FOREIGN = /node_modules|msgpack|packages\/wire\/src\/(?!session-frames\/)/;

/** Files that `connect` needs for these options. */
const PARTS = ['auth-', 'homing-', 'imported-'];
const CONNECT = `
import { connect } from './index.js';
const options = { endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'], session: 'none', auth: () => 'key' };
globalThis.WebSocket = class {};
connect({ ...options, WebSocket: globalThis.WebSocket })
  .catch(({ code }) => console.log(code))
  .finally(() => process.exit(0));
`;
/** Imports files that are asked for by name, once all of them are asked for. @param paris the file of this protocol */
const heldImport = (paris: string): string => `
const names = ${JSON.stringify([...PARTS, paris])};
const asked = new Set();
let open;
const all = new Promise((resolve) => { open = resolve; });
globalThis.heldImport = async (url) => {
  const name = names.find((one) => url.startsWith('./' + one));
  if (name !== undefined && asked.add(name).size === names.length) open();
  if (name !== undefined) await all;
  return import(url);
};
// A wait for files does not keep a process alive.
setTimeout(() => {}, 20_000);
`;

describe('the bundle for browsers', () => {
  it('all files that connect needs are fetched at the same time', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'isochron-parts-'));
    try {
      const { outputFiles } = await bundled(CONNECT, folder);
      const exportsParis = /export\{[^}]*parisSession[^}]*\}/;
      const paris = outputFiles
        .find(({ text }) => exportsParis.test(text))!
        .path.split('/')
        .at(-1)!;
      for (const { path, text } of outputFiles) {
        const held = text.replaceAll('import("', 'globalThis.heldImport("').replaceAll('.js"', '.mjs"');
        await writeFile(path.replace(/\.js$/, '.mjs'), held);
      }
      await writeFile(join(folder, 'held.mjs'), heldImport(paris.replace(/\.js$/, '')));
      const args = ['--import', './held.mjs', './stdin.mjs'];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 30_000 });
      expect(stdout).toBe('TOKEN_INVALID\n');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("the browser bundle is at most 30 KB gzip with the session of PaRiS, without Node's modules and MessagePack", async () => {
    const { gzipBytes, bytes, inputs, imports } = await bundle("export * from './index.js';", /paris\/session/);
    console.info(`@isochron/sdk: ${gzipBytes} bytes gzip, ${bytes} minified`);
    expect(gzipBytes).toBeLessThanOrEqual(30 * 1024);
    expect(imports).toEqual([]);
    expect(inputs.filter((path) => FOREIGN.test(path))).toEqual([]);
  });

  it('the browser bundle has the session of one protocol in it, whichever that is', async () => {
    const isOfOne = (path: string) => path !== 'kernel/transactions/session';
    const sessionsIn = ({ inputs }: Bundle) =>
      inputs.flatMap((path) => /protocols\/src\/(.*\bsession)\.ts$/.exec(path)?.[1] ?? []).filter(isOfOne);
    const whole = "export * from './index.js';";
    expect(sessionsIn(await bundle(whole))).toEqual([]);
    const folders = ['paris', 'bpr', 'nocc', 'wren'].map((protocol) => `${protocol}/session`);
    for (const session of [...folders, 'kernel/transactions/vector-session']) {
      const only = new RegExp(`protocols/src/${session}`);
      expect(sessionsIn(await bundle(whole, only))).toEqual([session]);
    }
  });

  it('the browser bundle has the client of single operations in it only where the cluster has them', async () => {
    const ofOperations = ({ inputs }: Bundle) =>
      inputs.filter((path) => /(kernel|session)\/operations|operation-(frames|answers)/.test(path));
    const whole = "export * from './index.js';";
    expect(ofOperations(await bundle(whole, /paris\/session/))).toEqual([]);
    expect(ofOperations(await bundle(whole, /session\/operations/))).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/protocols\/src\/kernel\/operations\/session/),
        expect.stringMatching(/session\/operations/),
      ]),
    );
  });

  it('the browser bundle leaves the client out of a program that only uses errors', async () => {
    const { gzipBytes, inputs } = await bundle("export { isIsochronError } from './index.js';");
    expect(gzipBytes).toBeLessThanOrEqual(3 * 1024);
    expect(inputs.filter((path) => /\/(link|session|api)\/|machine|driver/.test(path))).toEqual([]);
  });
});
