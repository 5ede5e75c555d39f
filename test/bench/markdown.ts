/** The parts of Markdown that a report needs. */

/** A table; with `numbers`, all columns but the first are aligned to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], numbers = false): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`;
  const rule = head.map((_, i) => (numbers && i > 0 ? '---:' : '---'));
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

const escaped = (cell: string): string => cell.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A number with its significant digits; a dash without one. */
export function number(value: number | undefined): string {
  if (value === undefined) return '–';
  const size = Math.abs(value);
  const digits = size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 4;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}
