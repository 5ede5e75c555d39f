/** Parts of the help that commands share. */

/** The examples at the end of the help of a command. */
export const examples = (...lines: string[]): string => `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
