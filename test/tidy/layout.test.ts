import { join } from 'node:path';
import { lockfileFindings, pinFindings, readmeFindings, testSupportFindings, topLevelFindings } from './layout.js';
import { Repository } from './repository.js';

const repository = new Repository(join(__dirname, '../..'));

describe('the top of the repository', () => {
  it('the top of the repository holds only what belongs there', () => {
    expect(topLevelFindings(repository.list('.'))).toEqual([]);
  });

  it('a file that does not belong to the top of the repository is found', () => {
    expect(topLevelFindings(['server', 'README.md', '.ci', 'scratch.ts', 'lib'])).toEqual([
      expect.stringContaining('scratch.ts'),
      expect.stringContaining('lib'),
    ]);
  });
});

describe('each part', () => {
  it('each part has a README.md', () => {
    expect(repository.workspaces.length).toBeGreaterThan(8);
    expect(readmeFindings([...repository.workspaces, 'infra'], new Set(repository.paths))).toEqual([]);
  });

  it('a part without a README.md is found', () => {
    expect(readmeFindings(['server', 'infra'], new Set(['infra/README.md', 'README.md']))).toEqual([
      'server: has no README.md',
    ]);
  });
});

describe('test support', () => {
  it('test support is outside of the sources of the product', () => {
    expect(testSupportFindings(repository.paths)).toEqual([]);
  });

  it('test support among the sources of the product is found', () => {
    const inside = [
      'packages/wire/src/testing/a.ts',
      'packages/storage/src/wal/testing/a.ts',
      'server/src/testing/a.ts',
    ];
    const beside = ['packages/testing/src/world/a.ts', 'server/testing/a.ts', 'packages/wire/src/testing.ts'];
    expect(testSupportFindings([...inside, ...beside])).toEqual(
      inside.map((path) => `${path}: test support belongs to packages/testing, or to the folder testing beside src`),
    );
  });
});

describe('dependencies', () => {
  it.each(['package.json', ...repository.workspaces.map((folder) => `${folder}/package.json`)])(
    'the dependencies of %s are pinned to one version',
    (path) => {
      expect(pinFindings(path, JSON.parse(repository.read(path)))).toEqual([]);
    },
  );

  it.each(['^1.2.3', '~1.2.3', '1.x', 'latest', '*', '>=1.0.0', '1.2', 'file:../core'])(
    'a dependency of version %s is refused',
    (version) => {
      expect(pinFindings('a/package.json', { devDependencies: { some: version } })).toHaveLength(1);
    },
  );

  it('a dependency of one version is accepted', () => {
    expect(pinFindings('a/package.json', { dependencies: { some: '1.2.3', other: '1.0.0-beta.1' } })).toEqual([]);
  });
});

describe('the lock file', () => {
  const entry = { optionalDependencies: { 'tool-darwin': '1.0.0' } };

  it('the lock file has the packages of all platforms', () => {
    expect(lockfileFindings(JSON.parse(repository.read('package-lock.json')))).toEqual([]);
  });

  it('a lock file without the packages of another platform is found', () => {
    expect(lockfileFindings({ packages: { 'node_modules/tool': entry } })).toEqual([
      expect.stringContaining('tool-darwin'),
    ]);
  });

  it.each(['node_modules/tool-darwin', 'node_modules/tool/node_modules/tool-darwin'])(
    'the lock file may have packages of another platform at %s',
    (path) => {
      expect(lockfileFindings({ packages: { 'node_modules/tool': entry, [path]: {} } })).toEqual([]);
    },
  );
});
