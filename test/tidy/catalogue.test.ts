import { join } from 'node:path';
import { PROTOCOL_NAMES } from '@isochron/protocols/session-rules';
import { catalogueFindings, protocolFolders } from './catalogue.js';
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
  ['packages/testing/src/protocols/a.ts', `import { okapi } from '@isochron/protocols/okapi/okapi';`],
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
