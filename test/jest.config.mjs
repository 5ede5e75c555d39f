// Tests run from the sources: swc compiles each file, workspace packages resolve to their src folders.
const packages = 'core|protocols|storage|wire|transport|checker|workload|sim|simulated-world|testing|sessions|client';

export default {
  rootDir: '..',
  // Times never decide a test: the first run compiles every source that a test imports.
  testTimeout: 60_000,
  testMatch: ['<rootDir>/{packages,server,sdk-js,examples,test}/**/*.test.ts'],
  testSequencer: '<rootDir>/test/jest-sequencer.mjs',
  modulePathIgnorePatterns: ['/dist/'],
  // Test files run in a context where a global is slow to look up. Each module gets these once: no global
  // that a test replaces may stand here (`test/fuzz/allocations.ts` replaces Array, Uint8Array and Buffer).
  sandboxInjectedGlobals: ['Math', 'Number', 'Object', 'String'],
  // Packages that are ES modules alone, which Jest cannot load as such.
  transformIgnorePatterns: ['/node_modules/(?!jose/|@marcbachmann/cel-js/)'],
  transform: {
    '\\.ts$|/node_modules/(?:jose/.*|@marcbachmann/cel-js/lib/.*)\\.js$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  moduleNameMapper: {
    [`^@isochron/(${packages})$`]: '<rootDir>/packages/$1/src/index.ts',
    [`^@isochron/(${packages})/(.*)$`]: '<rootDir>/packages/$1/src/$2.ts',
    '^@isochron/sdk$': '<rootDir>/sdk-js/src/index.ts',
    '^@isochron/sdk/(.*)$': '<rootDir>/sdk-js/src/$1.ts',
    '^@isochron/server$': '<rootDir>/server/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
};
