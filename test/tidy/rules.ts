/** Ids of rules: `docs/rules.md` defines each of them once, and only those are cited. */
import type { Finding } from './source.js';

/** A rule as its page defines it. */
export interface Rule {
  readonly id: string;
  readonly title: string;
  readonly statement: string;
}

const DEFINITION = /^ *- \*\*(?<id>[A-Z]{1,2}\d+[a-z]?): (?<title>[^*]+)\.\*\* (?<statement>\S.*)$/gm;
/** A line that looks like a definition, with a title and a statement or without. */
const DEFINED = /^ *- \*\*(?<id>[A-Z]{1,2}\d+[a-z]?)\b.*$/gm;
const ID = /(?<![\w.$%-])(?<id>[A-Z]{1,2}\d{1,2}[a-z]?)(?![\w(]|\.\w|-\d)/g;
/** Parentheses that contain only ids, such as `(D4, D10a)`. */
const CITATION = /(?<!\w)\((?<ids>[A-Z]{1,2}\d{1,2}[a-z]?(?:, [A-Z]{1,2}\d{1,2}[a-z]?)*)\)/g;
/** The first column of a table of rules. */
const ROW = /^\| (?<id>[A-Z]{1,2}\d+[a-z]?) +\|/gm;
/** The rule that a mutant breaks. */
const BROKEN = /\bbreaks: '(?<id>[A-Z]{1,2}\d+[a-z]?)\b/g;

/** The definitions of the page. */
export const rulesOf = (page: string): Rule[] =>
  [...page.matchAll(DEFINITION)].map(({ groups }) => {
    const { id, title, statement } = groups!;
    return { id: id!, title: title!, statement: statement! };
  });

const familyOf = (id: string): string => /^[A-Z]+/.exec(id)![0];

/** Ids that are defined twice, or without a title or a statement. */
export function definitionFindings(path: string, page: string): Finding[] {
  const whole = new Set(rulesOf(page).map(({ id }) => id));
  const seen = new Set<string>();
  return [...page.matchAll(DEFINED)].flatMap(({ groups }) => {
    const id = groups!.id!;
    const twice = seen.has(id) ? [`${path}: defines ${id} twice`] : [];
    seen.add(id);
    return whole.has(id) ? twice : [...twice, `${path}: ${id} has no title or no statement`];
  });
}

/** The JavaScript engine, whose name looks like the id of a rule. */
const ENGINE = 'V8';

/** The ids that a text cites: those of known families anywhere, others only where a rule must stand. */
export function citedIds(text: string, families: ReadonlySet<string>): Set<string> {
  const anywhere = [...text.matchAll(ID)].map(({ groups }) => groups!.id!).filter((id) => families.has(familyOf(id)));
  const cited = [...text.matchAll(CITATION)].flatMap(({ groups }) => groups!.ids!.split(', '));
  const rows = [...text.matchAll(ROW), ...text.matchAll(BROKEN)].map(({ groups }) => groups!.id!);
  return new Set([...anywhere.filter((id) => id !== ENGINE), ...cited, ...rows]);
}

/** Ids that a file cites and no rule has. In scenarios, T1, T2, … are transactions: there, only parentheses cite. */
export function citationFindings(path: string, text: string, rules: readonly Rule[]): Finding[] {
  const ids = new Set(rules.map(({ id }) => id));
  const families = new Set(path.endsWith('.txt') ? [] : rules.map(({ id }) => familyOf(id)));
  return [...citedIds(text, families)]
    .filter((id) => !ids.has(id))
    .map((id) => `${path}: ${id}: docs/rules.md has no such rule`);
}

/** Rules whose number no file cites: alone, or within a range such as `P1–P4`. */
export function uncitedFindings(texts: readonly string[], rules: readonly Rule[]): Finding[] {
  const families = new Set(rules.map(({ id }) => familyOf(id)));
  const cited = new Set(texts.flatMap((text) => [...citedIds(text, families)]));
  return rules.filter(({ id }) => !cited.has(id)).map(({ id }) => `docs/rules.md: nothing cites ${id}`);
}
