/** `import` and `export`. */
import { open, rename, rm } from 'node:fs/promises';
import { connect, type IsochronClient, type Timestamp } from '@isochron/sdk';
import { storedPages } from '@isochron/sdk/stored';
import { UsageError } from '../failures.js';
import { count, duration, print, printSlowly, remark } from '../output.js';
import { RowProgress } from '../progress.js';
import { connectOptions, type DataOptions, saveSession, withClient } from './client.js';
import { type Input, openInput } from './input.js';
import { csvRows, jsonRows, type Row, storedLine } from './rows.js';
import { type WriteTotals, writeAll } from './writing.js';

/** Options of `import`. */
export interface ImportOptions extends DataOptions {
  readonly format?: 'jsonl' | 'csv';
  /** Column of the key. */
  readonly key?: string;
  /** Prefix of every key. */
  readonly prefix: string;
  readonly batch: number;
  readonly concurrency: number;
  readonly skip: number;
  /** Waits until everything is visible in every region. */
  readonly wait: boolean;
}

/** Options of `export`. */
export interface ExportOptions extends DataOptions {
  readonly at?: Timestamp;
  readonly output?: string;
}

/** How long an import waits until the last commit is visible everywhere, ms. */
const STABLE_TIMEOUT_MS = 60_000;
/** Entries of one page. */
const PAGE_SIZE = 1000;

/** Imports a file, or stdin, in transactions of `--batch` rows. */
export async function runImport(file: string, options: ImportOptions): Promise<void> {
  const readRows = rowReader(file, options);
  const input = openInput(file);
  const clients = await connectAll(options);
  try {
    const progress = new RowProgress('Importing', input.size);
    const written = await importRows(withPrefix(readRows(input), options.prefix), clients, options, (rows) =>
      progress.update(rows, input.position()),
    ).finally(() => progress.end());
    await finish(written, clients, options, progress.elapsedMs);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** The reader of rows for the input's format. @throws UsageError for options that do not fit the format */
function rowReader(file: string, { format, key }: ImportOptions): (input: Input) => AsyncIterable<Row> {
  const isCsv = format === 'csv' || (format === undefined && /\.csv$/i.test(file));
  if (!isCsv && key !== undefined) throw new UsageError('--key names a column of CSV; JSON lines have a field "key"');
  if (!isCsv) return ({ chunks }) => jsonRows(chunks);
  if (key === undefined) throw new UsageError('CSV needs --key, the column that is the key');
  return ({ chunks }) => csvRows(chunks, key);
}

async function* withPrefix(rows: AsyncIterable<Row>, prefix: string): AsyncGenerator<Row> {
  for await (const row of rows) yield { ...row, key: prefix + row.key };
}

/** One session for each transaction in flight: the commits of one session follow each other. */
async function connectAll(options: ImportOptions): Promise<IsochronClient[]> {
  const settings = connectOptions(options);
  const connecting = Array.from({ length: options.concurrency }, () => connect(settings));
  const results = await Promise.allSettled(connecting);
  const clients = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return clients;
  await Promise.all(clients.map((client) => client.close()));
  throw failed.reason;
}

async function importRows(
  rows: AsyncIterable<Row>,
  clients: readonly IsochronClient[],
  { batch, skip }: ImportOptions,
  onProgress: (rows: number) => void,
): Promise<WriteTotals> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop);
  try {
    return await writeAll(rows, clients, { batch, skip, signal: stopping.signal, onProgress });
  } finally {
    process.off('SIGINT', stop);
  }
}

async function finish(
  { rows, transactions, last }: WriteTotals,
  clients: readonly IsochronClient[],
  options: ImportOptions,
  elapsedMs: number,
): Promise<void> {
  if (last !== undefined) {
    if (options.wait) await last.receipt.stable({ timeoutMs: STABLE_TIMEOUT_MS });
    // This session has seen the newest commit as stable: a command that continues it reads all imported rows.
    saveSession(clients[last.writer]!, options);
  }
  const summary = {
    rows,
    transactions,
    elapsedMs: Math.round(elapsedMs),
    rowsPerSecond: Math.round((rows * 1000) / Math.max(1, elapsedMs)),
    timestamp: last?.receipt.timestamp ?? null,
    stable: options.wait,
  };
  print(options.json ? JSON.stringify(summary) : summaryLine(summary));
}

function summaryLine(summary: {
  rows: number;
  transactions: number;
  elapsedMs: number;
  rowsPerSecond: number;
  stable: boolean;
}): string {
  const { rows, transactions, elapsedMs, rowsPerSecond, stable } = summary;
  const speed = `${duration(elapsedMs)} (${count(rowsPerSecond)} rows/s)`;
  return `${count(rows)} rows in ${count(transactions)} transactions and ${speed}${stable ? ', visible in every region' : ''}`;
}

/** Writes every document below a prefix as JSON lines, all from one snapshot. */
export async function runExport(prefix: string, options: ExportOptions): Promise<void> {
  const sink = options.output === undefined ? stdoutSink : await fileSink(options.output);
  try {
    const { rows, snapshot } = await withClient(options, (client) => exportRows(client, prefix, options, sink.write));
    await sink.end();
    const { json, output } = options;
    if (json && output !== undefined) print(JSON.stringify({ rows, snapshot, output }));
    else remark(`${count(rows)} rows of the snapshot ${snapshot}`);
  } catch (error) {
    await sink.discard();
    throw error;
  }
}

/** The destination of an export. */
interface Sink {
  write(text: string): Promise<void>;
  end(): Promise<void>;
  /** Removes a half-written file. */
  discard(): Promise<void>;
}

const stdoutSink: Sink = { write: printSlowly, end: async () => {}, discard: async () => {} };

/** The file appears under its name when it is complete. @throws the system's error for a file that cannot be created */
async function fileSink(path: string): Promise<Sink> {
  const draft = `${path}.${process.pid}.tmp`;
  const file = await open(draft, 'w');
  return {
    write: (text) => file.writeFile(text),
    end: async () => {
      await file.close();
      await rename(draft, path);
    },
    discard: async () => {
      await file.close();
      await rm(draft, { force: true });
    },
  };
}

async function exportRows(
  client: IsochronClient,
  prefix: string,
  { at }: ExportOptions,
  write: (text: string) => Promise<void>,
): Promise<{ rows: number; snapshot: Timestamp }> {
  const snapshot = await client.snapshot(at === undefined ? {} : { at });
  const progress = new RowProgress('Exporting', undefined);
  let rows = 0;
  try {
    for await (const entries of storedPages(snapshot, prefix, PAGE_SIZE)) {
      await write(entries.map(([key, value]) => `${storedLine(key, value)}\n`).join(''));
      rows += entries.length;
      progress.update(rows, 0);
    }
    return { rows, snapshot: snapshot.timestamp };
  } finally {
    progress.end();
    await snapshot.close();
  }
}
