/** The result as text. */
import type { Report } from './import.js';

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const number = (value: number): string => Math.round(value).toLocaleString('en-US');

/** Rows of equal length as lines with aligned columns. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map(
      (row) =>
        `  ${row
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('  ')
          .trimEnd()}`,
    )
    .join('\n');
}

/** The result for people. @param memoryMb of this process */
export function resultText(report: Report, memoryMb: number): string {
  const { source, reader } = report;
  const table = [
    ['where', 'cities', 'checksum', 'read in', ''],
    ['source', number(source.count), source.checksum, '', ''],
    ...report.regions.map(({ region, count, checksum, readMs, agrees }) => [
      region,
      number(count),
      checksum,
      seconds(readMs),
      agrees ? 'agrees' : 'DIFFERS',
    ]),
  ];
  return [
    `Imported ${number(report.rows)} cities into ${report.from}: ${number(report.transactions)} transactions in ${seconds(report.importMs)}, ${number(report.rowsPerSecond)} rows/s.`,
    `Visible in every region ${Math.round(report.stableAfterMs)} ms after the last commit. Memory of this process: ${memoryMb} MB.`,
    `Meanwhile ${reader.region} read ${number(reader.reads)} transactions and saw ${number(reader.citiesSeen)} cities: ${reader.torn} in part, ${reader.vanished} vanished, ${reader.wrong} wrong; staleness at most ${Math.round(reader.maxStalenessMs)} ms.`,
    `All regions at timestamp ${report.timestamp}, one snapshot each:`,
    aligned(table),
    report.ok ? 'All regions agree with the source.' : 'NOT all is as it must be.',
  ].join('\n');
}
