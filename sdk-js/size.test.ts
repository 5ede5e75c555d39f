import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';

const root = join(__dirname, '..');

/** Bundles from the sources, so that no build is needed first. */
const sources: Plugin = {
  name: 'sources',
  setup({ onResolve }) {
    onResolve({ filter: /^@isochron\/(core|protocols|wire)(\/.*)?$/ }, ({ path }) => {
      const [, name, ...rest] = path.split('/');
      return { path: join(root, 'packages', name!, 'src', `${rest.join('/') || 'index'}.ts`), sideEffects: false };
    });
    onResolve({ filter: /^\.{1,2}\/.*\.js$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace(/\.js$/, '.ts')),
      sideEffects: false,
    }));
  },
};

/** Size, inputs and outer imports of what a browser application gets that has this line in it. */
async function bundle(
  contents: string,
): Promise<{ gzipBytes: number; bytes: number; inputs: string[]; imports: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: join(__dirname, 'src'), loader: 'ts' },
    bundle: true,
    write: false,
    minify: true,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    plugins: [sources],
  });
  const code = outputFiles[0]!.text;
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const inputs = used.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  return { gzipBytes: gzipSync(code, { level: 9 }).length, bytes: code.length, inputs, imports };
}

describe('the bundle for browsers', () => {
  it('is at most 20 KB gzip, and has nothing of Node and no MessagePack in it', async () => {
    const { gzipBytes, bytes, inputs, imports } = await bundle("export * from './index.js';");
    console.info(`@isochron/sdk: ${gzipBytes} bytes gzip, ${bytes} minified`);
    expect(gzipBytes).toBeLessThanOrEqual(20 * 1024);
    expect(imports).toEqual([]);
    expect(inputs.filter((path) => /node_modules|msgpack|packages\/wire/.test(path))).toEqual([]);
  });

  it('leaves the client out of a program that only looks at errors', async () => {
    const { gzipBytes, inputs } = await bundle("export { isIsochronError } from './index.js';");
    expect(gzipBytes).toBeLessThanOrEqual(3 * 1024);
    expect(inputs.filter((path) => /transport|session|api/.test(path))).toEqual([]);
  });
});
