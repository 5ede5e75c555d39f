import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ANONYMOUS_PRINCIPAL, IsochronError } from '@isochron/core';
import { pino } from 'pino';
import { FollowedRules } from './followed-rules.js';

const folder = mkdtempSync(join(tmpdir(), 'isochron-rules-'));
const file = join(folder, 'rules.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

const RULE = '{ name: one, match: "default/{x}", allow: [get] }';
let lines: string[];
const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });

function followed(text: string): FollowedRules {
  lines = [];
  writeFileSync(file, text);
  return new FollowedRules(file, ['default'], logger);
}

describe('the rules of a node', () => {
  it('changed rules are taken, and bad ones refused: the former ones stay in use', () => {
    const rules = followed(`rules: [${RULE}]`);
    writeFileSync(file, `rules: [${RULE}, ${RULE.replace('one', 'two')}]`);
    rules.reload();
    expect([rules.policy?.names, rules.counts]).toMatchObject([['one', 'two'], { rules: 2, reloads: 1, failures: 0 }]);
    writeFileSync(file, 'rules: nothing');
    rules.reload();
    rmSync(file);
    rules.reload();
    expect([rules.policy?.names, rules.counts]).toMatchObject([['one', 'two'], { reloads: 1, failures: 2 }]);
    expect(lines).toEqual([
      'the access rules have changed',
      ...Array(2).fill('the changed access rules are refused; the former ones stay in use'),
    ]);
  });

  it('a node does not start with rules that cannot be used', () => {
    expect(() => followed('rules: nothing')).toThrow('rules.yaml:1: ');
    expect(() => new FollowedRules(join(folder, 'none'), [], logger)).toThrow('cannot be read');
  });

  it('a file whose rules were all taken out is refused, and the former rules stay in use (AR5)', () => {
    const rules = followed(`rules: [${RULE}]`);
    const { hash } = rules;
    writeFileSync(rules.file, 'rules: []');
    rules.reload();
    expect([rules.counts.failures, rules.policy.names.length, rules.hash]).toEqual([1, 1, hash]);
  });

  it('the hash of rules changes with the rules, not with the cases and documents of their file', () => {
    const rules = followed(`rules: [${RULE}]`);
    const { hash } = rules;
    let changes = 0;
    rules.onChange(() => changes++);
    for (const text of [`rules: [${RULE}]\ndocuments: {}`, `rules: [${RULE.replace('[get]', '[get, list]')}]`]) {
      writeFileSync(rules.file, text);
      rules.reload();
      if (changes === 1) expect(rules.hash).toBe(hash);
    }
    expect([changes, rules.hash === hash]).toEqual([2, false]);
  });

  it('refusals are counted', () => {
    const rules = followed(`rules: [${RULE}]`);
    rules.refused(ANONYMOUS_PRINCIPAL, new IsochronError('PERMISSION_DENIED', 'no'));
    expect(rules.counts).toMatchObject({ refusals: 1, faults: 0 });
    expect(lines).toEqual([]);
  });

  it('conditions that cost too much are counted, and logged now and then', () => {
    const rules = followed(`rules: [${RULE}]`);
    for (let i = 0; i < 3; i++)
      rules.refused(ANONYMOUS_PRINCIPAL, new IsochronError('PERMISSION_DENIED', 'no', { cause: new Error('why') }));
    expect(rules.counts).toMatchObject({ refusals: 3, faults: 3 });
    expect(lines).toEqual(['a condition of an access rule may not read what it asks for']);
  });
});
