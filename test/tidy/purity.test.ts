import { join } from 'node:path';
import { purityFindings } from './purity.js';
import { isTest, Repository } from './repository.js';
import { parseSource } from './source.js';

const repository = new Repository(join(__dirname, '../..'));
const pure = repository.sources.filter(
  (path) =>
    /^packages\/((core|protocols|sessions|client|simulated-world)\/src|testing\/src\/(world|claims|script))\//.test(
      path,
    ) && !isTest(path),
);

describe('core, protocols, sessions, the client, and the worlds of tests', () => {
  it('core, protocols, sessions, client and worlds of tests touch neither time nor randomness nor timers nor sockets nor promises', () => {
    expect(pure.length).toBeGreaterThan(10);
    expect(pure.flatMap((path) => purityFindings(parseSource(path, repository.read(path))))).toEqual([]);
  });

  it.each([
    ['const t = Date.now();', 'Date.now'],
    ['const t = Math.random();', 'Math.random'],
    ['const t = performance.now();', 'performance.now'],
    ['const t = new Date();', 'new Date()'],
    ['const t = Date();', 'Date()'],
    ['const t = process.hrtime();', 'process.hrtime'],
    ['const t = crypto.randomUUID();', 'crypto.randomUUID'],
    ['setTimeout(f, 1);', 'setTimeout()'],
    ['setInterval(f, 1);', 'setInterval()'],
    ['new Promise(f);', 'new Promise'],
    ['Promise.resolve(1);', 'Promise.resolve'],
    ['async function f() {}', 'an async function'],
    ['const f = async () => 1;', 'an async function'],
    ['class A { async f() {} }', 'an async function'],
    ['await f();', 'await'],
    [`import { readFileSync } from 'node:fs';`, 'importing node:fs'],
    [`import { createHmac, randomInt } from 'node:crypto';`, 'importing node:crypto'],
    [`import { randomInt as createHmac } from 'node:crypto';`, 'importing node:crypto'],
    [`import * as all from 'node:crypto';`, 'importing node:crypto'],
    ['new WebSocket(url);', 'new WebSocket'],
  ])('pure code may not contain: %s', (text, problem) => {
    expect(purityFindings(parseSource('a.ts', `\n${text}`))).toEqual([`a.ts:2: ${problem} is not allowed here`]);
  });

  it.each([
    'const epochMs = Date.UTC(2025, 0, 1);',
    '// never Date.now(), and async functions stay out',
    `const text = 'await setTimeout(Math.random())';`,
    'const iso = new Date(ms).toISOString();',
    'const top = Math.max(1, 2);',
    'out.setTimer(timer, atMs);',
    `import { createHash, createHmac, timingSafeEqual } from 'node:crypto';`,
  ])('pure code may contain: %s', (text) => {
    expect(purityFindings(parseSource('a.ts', text))).toEqual([]);
  });
});
