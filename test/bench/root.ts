import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root, seen from the compiled file. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The compiled files of the benchmarks in a built repository. */
export const benchFolder = (build: string): string => join(build, 'test/dist/bench');

/** The compiled command line in a built repository. */
export const commandLine = (build: string): string => join(build, 'server/dist/cli/main.js');
