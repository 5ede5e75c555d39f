// `npm run pack:sdk`: makes the npm package of the TypeScript SDK in the folder of its argument, and prints the path of
// the tarball.
//
// In the repository the SDK is many modules of several packages. It is published as one package without dependencies:
// its code in one bundle for each module system, its types in one file for each entry point.

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

const sdk = join(dirname(fileURLToPath(import.meta.url)), '..');
const root = join(sdk, '..');
/** Entry points by the name of their file. */
const ENTRIES = ['index', 'msgpack', 'react'];
/** Fields of the repository's manifest that the package keeps. */
const KEPT = ['name', 'version', 'description', 'license', 'type', 'sideEffects', 'engines'];
const KEPT_TOO = ['peerDependencies', 'peerDependenciesMeta'];
/** `await using` needs it; the bundler of types drops it. */
const LIBRARY = '/// <reference lib="esnext.disposable" preserve="true" />';

const built = (file) => join(sdk, 'dist', file);
/** An entry point keeps the directive of its file: the bundler cannot know that, and warns. */
const onLog = (level, log, report) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && report(level, log);
/** React is a peer dependency: an application has one copy of it. */
const common = { cwd: root, platform: 'neutral', external: ['react'], checks: { pluginTimings: false }, onLog };

/** For bundlers, browsers and `import`: files that are fetched on demand. */
async function writeModules(dir) {
  const input = Object.fromEntries(ENTRIES.map((name) => [name, built(`${name}.js`)]));
  const bundle = await rolldown({ ...common, input });
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
  await bundle.close();
}

/** For `require`: one file for each entry point. */
async function writeCommonJs(dir, name) {
  const bundle = await rolldown({ ...common, input: { [name]: built(`${name}.js`) } });
  await bundle.write({ dir, format: 'cjs', entryFileNames: '[name].cjs', codeSplitting: false });
  await bundle.close();
}

/** Other entry points take the types of the main one from it: a class has to be the same in both. */
const ofIndex = {
  name: 'of-index',
  resolveId: (id) => (id === '../index.js' ? { id: './index.js', external: true } : undefined),
};

/** The same types for both module systems: a compiler infers the system from the file's name. */
async function writeTypes(dir, name) {
  const types = dts({ dtsInput: true, emitDtsOnly: true, tsconfig: false, resolver: 'oxc' });
  const bundle = await rolldown({ ...common, input: { [name]: built(`${name}.d.ts`) }, plugins: [ofIndex, types] });
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].ts' });
  await bundle.close();
  const text = await readFile(join(dir, `${name}.d.ts`), 'utf8');
  await writeFile(join(dir, `${name}.d.ts`), `${LIBRARY}\n${text}`);
  const forRequire = text.replace(/(["'])\.\/index\.js\1/g, "'./index.cjs'");
  await writeFile(join(dir, `${name}.d.cts`), `${LIBRARY}\n${forRequire}`);
}

const entry = (name) => ({
  import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
  require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
});

/** The manifest of the package: `main`, `types` and `typesVersions` are for compilers without support of `exports`. */
function manifest(own) {
  const kept = (names) => Object.fromEntries(names.map((name) => [name, own[name]]));
  const others = ENTRIES.filter((name) => name !== 'index');
  return {
    ...kept(KEPT),
    main: './dist/index.cjs',
    types: './dist/index.d.cts',
    typesVersions: { '*': Object.fromEntries(others.map((name) => [name, [`./dist/${name}.d.cts`]])) },
    exports: {
      '.': entry('index'),
      ...Object.fromEntries(others.map((name) => [`./${name}`, entry(name)])),
      './package.json': './package.json',
    },
    files: ['dist'],
    ...kept(KEPT_TOO),
  };
}

/** Packs a folder with npm. @returns {Promise<string>} the path of the tarball */
async function pack(folder, destination) {
  const args = ['pack', '--json', '--loglevel=error', '--pack-destination', destination];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: folder });
  return join(destination, JSON.parse(stdout)[0].filename);
}

const destination = resolve(process.argv[2] ?? '.');
const folder = await mkdtemp(join(tmpdir(), 'isochron-pack-'));
try {
  await mkdir(destination, { recursive: true });
  const dist = join(folder, 'dist');
  await writeModules(dist);
  for (const name of ENTRIES) {
    await writeCommonJs(dist, name);
    await writeTypes(dist, name);
  }
  const own = JSON.parse(await readFile(join(sdk, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest(own), null, 2)}\n`);
  await cp(join(sdk, 'README.md'), join(folder, 'README.md'));
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  console.log(await pack(folder, destination));
} finally {
  await rm(folder, { recursive: true, force: true });
}
