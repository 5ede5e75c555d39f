/** The results as a table for a terminal. */
import Table from 'cli-table3';
import { type Figure, isMet, type Limit, type Row, ratioOf, type Target, type Unit } from './figures.js';
import { CELL_HEAD, cellTables } from './page/cells.js';

const HEAD = ['what', 'measured (min–max)', 'p50 / p99 ms', 'limit', 'ratio', 'target', 'met', 'server CPU/op'];
const WHAT_WIDTH = 44;
/** Lines between rows would double the height of the table. */
const CHARS = { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' };

/** One line for each row, and more for a long one. Cells of tables of costs are left to {@link renderCells}. */
export function renderTable(rows: readonly Row[]): string {
  const style = { head: [], border: [], compact: true };
  const table = new Table({ head: HEAD, style, chars: CHARS, colWidths: [WHAT_WIDTH], wordWrap: true });
  for (const row of rows) if (row.cell === undefined) table.push(cellsOf(row));
  return table.toString();
}

/** Tables of costs: none, if no row is a cell. */
export function renderCells(rows: readonly Row[]): string[] {
  return cellTables(rows).map(({ columns, lines }) => {
    const style = { head: [], border: [], compact: true };
    const table = new Table({ head: [CELL_HEAD, ...columns], style, chars: CHARS });
    for (const line of lines) table.push([...line]);
    return table.toString();
  });
}

function cellsOf(row: Row): string[] {
  const { what, unit, measured, latency, limit, target, cpuUs } = row;
  const ratio = ratioOf(row);
  return [
    what,
    figureText(measured, unit),
    latency === undefined ? '' : `${valueText(latency.p50Ms, '')} / ${valueText(latency.p99Ms, '')}`,
    limit === undefined ? '' : limitText(limit, unit),
    ratio === undefined ? '' : ratio.toFixed(3),
    target === undefined ? '' : targetText(target, unit),
    metText(isMet(row)),
    cpuUs === undefined ? '' : cpuText(cpuUs),
  ];
}

const limitText = ({ what, figure }: Limit, unit: Unit): string => `${figureText(figure, unit)}\n${what}`;

const metText = (met: boolean | undefined): string => (met === undefined ? '' : met ? 'yes' : 'NO');

const cpuText = ({ measured, limit }: NonNullable<Row['cpuUs']>): string =>
  `${measured.toFixed(1)} µs${limit === undefined ? '' : `\nlimit ${limit.toFixed(1)} µs`}`;

/** A target as its bound. */
export function targetText({ of, is, bound }: Target, unit: Unit): string {
  const sign = is === 'at least' ? '≥' : '≤';
  return of === 'ratio' ? `${sign} ${bound.toFixed(2)}` : `${sign} ${valueText(bound, unit)}`;
}

/** A figure as its median, with the range if it has more than one round. */
export function figureText({ median, min, max, samples }: Figure, unit: Unit): string {
  const range = samples.length < 2 ? '' : ` (${valueText(min, '')}–${valueText(max, '')})`;
  return `${valueText(median, unit)}${range}`;
}

/** A value with its significant digits. */
export function valueText(value: number, unit: Unit): string {
  const text = value.toLocaleString('en-US', { maximumFractionDigits: digitsOf(Math.abs(value)) });
  return unit === '' ? text : unit === '/s' ? `${text}/s` : `${text} ${unit}`;
}

const digitsOf = (size: number): number => (size < 10 ? 2 : size < 100 ? 1 : 0);
