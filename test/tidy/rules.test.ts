import { join } from 'node:path';
import { Repository } from './repository.js';
import { citationFindings, definitionFindings, rulesOf, uncitedFindings } from './rules.js';
import { type Exception, withoutExceptions } from './text.js';

const repository = new Repository(join(__dirname, '../..'));
const PAGE = 'docs/rules.md';
const page = repository.read(PAGE);
const rules = rulesOf(page);

/** Sources and pages, without measured reports and the checker, whose T1, T2, … are transactions. */
const readable = repository.paths.filter(
  (path) =>
    /\.(md|ts|mjs|js|swift|txt)$/.test(path) && !/^(docs\/papers|packages\/checker)\//.test(path) && path !== PAGE,
);

const EXCEPTIONS: readonly Exception[] = [
  {
    path: 'packages/testing/src/script/script.test.ts',
    finding: 'T9: docs/rules.md has no such rule',
    reason: 'a scenario calls its transactions T1, T9',
  },
];

describe('the rules', () => {
  it('the rules are defined once each, with a title and a statement', () => {
    expect(rules.length).toBeGreaterThan(150);
    expect(definitionFindings(PAGE, page)).toEqual([]);
  });

  it('the rules are the only ones that comments, tests, mutants and pages cite', () => {
    const findings = readable
      .filter((path) => !path.startsWith('test/tidy/rules'))
      .flatMap((path) => citationFindings(path, repository.read(path), rules));
    expect(withoutExceptions(findings, EXCEPTIONS)).toEqual([]);
  });

  it('each of the rules is cited', () => {
    const texts = readable.filter((path) => !path.startsWith('test/tidy/')).map((path) => repository.read(path));
    expect(uncitedFindings(texts, rules)).toEqual([]);
  });

  it('a citation without a definition is found', () => {
    const known = rulesOf('- **P1: a title.** A statement.\n  - **D10a: part.** Of it.\n');
    const findings = (text: string) => citationFindings('a.ts', text, known).map((finding) => finding.split(':')[1]);
    expect(known.map(({ id }) => id)).toEqual(['P1', 'D10a']);
    expect(findings('// (P1, D10a): all right; UTF8 and V8 are no rules')).toEqual([]);
    expect(findings('/** see P2, and (P1, X7) */')).toEqual([' P2', ' X7']);
    expect(findings("| Q1 | what | test |\nbreaks: 'Z3, Alg. 1'")).toEqual([' Q1', ' Z3']);
  });

  it('rules that are defined twice, have no statement, or are not cited are found', () => {
    expect(definitionFindings('r.md', '- **P1: a.** b\n- **P1: c.** d\n- **P2: e.**\n- **P3.** f\n')).toEqual([
      'r.md: defines P1 twice',
      'r.md: P2 has no title or no statement',
      'r.md: P3 has no title or no statement',
    ]);
    expect(uncitedFindings(['(P1)'], rulesOf('- **P1: a.** b\n- **P2: c.** d\n'))).toEqual([
      'docs/rules.md: nothing cites P2',
    ]);
  });
});
