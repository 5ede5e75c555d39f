/** `changes`: prints the transactions of the change feed, and follows it. */
import { setTimeout as delay } from 'node:timers/promises';
import { IsochronError } from '@isochron/core/errors';
import { UsageError } from '../failures.js';
import { escaped, printSlowly, remark } from '../output.js';
import {
  type ChangedTransaction,
  type ChangedWrite,
  Feed,
  type FeedAnswer,
  type FeedOptions,
  isPassing,
} from './feed.js';

/** Options of `isochron changes`. */
export interface ChangesOptions extends FeedOptions {
  /** Goes on with the changes that are still to come, until it is interrupted. */
  readonly follow: boolean;
  readonly json: boolean;
}

/** How long a request waits for a transaction, ms. */
const FOLLOW_WAIT_MS = 10_000;
/** The same on the way to the present end. */
const END_WAIT_MS = 1000;
/** Time between two attempts while no node answers, ms. */
const RETRY_MS = 500;

/**
 * Prints the changes up to the present end of the feed, or all that come, and the cursor behind them.
 * @throws IsochronError `CHANGES_GONE`, with the commands that go on
 */
export async function runChanges(options: ChangesOptions): Promise<void> {
  const { since, at, keyspace, prefix, follow, json } = options;
  if (since !== undefined && at !== undefined)
    throw new UsageError('give either --since or --at: both name a beginning');
  if (prefix !== undefined && keyspace === undefined) throw new UsageError('--prefix goes with --keyspace');
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const feed = new Feed(options, stopping.signal);
  const show = json ? showMessage : showTransactions;
  try {
    await (follow ? followFeed(feed, stopping.signal, show) : readToEnd(feed, show));
  } catch (error) {
    if (!stopping.signal.aborted) throw withAdvice(error);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
  if (!json && feed.cursor !== undefined) await printSlowly(`cursor ${feed.cursor}\n`);
}

type Show = (answer: FeedAnswer) => Promise<void>;

/** Reads up to the end that the feed had at the beginning. */
async function readToEnd(feed: Feed, show: Show): Promise<void> {
  const end = feed.startsAtEnd ? 0 : await feed.end();
  for (;;) {
    const answer = await feed.next(END_WAIT_MS);
    await show(answer);
    if (answer.message.to >= end) return;
  }
}

/** Once a node has answered, it goes on from the last cursor for as long as it takes until one answers again. */
async function followFeed(feed: Feed, signal: AbortSignal, show: Show): Promise<void> {
  await show(await feed.next(0));
  for (let lost = false; !signal.aborted; ) {
    try {
      const answer = await feed.next(FOLLOW_WAIT_MS);
      if (lost) remark('the feed goes on');
      lost = false;
      await show(answer);
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (!lost && !signal.aborted) remark(escaped(`${error.code}: ${error.message}; going on from the last cursor`));
      lost = true;
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

/** The message as the node gave it, so that a program has the cursor behind everything that it has applied. */
const showMessage: Show = ({ text }) => printSlowly(`${escaped(text.replaceAll(/[\r\n\t]/g, ' '))}\n`);

const showTransactions: Show = async ({ message }) => {
  if (message.transactions.length > 0) await printSlowly(message.transactions.map(transactionLine).join(''));
};

const transactionLine = ({ timestamp, id, writes }: ChangedTransaction): string =>
  `${[timestamp, id, ...writes.map(shown)].join('\t')}\n`;

/** Keys and documents are printed as JSON: neither can have a line break or a tab. */
function shown(write: ChangedWrite): string {
  return escaped(`${JSON.stringify(`${write.keyspace}/${write.key}`)} ${change(write)}${former(write)}`);
}

function change({ value, bytes, operations, delete: deleted, valueGone }: ChangedWrite): string {
  if (deleted) return 'deleted';
  if (operations === undefined) return `= ${document(value, bytes)}`;
  const after = value === undefined && bytes === undefined ? '' : `, to ${document(value, bytes)}`;
  return `updated by ${JSON.stringify(operations)}${valueGone ? ', to a document that is not kept' : after}`;
}

function former({ before, beforeBytes, beforeGone }: ChangedWrite): string {
  if (beforeGone) return ', before: not kept';
  return before === undefined && beforeBytes === undefined ? '' : `, before: ${document(before, beforeBytes)}`;
}

const document = (value: unknown, bytes: string | undefined): string =>
  bytes === undefined ? JSON.stringify(value) : `(${Buffer.from(bytes, 'base64').length} bytes)`;

function withAdvice(error: unknown): unknown {
  if (!(error instanceof IsochronError) || error.code !== 'CHANGES_GONE') return error;
  const advice = 'isochron export --output FILE --json prints its snapshot; then isochron changes --at SNAPSHOT';
  return new IsochronError('CHANGES_GONE', `${error.message} (${advice})`, { cause: error });
}
