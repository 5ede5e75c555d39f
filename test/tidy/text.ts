import type { Finding } from './source.js';

const MAXIMUM_LINES = 500;
const MAXIMUM_WIDTH = 120;
const COMMENT = /^\s*(?:\/\/|\/?\*)/;
/** A text, or a line that begins with a regular expression. The formatter cannot break either. */
const UNBREAKABLE = /['"`]|^\s*!?\/[^/*]/;

/** Switched-off checks and postponed work. Each pattern is written so that it does not match itself. */
const BANNED: readonly { readonly pattern: RegExp; readonly name: string }[] = [
  { pattern: /eslint-disabl[e]/, name: 'a switched-off lint rule' },
  { pattern: /biome-ignor[e]/, name: 'a switched-off lint rule' },
  { pattern: /@ts-(?:ignor[e]|expect-erro[r]|nochec[k])/, name: 'a switched-off type check' },
  { pattern: /\bas an[y]\b/, name: 'a cast that switches off the type check' },
  { pattern: /\bas unknown a[s]\b/, name: 'a cast that switches off the type check' },
  { pattern: /\b(?:TOD[O]|FIXM[E])\b/, name: 'postponed work' },
];

/** One exception: a file, its permitted finding, and the reason. */
export interface Exception {
  readonly path: string;
  /** The text of the finding after the path and line. */
  readonly finding: string;
  readonly reason: string;
}

/** Too long files, too wide lines, switched-off checks and postponed work. */
export function textFindings(path: string, text: string): Finding[] {
  const lines = text.replace(/\n$/, '').split('\n');
  const long = lines.length > MAXIMUM_LINES ? [`${path}: has ${lines.length} lines, more than ${MAXIMUM_LINES}`] : [];
  const banned = lines.flatMap((line, index) =>
    BANNED.filter(({ pattern }) => pattern.test(line)).map(({ name }) => `${path}:${index + 1}: ${name}`),
  );
  const wide = lines.flatMap((line, index) =>
    line.length > MAXIMUM_WIDTH && (COMMENT.test(line) || !UNBREAKABLE.test(line))
      ? [`${path}:${index + 1}: is ${line.length} wide, more than ${MAXIMUM_WIDTH}`]
      : [],
  );
  return [...long, ...wide, ...banned];
}

/** Removes the exceptions from the findings; an exception that is no longer needed is a finding itself. */
export function withoutExceptions(findings: readonly Finding[], exceptions: readonly Exception[]): Finding[] {
  const covers = (exception: Exception, finding: Finding) =>
    finding.startsWith(`${exception.path}:`) && finding.endsWith(`: ${exception.finding}`);
  const open = findings.filter((finding) => !exceptions.some((exception) => covers(exception, finding)));
  const unused = exceptions.filter((exception) => !findings.some((finding) => covers(exception, finding)));
  return [...open, ...unused.map((exception) => `${exception.path}: its exception is not needed any more`)];
}
