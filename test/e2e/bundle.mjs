// Makes one bundle of the built command line, for the tests: a node of the bundle is ready in half the CPU time.

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const outdir = join(root, 'test/dist/isochron');

rmSync(outdir, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: ['server/dist/cli/main.js'],
  outdir,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Commands, protocols and the parts of the SDK stay files of their own, which are loaded when they are needed.
  splitting: true,
  minifyWhitespace: true,
  // Packages with native code, and a package that serves its own files.
  external: ['classic-level', 'msgpackr', '@fastify/swagger-ui'],
  // CommonJS packages load the modules of Node by `require`, which an ES module does not have.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  logLevel: 'warning',
});
