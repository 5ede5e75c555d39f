import { fileURLToPath } from 'node:url';

/** The repository's root, seen from the compiled file. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
