/** The results as a table for a terminal. */
import Table from 'cli-table3';
import { type Figure, isMet, type Limit, type Row, ratioOf, type Target, type Unit } from './figures.js';

const HEAD = ['what', 'measured (min–max)', 'p50 / p99', 'limit (min–max)', 'ratio', 'target', 'met', 'server CPU'];

/** One line for each row. */
export function renderTable(rows: readonly Row[]): string {
  const table = new Table({ head: HEAD, style: { head: [], border: [] } });
  for (const row of rows) table.push(cellsOf(row));
  return table.toString();
}

function cellsOf(row: Row): string[] {
  const { what, unit, measured, latency, limit, target, cpuUs } = row;
  const ratio = ratioOf(row);
  return [
    what,
    figureText(measured, unit),
    latency === undefined ? '' : `${valueText(latency.p50Ms, '')} / ${valueText(latency.p99Ms, 'ms')}`,
    limit === undefined ? '' : limitText(limit, unit),
    ratio === undefined ? '' : ratio.toFixed(3),
    target === undefined ? '' : targetText(target, unit),
    metText(isMet(row)),
    cpuUs === undefined ? '' : cpuText(cpuUs),
  ];
}

const limitText = ({ what, figure }: Limit, unit: Unit): string => `${what}: ${figureText(figure, unit)}`;

const metText = (met: boolean | undefined): string => (met === undefined ? '' : met ? 'yes' : 'NO');

const cpuText = ({ measured, limit }: { measured: number; limit: number | undefined }): string =>
  `${measured.toFixed(1)} µs${limit === undefined ? '' : ` (limit ${limit.toFixed(1)})`}`;

function targetText({ of, is, bound }: Target, unit: Unit): string {
  const sign = is === 'at least' ? '≥' : '≤';
  return of === 'ratio' ? `${sign} ${bound.toFixed(2)}` : `${sign} ${valueText(bound, unit)}`;
}

/** A figure as its median, with the range where there was more than one round. */
export function figureText({ median, min, max, samples }: Figure, unit: Unit): string {
  const range = samples.length < 2 ? '' : ` (${valueText(min, '')}–${valueText(max, '')})`;
  return `${valueText(median, unit)}${range}`;
}

/** A value with as many digits as say something. */
export function valueText(value: number, unit: Unit): string {
  const digits = value !== 0 && Math.abs(value) < 100 && !Number.isInteger(value) ? (Math.abs(value) < 10 ? 2 : 1) : 0;
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === '' ? text : unit === '/s' ? `${text}/s` : `${text} ${unit}`;
}
