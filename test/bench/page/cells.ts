/** Rows that belong in a table of their own: one line for each part of a cost, one column for each workload. */
import type { Row } from '../figures.js';
import { number } from '../markdown.js';

export const CELL_HEAD = 'of an operation';

export interface CellTable {
  readonly columns: readonly string[];
  /** Each begins with its name. */
  readonly lines: readonly (readonly string[])[];
}

/** One table, or none. A cell without a measurement is a dash. */
export function cellTables(rows: readonly Pick<Row, 'cell' | 'measured' | 'unit'>[]): CellTable[] {
  const placed = rows.flatMap(({ cell, measured, unit }) => (cell === undefined ? [] : [{ cell, measured, unit }]));
  if (placed.length === 0) return [];
  const columns = [...new Set(placed.map(({ cell }) => cell.column))];
  const names = [...new Set(placed.map(({ cell }) => cell.line))];
  const lines = names.map((line) => {
    const own = placed.filter(({ cell }) => cell.line === line);
    const { unit } = own[0]!;
    const values = columns.map((column) => number(own.find(({ cell }) => cell.column === column)?.measured.median));
    return [unit === '' ? line : `${line}, ${unit}`, ...values];
  });
  return [{ columns, lines }];
}
