import { join } from 'node:path';
import { PROTOCOL_NAMES } from '@isochron/protocols/session-rules';
import { catalogueFindings, namingFindings, protocolFolders } from './catalogue.js';
import { Repository } from './repository.js';
import { parseSource } from './source.js';

const repository = new Repository(join(__dirname, '../..'));
const protocols = protocolFolders(repository.paths);

const findingsIn = (path: string, text: string) => catalogueFindings(parseSource(path, text), protocols);

test('every protocol of the catalogue has a folder, named as it is without its hyphens', () => {
  expect([...protocols].sort()).toEqual(PROTOCOL_NAMES.map((name) => name.replaceAll('-', '')).sort());
});

test('only the catalogue imports a protocol', () => {
  expect(repository.sources.flatMap((path) => findingsIn(path, repository.read(path)))).toEqual([]);
});

test.each([
  ['packages/testing/src/world/a.ts', `import { okapi } from '@isochron/protocols/okapi/okapi';`],
  ['packages/protocols/src/index.ts', `export { okapi } from './okapi/okapi.js';`],
  ['packages/protocols/src/orbe/a.ts', `import { okapi } from '../okapi/okapi.js';`],
  ['sdk-js/src/a.ts', `const load = () => import('@isochron/protocols/wren/session');`],
])('an import of a protocol elsewhere is found: %s', (path, text) => {
  expect(findingsIn(path, text)).toHaveLength(1);
});

test.each([
  ['packages/protocols/src/catalogue.ts', `import { okapi } from './okapi/okapi.js';`],
  ['packages/protocols/src/okapi/a.ts', `import { okapi } from './okapi.js';`],
  ['packages/protocols/src/wren/a.test.ts', `import { okapi } from '../okapi/okapi.js';`],
  ['sdk-js/src/a.ts', `import { Session } from '@isochron/protocols/kernel/transactions/session';`],
])('the catalogue, the protocol itself and tests may import it: %s', (path, text) => {
  expect(findingsIn(path, text)).toEqual([]);
});

/** The default protocol, which old exports and data folders mean; and the name of a level of consistency. */
const OTHER_SENSE: ReadonlySet<string> = new Set(['paris', 'eventual']);

test('a protocol is named in its folder, the catalogue, the table of the simulator and that of Swift, and nowhere else', () => {
  const texts = repository.paths
    .filter((path) => /\.(ts|swift)$/.test(path))
    .map((path) => [path, repository.read(path)]);
  const names = PROTOCOL_NAMES.filter((name) => !OTHER_SENSE.has(name));
  expect(names.flatMap((name) => texts.flatMap(([path, text]) => namingFindings(path!, text!, name)))).toEqual([]);
});

test.each([
  ['server/src/a.ts', `const takes = protocol === 'h-cure';`, 1],
  ['sdk-swift/Sources/Isochron/A.swift', 'if name == "h-cure" {', 1],
  ['packages/sim/src/a.ts', `const table = {\n  'h-cure': 1,\n};`, 1],
  ['packages/sim/src/protocols/transactions/table.ts', `'h-cure': {}`, 0],
  ['packages/protocols/src/hcure/a.ts', `name: 'h-cure'`, 0],
  ['server/src/a.test.ts', `protocol('h-cure')`, 0],
  ['server/src/a.ts', '// as `h-cure` does', 0],
])('a source that names a protocol is found: %s', (path, text, count) => {
  expect(namingFindings(path, text, 'h-cure')).toHaveLength(count);
});
