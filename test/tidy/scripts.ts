/** The scripts of the root `package.json`: each prints a help, and refuses options that it does not know. */
import type { Finding } from './source.js';

/** How a script ended. */
export interface ScriptEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Parts of a help. */
const HELP: ReadonlyMap<string, RegExp> = new Map([
  ['usage', /^Usage: /m],
  ['options', /^Options:$(?:\n.*)*\n +-h, --help/m],
  ['exit codes', /^Exit codes?:/m],
]);

/** What the end of a script with `--help` lacks. */
export function helpFindings(name: string, { code, stdout }: ScriptEnd): Finding[] {
  const missing = [...HELP].filter(([, pattern]) => !pattern.test(stdout)).map(([part]) => part);
  return [
    ...(code === 0 ? [] : [`${name} --help: exit code ${code}`]),
    ...missing.map((part) => `${name} --help: prints no ${part}`),
  ];
}

/** What the end of a script with an unknown option lacks. */
export function refusalFindings(name: string, option: string, { code, stdout, stderr }: ScriptEnd): Finding[] {
  return [
    ...(code === null || code === 0 || code >= 128 ? [`${name} ${option}: exit code ${code}, not a refusal`] : []),
    ...(stderr.includes(option) ? [] : [`${name} ${option}: stderr does not name the option`]),
    ...(stdout === '' ? [] : [`${name} ${option}: stdout is not empty`]),
  ];
}
