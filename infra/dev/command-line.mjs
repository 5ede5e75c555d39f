// The command line of a script: `--help`, and the refusal of arguments that the script does not know.

import { parseArgs } from 'node:util';

/** Exit code of a wrong command line. */
const USAGE = 2;

/**
 * @typedef {object} Command
 * @property {string} usage how to call the script, such as `npm run build`
 * @property {string} about what the script does
 * @property {Record<string, { value?: string, about: string }>} [options] by name; an option with a `value`, such as
 *   `<regex>`, needs a text
 * @property {number} [positionals] the greatest number of arguments that are no options; 0 by default
 * @property {string} exitCodes such as `0 built, 1 not built`
 */

/**
 * Parses the arguments of this process; prints the help when they ask for it.
 * @param {Command} command
 * @param {string[]} [args]
 * @returns {{ values: Record<string, string | boolean | undefined>, positionals: string[] } | undefined} undefined
 *   after the help
 * @throws an error with `exitCode` when the arguments are wrong
 */
export function commandLine(command, args = process.argv.slice(2)) {
  const { usage, options = {}, positionals: most = 0 } = command;
  const typed = Object.entries(options).map(([name, { value }]) => [name, { type: value ? 'string' : 'boolean' }]);
  const parsed = parse(usage, args, { ...Object.fromEntries(typed), help: { type: 'boolean', short: 'h' } });
  if (parsed.values.help) {
    console.log(helpOf(command));
    return undefined;
  }
  if (parsed.positionals.length > most) throw usageError(`unknown argument '${parsed.positionals[most]}'`, usage);
  return parsed;
}

function parse(usage, args, options) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // The first sentence names the mistake; the others are advice for arguments that begin with a dash.
    throw usageError(error.message.split('. ')[0], usage);
  }
}

/** The error of a wrong command line. */
export const usageError = (problem, usage) =>
  Object.assign(new Error(`error: ${problem}\nUsage: ${usage}`), { exitCode: USAGE });

function helpOf({ usage, about, options = {}, exitCodes }) {
  const rows = [
    ...Object.entries(options).map(([name, option]) => [`--${name} ${option.value ?? ''}`.trim(), option.about]),
    ['-h, --help', 'print this help'],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const listed = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
  return [
    `Usage: ${usage}`,
    ...['', about],
    ...['', 'Options:', ...listed],
    ...['', `Exit code: ${exitCodes}, ${USAGE} a wrong command line.`],
  ].join('\n');
}
