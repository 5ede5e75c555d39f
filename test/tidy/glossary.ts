/** Terms of `docs/glossary.md`, and those that the pages of the protocols use. */
import type { Finding } from './source.js';

/** A term as the glossary defines it. */
export interface Term {
  readonly term: string;
  /** Its name in the papers or the field. */
  readonly name: string;
  readonly definition: string;
}

/** Words that look like terms and are not: conferences, section numbers, file names. */
const NO_TERMS = new Set([
  ...['SPEC', 'README', 'ICDCS', 'DSN', 'VLDB', 'SOSP', 'OSDI', 'EUROSYS'],
  ...['SoCC', 'II', 'III', 'IV', 'VI', 'VII', 'VIII'],
]);
/** Names of messages, which `messages.ts` defines. */
const MESSAGE = /(Req|Resp|Reply)$/;
/** Words in backticks that are not times: commands of scenarios, options of calls, and fields of a protocol's value. */
const VERBS = new Set(['get', 'put', 'run', 'cut', 'at', 'rot', 'saw']);

const DEFINITION = /^- \*\*`?(?<term>[^*`]+)`?\*\* \((?<name>[^)]+)\): (?<definition>.+(?:\n {2}.+)*)$/gm;
const BULLET = /^- \*\*`?(?<term>[^*`]+)/gm;
const ABBREVIATION = /(?<![\w-])(?:[A-Z]{2,}[a-z]?|[A-Z][a-z]{0,2}[A-Z][A-Za-z]*)(?![\w-])/g;
/** A time or a vector, as the algorithms write them. */
const VARIABLE = /`(?<name>[a-z]{2,3}|sOld)`/g;

/** The definitions of the page. */
export const termsOf = (page: string): Term[] =>
  [...page.matchAll(DEFINITION)].map(({ groups }) => {
    const { term, name, definition } = groups!;
    return { term: term!, name: name!, definition: definition! };
  });

/** Terms that are defined twice, or not in the form `- **term** (its name): one or two sentences.` */
export function glossaryFindings(path: string, page: string): Finding[] {
  const whole = new Map(termsOf(page).map((term) => [term.term, term]));
  const seen = new Set<string>();
  return [...page.matchAll(BULLET)].flatMap(({ groups }) => {
    const term = groups!.term!;
    if (seen.has(term)) return [`${path}: defines ${term} twice`];
    seen.add(term);
    const defined = whole.get(term);
    if (defined === undefined) return [`${path}: ${term} has no name or no definition`];
    const sentences = defined.definition.replace(/\s+/g, ' ').split(/[.?!](?= [A-Z]|$)/).length - 1;
    return sentences === 1 || sentences === 2 ? [] : [`${path}: ${term} has ${sentences} sentences, not one or two`];
  });
}

/** The abbreviations and variables that a page uses. */
export function usedTerms(text: string): Set<string> {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '');
  const variables = [...prose.matchAll(VARIABLE)].map(({ groups }) => groups!.name!).filter((name) => !VERBS.has(name));
  const words = prose.replace(/`[^`\n]*`/g, ' ').replace(/\]\([^)]*\)/g, ']');
  const abbreviations = [...words.matchAll(ABBREVIATION)]
    .map(([word]) => word.replace(/(?<=[A-Z])s$/, ''))
    .filter((word) => !NO_TERMS.has(word) && !MESSAGE.test(word));
  return new Set([...variables, ...abbreviations]);
}

/** Terms that a page uses and the glossary does not define. */
export function termFindings(path: string, text: string, terms: readonly Term[]): Finding[] {
  const known = new Set(terms.flatMap(({ term, name }) => [term, ...name.split(/[ ,;]+/)]));
  return [...usedTerms(text)]
    .filter((term) => !known.has(term))
    .map((term) => `${path}: ${term}: docs/glossary.md does not define it`);
}

/** A row of the table of avoided words: the words in backticks, and their replacement. */
const AVOIDED = /^\| (?<words>`[^|]+`) +\|/gm;

/** The words in the left column of the table of avoided words. */
export const avoidedIn = (page: string): string[] =>
  [...page.matchAll(AVOIDED)].flatMap(({ groups }) =>
    [...groups!.words!.matchAll(/`(?<word>[^`]+)`/g)].map((match) => match.groups!.word!),
  );

/** The avoided words of a text. A word in single quotes is the name of a record on disk. */
export function avoidedFindings(path: string, text: string, words: readonly string[]): Finding[] {
  const any = new RegExp(`(?<![\\w'])(?:${words.join('|')})(?![\\w'])`, 'g');
  return text.split('\n').flatMap((line, i) => [...line.matchAll(any)].map(([word]) => `${path}:${i + 1}: ${word}`));
}
