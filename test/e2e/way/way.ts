/** The pages of `docs/way`, compared with the functions that run. */
import type { Ran } from './coverage.js';

/** A link of a page, and the functions that it names. */
export interface Step {
  /** Path from the repository's root. */
  readonly file: string;
  readonly functions: readonly string[];
}

/** The greatest height of a page: a screen. */
const MOST_LINES = 65;
/** Every package uses its files: ids, timestamps, schemas. */
const EVERYWHERE = 'packages/core';
/** A package that adds less than this share of a page's functions plays no part in it. */
const LEAST_SHARE = 1 / 20;
/** Files with at least this share of the functions of the package's first file lead. */
const LEADING_SHARE = 1 / 2;
/** Fewer functions of a file may have run by coincidence: on a timer of the store, for example. */
const FEWEST_FUNCTIONS = 2;

const STEP = /\]\(\.\.\/\.\.\/(?<file>[^)#]+)\)(?<functions>(?:,?\s+`\w+`)*)/g;

/** The links of a page to files of the repository. */
export const stepsOf = (page: string): Step[] =>
  [...page.matchAll(STEP)].map(({ groups }) => ({
    file: groups!.file!,
    functions: [...groups!.functions!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
  }));

/** Findings of a page: too long, or a linked file or a named function that did not run. */
export function pageFindings(path: string, page: string, times: readonly Ran[]): string[] {
  const lines = page.trimEnd().split('\n').length;
  const findings = stepsOf(page).flatMap(({ file, functions }) => {
    const ran = new Set(times.flatMap((time) => time[file] ?? []).map(nameOf));
    if (ran.size === 0) return [`${path}: ${file} did not run`];
    if (functions.length === 0) return [`${path}: names no function of ${file}`];
    return functions.filter((name) => !ran.has(name)).map((name) => `${path}: ${name} of ${file} did not run`);
  });
  return [...(lines > MOST_LINES ? [`${path}: has ${lines} lines, more than ${MOST_LINES}`] : []), ...findings];
}

/** The name of a function without the mark of a private method or of a getter. */
const nameOf = (name: string): string => name.replace(/^(?:[gs]et )?#?/, '');

/** The functions that ran every time and at none of the other occasions: as `file function`. */
export function added(times: readonly Ran[], others: readonly Ran[]): ReadonlySet<string> {
  const [first, ...rest] = times.map(namesOf);
  const elsewhere = others.map(namesOf);
  const isAdded = (name: string): boolean =>
    rest.every((names) => names.has(name)) && !elsewhere.some((names) => names.has(name));
  return new Set([...first!].filter(isAdded));
}

const namesOf = (ran: Ran): ReadonlySet<string> =>
  new Set(Object.entries(ran).flatMap(([file, names]) => names.map((name) => `${file} ${name}`)));

/** In each package that plays a part, the files with the most added functions. */
export function leadingFiles(functions: ReadonlySet<string>): string[] {
  const counts = new Map<string, Map<string, number>>();
  for (const name of functions) {
    const file = name.slice(0, name.indexOf(' '));
    const own = file.slice(0, file.indexOf('/src/'));
    const files = counts.get(own) ?? new Map<string, number>();
    counts.set(own, files.set(file, (files.get(file) ?? 0) + 1));
  }
  return [...counts].flatMap(([own, files]) => {
    const sizes = [...files.values()];
    const total = sizes.reduce((sum, size) => sum + size, 0);
    if (own === EVERYWHERE || total < LEAST_SHARE * functions.size) return [];
    const least = Math.max(FEWEST_FUNCTIONS, LEADING_SHARE * Math.max(...sizes));
    return [...files].filter(([, size]) => size >= least).map(([file]) => file);
  });
}
