import { join } from 'node:path';
import { avoidedFindings, avoidedIn, glossaryFindings, termFindings, termsOf, usedTerms } from './glossary.js';
import { Repository } from './repository.js';

const repository = new Repository(join(__dirname, '../..'));
const PAGE = 'docs/glossary.md';
const page = repository.read(PAGE);
const terms = termsOf(page);
/** The page itself, its test, and pages that quote measurements or older text. */
const EXEMPT = /^(docs\/glossary\.md|docs\/papers\/|test\/tidy\/glossary)/;
const pages = repository.paths.filter((path) => path.endsWith('/SPEC.md'));

describe('the glossary', () => {
  it('the glossary defines each term once, by its name in the papers or the field and one or two sentences', () => {
    expect(terms.length).toBeGreaterThan(80);
    expect(glossaryFindings(PAGE, page)).toEqual([]);
  });

  it('the glossary has every abbreviation and every time that the pages of the protocols use', () => {
    expect(pages.length).toBeGreaterThan(15);
    expect(pages.flatMap((path) => termFindings(path, repository.read(path), terms))).toEqual([]);
  });

  it('no code, no test and no page uses the avoided words of the glossary', () => {
    const words = avoidedIn(page);
    expect(words.length).toBeGreaterThan(25);
    const texts = repository.paths.filter(
      (path) => /(\.(ts|mjs|swift|md|txt)|\/seeds\.json)$/.test(path) && !EXEMPT.test(path),
    );
    expect(texts.length).toBeGreaterThan(800);
    expect(texts.flatMap((path) => avoidedFindings(path, repository.read(path), words))).toEqual([]);
  });

  it('an avoided word is found in code and prose, but not in the name of a record on disk or in a longer word', () => {
    const words = avoidedIn('| avoided | use |\n| `birth`, `a b` | sentAfter |\n');
    expect(words).toEqual(['birth', 'a b']);
    expect(avoidedFindings('a.ts', "birthday, 'birth', `birth/p0`\nits Birth; a b", words)).toEqual([
      'a.ts:2: Birth',
      'a.ts:2: a b',
    ]);
  });

  it('a term that the glossary lacks is found', () => {
    const known = termsOf('- **UST** (universal stable time): A snapshot.\n- **`ct`** (commit time): A time.\n');
    const findings = (text: string) => termFindings('a.md', text, known).map((finding) => finding.split(': ')[1]);
    expect(findings('UST and `ct`, see SPEC on StartTxReq; STORAGE_FULL, PUT2 and D10 are no terms')).toEqual([]);
    expect(findings('USTs of GSVs, `rdt`\n```\nZZZ\n```\n')).toEqual(['rdt', 'GSV']);
    expect([...usedTerms('two DVs')]).toEqual(['DV']);
  });

  it('a definition that is missing, double or too long is found', () => {
    const text = '- **A** (a): One.\n- **A** (a): One.\n- **B**: none.\n- **C** (c): One. Two. Three.\n';
    expect(glossaryFindings('g.md', text)).toEqual([
      'g.md: defines A twice',
      'g.md: B has no name or no definition',
      'g.md: C has 3 sentences, not one or two',
    ]);
  });
});
