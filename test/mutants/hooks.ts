/** Hooks of Node's module loader that replace the source of some modules. Runs in the loader's thread. */
import type { InitializeHook, LoadHook } from 'node:module';
import type { Replacements } from './test-build.js';

let replacements: Replacements = new Map();

export const initialize: InitializeHook<Replacements> = (data) => {
  replacements = data;
};

export const load: LoadHook = (url, context, nextLoad) => {
  const source = replacements.get(url);
  return source === undefined ? nextLoad(url, context) : { format: 'module', shortCircuit: true, source };
};
