/** Output of commands. Data goes to stdout, everything else to stderr. */

/** Characters that end a line, control a terminal, or turn the direction of a text around. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A stored text as part of a line: JSON stays the same JSON, since controls are in its strings alone. */
export const escaped = (text: string): string => text.replaceAll(CONTROLS, escapeOf);

/** A stored name as part of a line: as JSON where it would not be shown as it is. */
export const nameOf = (name: string): string =>
  name.startsWith('"') || escaped(name) !== name ? escaped(JSON.stringify(name)) : name;

/** Writes a line to stdout. */
export const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Writes a line to stderr: progress and remarks. */
export const remark = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** Writes to stdout and waits for a slow reader: memory stays bounded. */
export function printSlowly(text: string | Uint8Array): Promise<void> {
  if (process.stdout.write(text)) return Promise.resolve();
  return new Promise((resolve) => process.stdout.once('drain', resolve));
}

/** Whether progress may be drawn: stderr is a terminal that can move its cursor, outside CI. */
export const isInteractive = (): boolean =>
  process.stderr.isTTY === true && process.env.TERM !== 'dumb' && !process.env.CI;

/** A count with commas between thousands. */
export const count = (value: number): string => Math.round(value).toLocaleString('en-US');

/** A duration in ms for users: `850 ms`, `12.3 s`, `4 min 10 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Bytes for users, in binary units. */
export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled < 10 ? scaled.toFixed(1) : Math.round(scaled)} ${units[power - 1]}`;
}
