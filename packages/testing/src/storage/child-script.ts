/** Programs of tests that run as processes of their own, from the sources that the tests run. */
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const ROOT = resolve(__dirname, '../../../..');

/** Where a program finds the native packages. */
export const CHILD_ENV = { ...process.env, NODE_PATH: join(ROOT, 'node_modules') };

/** Bundles a program of `packages/testing/src/storage` into a file of a folder. */
export async function childScript(source: string, folder: string): Promise<string> {
  const outfile = join(folder, 'child.cjs');
  await build({
    entryPoints: [join(ROOT, 'packages/testing/src/storage', source)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['classic-level', 'msgpackr'],
    alias: {
      '@isochron/core': join(ROOT, 'packages/core/src'),
      '@isochron/storage': join(ROOT, 'packages/storage/src'),
    },
  });
  return outfile;
}
