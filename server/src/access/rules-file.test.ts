import { IsochronError } from '@isochron/core';
import { runCases } from './rule-cases.js';
import { parseRulesFile } from './rules-file.js';

const KEYSPACES = ['albums'];

/** The refusal of a file, as `line: reason`. */
function refusalOf(text: string): string {
  try {
    parseRulesFile(text, 'rules.yaml', KEYSPACES);
  } catch (error) {
    if (error instanceof IsochronError && error.code === 'CONFIG_INVALID') return error.message;
    throw error;
  }
  return 'accepted';
}

const rule = (fields: string): string =>
  `rules:\n  - { name: one, match: "albums/{album}", allow: [get], ${fields} }\n`;

describe('a file of access rules', () => {
  it.each([
    ['that does not parse', 'rules: [', /^rules\.yaml:\d+: /],
    ['without rules', 'cases: []', /^rules\.yaml:1: "rules" is missing/],
    ['with an unknown field', rule('then: x'), /^rules\.yaml:2: unknown field "then"; known here: name, match/],
    [
      'with an unknown operation',
      'rules:\n  - name: a\n    match: albums/x\n    allow: [see]',
      /^rules\.yaml:4: .*one of get/,
    ],
    ['with a condition that does not parse', rule("when: 'auth.id =='"), /^rules\.yaml:2: /],
    [
      'for another keyspace',
      'rules:\n  - { name: a, match: x/y, allow: [get] }',
      /rules\.yaml:2: there is no keyspace "x"/,
    ],
    ['that is far too long', ' '.repeat(300_000), /at most 262144/],
  ])('a file %s is refused with its line and the reason', (_what, text, message) => {
    expect(refusalOf(text)).toMatch(message);
  });

  it('a file with an empty list of rules is refused: it would allow everything', () => {
    expect(() => parseRulesFile('rules: []', 'rules.yaml', KEYSPACES)).toThrow(
      'rules.yaml:1: "rules" is not valid: expected at least one rule',
    );
  });
});

describe('the cases of a file', () => {
  const RULES = `
rules:
  - name: readers-see
    match: albums/{album}/photos/{photo}
    allow: [get, list]
    when: auth.id in get('albums/' + album).readers
  - name: own-drafts
    match: drafts/{draft}
    allow: [list]
    when: document.by == auth.id
    filter: true
documents:
  albums/7: { readers: [bob] }
cases:
`;
  const CASES = `
  - { name: reader, as: { id: bob }, get: albums/7/photos/1, expect: allowed, rule: readers-see }
  - { name: stranger, as: { id: cid }, list: albums/7/photos/, expect: refused, rule: readers-see }
  - { name: drafts, as: { id: bob }, list: drafts/, expect: filtered }
  - { name: own, as: { id: bob }, listed: drafts/1, documents: { drafts/1: { by: bob } }, expect: allowed }
  - { name: other, as: { id: bob }, listed: drafts/1, documents: { drafts/1: { by: cid } }, expect: refused }
`;
  const report = (cases: string) => runCases(parseRulesFile(RULES + cases, 'rules.yaml'));

  it('cases pass, and show every rule from both sides', () => {
    expect(report(CASES)).toMatchObject({
      complete: true,
      failed: 0,
      coverage: [
        { rule: 'readers-see', allowed: 1, refused: 1 },
        { rule: 'own-drafts', allowed: 1, refused: 1 },
      ],
    });
  });

  it('a case shows what a rule decides by the other documents of its transaction (AR9)', () => {
    const rules = `
rules:
  - name: owners-add
    match: albums/{album}/photos/{photo}
    allow: [create]
    when: getAfter('albums/' + album).owner == auth.id && getAfter(key) == incoming
documents:
  albums/7: { owner: bob }
cases:
  - { name: alone, as: &bob { id: bob }, create: &new albums/8/photos/1, incoming: {}, expect: refused }
  - { name: both, as: *bob, create: *new, incoming: {}, after: { albums/8: { owner: bob } }, expect: allowed }
  - { name: before, as: *bob, create: &old albums/7/photos/1, incoming: {}, expect: allowed }
  - { name: gone, as: *bob, create: *old, incoming: {}, after: { albums/7: null }, expect: refused }
  - { name: given, as: *bob, create: *old, incoming: {}, after: { albums/7: { owner: ann } }, expect: refused }
`;
    expect(runCases(parseRulesFile(rules, 'rules.yaml'))).toMatchObject({ failed: 0, complete: true });
  });

  it.each([
    [
      'another decision',
      '{ name: x, as: { id: cid }, get: albums/7/photos/1, expect: allowed }',
      'refused by readers-see',
    ],
    [
      'another rule',
      '{ name: x, as: { id: cid }, get: albums/7/photos/1, expect: refused, rule: own-drafts }',
      'refused by readers-see',
    ],
    [
      'a role that is missing',
      '{ name: x, as: { id: bob, roles: [operator] }, get: albums/7/photos/1, expect: allowed }',
      'refused: no rule allows it',
    ],
    [
      'two operations',
      '{ name: x, as: { id: bob }, get: albums/7, list: albums/, expect: allowed }',
      'a case has one of get, list, listed, create, update, delete',
    ],
  ])('a case fails for %s', (_what, one, actual) => {
    const { cases, failed } = report(`  - ${one}\n`);
    expect([failed, cases[0]?.actual]).toEqual([1, actual]);
  });

  it('a rule that no case refuses is not covered', () => {
    const some = CASES.split('\n').filter((line) => !line.includes('stranger'));
    expect(report(some.join('\n'))).toMatchObject({ failed: 0, complete: false });
  });
});
