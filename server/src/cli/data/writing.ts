/** Many rows in many transactions, on several sessions at once. */
import { IsochronError, isIsochronError, type WriteReceipt } from '@isochron/sdk';
import { Interrupted } from '../failures.js';
import { count } from '../output.js';
import { type Row, type RowSink, writeRows } from './rows.js';

/** How often a transaction is run before its abort is a failure. */
const MAX_ATTEMPTS = 5;

/** The part of a client that writing needs. */
export interface Writer {
  transaction(run: (tx: RowSink) => void): Promise<{ readonly write: WriteReceipt | undefined }>;
}

/** The result of writing. */
export interface WriteTotals {
  readonly rows: number;
  readonly transactions: number;
  /** The last commit by timestamp: when it is visible, all are. */
  readonly last: { readonly receipt: WriteReceipt; readonly writer: number } | undefined;
}

/** How rows are written. */
export interface WritingOptions {
  /** Rows in a transaction. */
  readonly batch: number;
  /** Rows at the beginning of the input that are passed over. */
  readonly skip: number;
  /** Stops taking rows; transactions in flight are finished. */
  readonly signal: AbortSignal;
  onProgress(rows: number): void;
}

/** Counts acknowledged rows, and the unbroken run of them from the beginning: another attempt may start after it. */
class Acknowledged {
  rows = 0;
  transactions = 0;
  /** Rows before the first one that is not acknowledged. */
  prefix: number;
  readonly #ahead = new Map<number, number>();

  constructor(start: number) {
    this.prefix = start;
  }

  add(from: number, rows: number): void {
    this.rows += rows;
    this.transactions++;
    this.#ahead.set(from, rows);
    for (let next = this.#ahead.get(this.prefix); next !== undefined; next = this.#ahead.get(this.prefix)) {
      this.#ahead.delete(this.prefix);
      this.prefix += next;
    }
  }
}

interface RowBatch {
  readonly from: number;
  readonly rows: readonly Row[];
}

async function* batchesOf(rows: AsyncIterable<Row>, batch: number, skip: number): AsyncGenerator<RowBatch, void> {
  let from = 0;
  let pending: Row[] = [];
  for await (const row of rows) {
    if (from < skip) {
      from++;
      continue;
    }
    pending.push(row);
    if (pending.length < batch) continue;
    yield { from, rows: pending };
    from += pending.length;
    pending = [];
  }
  if (pending.length > 0) yield { from, rows: pending };
}

/**
 * Writes rows in transactions; each writer has one in flight.
 * @throws the first failure, with the number of acknowledged rows and how to continue; Interrupted after the signal
 */
export async function writeAll(
  rows: AsyncIterable<Row>,
  writers: readonly Writer[],
  options: WritingOptions,
): Promise<WriteTotals> {
  const batches = batchesOf(rows, options.batch, options.skip);
  const acknowledged = new Acknowledged(options.skip);
  let last: WriteTotals['last'];
  let failure: { readonly error: unknown } | undefined;
  const work = async (writer: number): Promise<void> => {
    while (failure === undefined && !options.signal.aborted) {
      const next = await batches.next();
      if (next.done) return;
      const write = await writeBatch(writers[writer]!, next.value.rows);
      if (write !== undefined && write.timestamp > (last?.receipt.timestamp ?? 0)) last = { receipt: write, writer };
      acknowledged.add(next.value.from, next.value.rows.length);
      options.onProgress(acknowledged.rows);
    }
  };
  const guarded = (_: Writer, writer: number) =>
    work(writer).catch((error: unknown) => {
      failure ??= { error };
    });
  await Promise.all(writers.map(guarded));
  if (failure !== undefined) throw withAdvice(failure.error, acknowledged);
  if (options.signal.aborted) throw new Interrupted(`interrupted: ${advice(acknowledged)}`);
  return { rows: acknowledged.rows, transactions: acknowledged.transactions, last };
}

/**
 * Conflicts abort no transaction, but the crash of a node during the commit may. Nothing was written then, and the rows
 * are written again in a new transaction.
 */
async function writeBatch(writer: Writer, rows: readonly Row[]): Promise<WriteReceipt | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await writer.transaction((tx) => writeRows(tx, rows))).write;
    } catch (error) {
      if (!isIsochronError(error, 'TRANSACTION_ABORTED') || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

const advice = ({ rows, prefix }: Acknowledged): string =>
  `${count(rows)} rows are acknowledged; to go on, repeat with --skip ${prefix}`;

function withAdvice(error: unknown, acknowledged: Acknowledged): unknown {
  if (!(error instanceof IsochronError)) return error;
  const message = `${error.message.replace(/\.$/, '')} (${advice(acknowledged)})`;
  return new IsochronError(error.code, message, { cause: error, retryable: error.retryable });
}
