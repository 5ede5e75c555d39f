import { join } from 'node:path';
import { importCircles } from './circles.js';
import { isTest, Repository } from './repository.js';
import { parseSource } from './source.js';

const repository = new Repository(join(__dirname, '../..'));

test('no source imports itself over others', () => {
  const sources = repository.sources
    .filter((path) => !isTest(path))
    .map((path) => parseSource(path, repository.read(path)));
  expect(importCircles(sources)).toEqual([]);
});

test('a circle over three sources is found, by types as by values', () => {
  const sources = [
    parseSource('a/x.ts', `import { y } from './y.js';`),
    parseSource('a/y.ts', `export type { Z } from './b/z.js';`),
    parseSource('a/b/z.ts', `let x: import('../x.js').X;`),
    parseSource('a/w.ts', `import { x } from './x.js';`),
  ];
  expect(importCircles(sources)).toEqual([['a/b/z.ts', 'a/x.ts', 'a/y.ts']]);
});
