/** A reader of the change feed over HTTP. It verifies the order of transactions, and that no message is missing. */
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { loadCluster } from './loaded-cluster.js';

export interface FeedJob {
  readonly configFile: string;
  readonly region: string;
  /** Timestamp behind which it reads; undefined for the present end of the feed. */
  readonly from?: number;
  /** Reads for this time, and then up to the stable time at that moment. */
  readonly durationMs: number;
}

export interface FeedLoad extends Load {
  readonly from: number;
  /** End of the last message. */
  readonly to: number;
  readonly bytes: number;
  readonly messages: number;
}

interface Message {
  readonly from: number;
  readonly to: number;
  readonly cursor: string;
  readonly transactions: readonly { readonly timestamp: number }[];
}

const WAIT_MS = 1000;

answerJobs<FeedJob, FeedLoad>(async ({ configFile, region, from, durationMs }) => {
  const [url] = loadCluster(configFile).endpoints(region) as [string];
  const first = await read(url, from === undefined ? '' : `at=${from}&wait=0`);
  const load = { operations: first.transactions.length, messages: 1, bytes: first.bytes };
  const began = performance.now();
  let [last, end]: [Message, number | undefined] = [first, undefined];
  while (end === undefined || last.to < end) {
    const message = await read(url, `since=${last.cursor}&wait=${WAIT_MS}`);
    verify(last, message);
    load.operations += message.transactions.length;
    load.messages++;
    load.bytes += message.bytes;
    last = message;
    if (end === undefined && performance.now() - began >= durationMs) end = (await read(url, '')).to;
  }
  return { ...load, elapsedMs: performance.now() - began, from: first.from, to: last.to };
});

async function read(url: string, query: string): Promise<Message & { readonly bytes: number }> {
  const answer = await fetch(`${url}/v1/changes?keyspace=default&${query}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the feed answers ${answer.status}: ${text}`);
  return { ...(JSON.parse(text) as Message), bytes: text.length };
}

function verify(last: Message, { from, to, transactions }: Message): void {
  if (from !== last.to) throw new Error(`a message begins at ${from}, the last one ended at ${last.to}`);
  let before = from;
  for (const { timestamp } of transactions) {
    if (timestamp < before || timestamp <= from || timestamp > to) throw new Error(`${timestamp} is out of order`);
    before = timestamp;
  }
}
