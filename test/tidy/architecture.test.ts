import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { foldersOf, pictureFindings, wayFindings, wayOf } from './architecture.js';
import { Repository } from './repository.js';

const repository = new Repository(join(__dirname, '../..'));
const exists = (path: string) => existsSync(join(repository.root, path));
const page = repository.read('ARCHITECTURE.md');
const PICTURE = 'docs/data-flow.svg';
const isPrivate = (path: string) => JSON.parse(repository.read(`${path}/package.json`)).private === true;
/** All parts that are built into the product or judge it. A private package of `packages` serves tests alone. */
const PARTS = [
  ...repository.workspaces.filter((path) => /^packages\//.test(path) && !isPrivate(path)),
  'server',
  'sdk-js',
  'sdk-swift',
];

describe("one transaction's way", () => {
  it('the way of one transaction needs at most 40 files, from the SDK to stable time', () => {
    const way = wayOf(page);
    expect(way.length).toBeGreaterThan(20);
    expect(wayFindings(way, exists)).toEqual([]);
    expect(way[0]).toMatch(/^sdk-js\//);
    expect(way.at(-2)).toMatch(/stable-time\.ts$/);
  });

  it('a way that is too long, or names a missing file, is found', () => {
    const text = "## One transaction's way\n[a](a.ts) [b](b.ts) [a](a.ts)\n## Next\n[c](c.ts)\n";
    expect(wayOf(text)).toEqual(['a.ts', 'b.ts']);
    expect(wayFindings(['a.ts', 'b.ts'], (path) => path === 'a.ts')).toEqual(['ARCHITECTURE.md: there is no b.ts']);
    const many = Array.from({ length: 41 }, (_, i) => `${i}.ts`);
    expect(wayFindings(many, () => true)).toEqual(['ARCHITECTURE.md: a way of 41 files, more than 40']);
  });
});

describe('the pictures', () => {
  it('the picture of the flow of data shows folders that exist, and every part of the product', () => {
    expect(PARTS.length).toBeGreaterThan(10);
    expect(pictureFindings(PICTURE, foldersOf(repository.read(PICTURE)), PARTS, exists)).toEqual([]);
  });

  it('the picture of the states of a node names those of the code', () => {
    const source = repository.read('packages/protocols/src/kernel/replication/verification.ts');
    const [, type = ''] = /^export type VerificationState = (.+);$/m.exec(source) ?? [];
    const states = [...type.matchAll(/'(\w+)'/g)].map(([, state]) => state!);
    const shown = [...repository.read('docs/rollback-states.svg').matchAll(/<text[^>]*>(\w+)<\/text>/g)].map(
      ([, text]) => text!,
    );
    expect(states.length).toBeGreaterThan(2);
    expect(shown).toEqual(expect.arrayContaining(states));
  });

  it('a picture with a missing folder, or without a part, is found', () => {
    const folders = foldersOf('<text class="folder" x="1">a/src</text><text>b</text><text class="folder">c/src</text>');
    expect(folders).toEqual(['a/src', 'c/src']);
    expect(pictureFindings('p.svg', folders, ['a', 'd'], (path) => path === 'a/src')).toEqual([
      'p.svg: there is no c/src',
      'p.svg: does not show d',
    ]);
  });
});
