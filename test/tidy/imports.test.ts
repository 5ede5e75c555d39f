import { join } from 'node:path';
import { directionFindings, undeclaredFindings, workspaceOf } from './imports.js';
import { dependenciesOf } from './layout.js';
import { isTest, Repository } from './repository.js';
import { parseSource } from './source.js';

const repository = new Repository(join(__dirname, '../..'));
const product = repository.sources
  .filter((path) => !isTest(path))
  .map((path) => parseSource(path, repository.read(path)));

const findings = (path: string, text: string) => directionFindings(parseSource(path, text));

describe('import directions', () => {
  it('imports follow the map of the architecture in every source', () => {
    expect(product.length).toBeGreaterThan(20);
    expect(product.flatMap(directionFindings)).toEqual([]);
  });

  it.each([
    [
      'packages/core/src/a.ts',
      `import { x } from '@isochron/protocols';`,
      'packages/core must not import packages/protocols',
    ],
    ['packages/core/src/a.ts', `import fs from 'node:fs';`, 'packages/core must not import node:fs'],
    ['packages/protocols/src/a.ts', `import { x } from 'msgpackr';`, 'packages/protocols must not import msgpackr'],
    ['packages/protocols/src/a.ts', `export * from '@isochron/storage';`, 'must not import packages/storage'],
    [
      'packages/checker/src/a.ts',
      `import type { X } from '@isochron/protocols/machine';`,
      'must not import packages/protocols',
    ],
    ['packages/wire/src/a.ts', `const x = await import('@isochron/server');`, 'packages/wire must not import server'],
    ['packages/wire/src/a.ts', `let x: import('@isochron/test').X;`, 'packages/wire must not import test'],
    ['server/src/a.ts', `import { x } from '@isochron/example-cities';`, 'server must not import examples'],
    ['sdk-js/src/a.ts', `export { x } from '@isochron/server';`, 'sdk-js must not import server'],
    ['server/src/a.ts', `import { x } from '../../packages/core/src/ids.js';`, 'leaves server by the path'],
    ['infra/dev/a.mjs', `import { x } from '../../packages/core/dist/ids.js';`, 'leaves infra by the path'],
    [
      'packages/protocols/src/wren/a.ts',
      `import { x } from '../paris/messages.js';`,
      'the protocol folder wren must not import paris',
    ],
    [
      'packages/protocols/src/kernel/a.ts',
      `import { x } from '../paris/messages.js';`,
      'the protocol folder kernel must not import paris',
    ],
    [
      'packages/protocols/src/paris/a.ts',
      `import { x } from '@isochron/testing/world/world';`,
      'packages/protocols must not import packages/testing',
    ],
    ['server/src/a.ts', `import { x } from '@isochron/testing/samples';`, 'server must not import packages/testing'],
    ['sdk-js/src/a.ts', `import { x } from '@isochron/testing/nodes/memory-node';`, 'must not import packages/testing'],
    ['packages/nowhere/src/a.ts', '', 'is not on the map'],
  ])('a forbidden import is found in %s: %s', (path, text, message) => {
    expect(findings(path, text)).toEqual([expect.stringContaining(message)]);
  });

  it.each([
    ['packages/protocols/src/paris/a.ts', `import { x } from '../kernel/hlc.js'; import { y } from '../machine.js';`],
    ['packages/testing/src/world/a.ts', `import { x } from '@isochron/protocols/paris/messages';`],
    ['packages/transport/src/a.ts', `import { x } from '@isochron/wire'; import { WebSocket } from 'ws';`],
    ['sdk-js/src/a.ts', `import { x } from '@isochron/protocols/paris/session';`],
    ['sdk-js/testing/a.ts', `import { x } from '@isochron/testing/nodes/memory-node';`],
    ['test/bench/a.ts', `import { x } from '@isochron/server'; import { y } from './b.js';`],
  ])('an allowed import in %s has no finding: %s', (path, text) => {
    expect(findings(path, text)).toEqual([]);
  });

  it('a finding names the line of the import', () => {
    const text = `#!/usr/bin/env node\n// é\nconst umlaut = 'äöü';\nimport { x } from '@isochron/server';\n`;
    expect(findings('packages/core/src/a.ts', text)).toEqual([
      expect.stringMatching(/^packages\/core\/src\/a\.ts:4: /),
    ]);
  });
});

describe('imported libraries', () => {
  const rootTools = dependenciesOf(JSON.parse(repository.read('package.json')));

  it.each([...repository.workspaces, 'infra'])(
    'the imported libraries of %s are dependencies of its package.json',
    (folder) => {
      const manifest = folder === 'infra' ? {} : JSON.parse(repository.read(`${folder}/package.json`));
      const declared = new Set(Object.keys({ ...dependenciesOf(manifest), ...(folder === 'test' ? rootTools : {}) }));
      const sources = product.filter(({ path }) => (workspaceOf(path) ?? 'infra') === folder);
      expect(sources.flatMap((source) => undeclaredFindings(source, declared))).toEqual([]);
    },
  );

  it.each([
    [`import { pack } from 'msgpackr';`, 'msgpackr'],
    [`import x from '@scope/name/sub/path';`, '@scope/name/sub/path'],
  ])('an undeclared library is found: %s', (text, specifier) => {
    const source = parseSource('packages/wire/src/a.ts', text);
    expect(undeclaredFindings(source, new Set(['@scope/other', 'ws']))).toEqual([expect.stringContaining(specifier)]);
  });
});
