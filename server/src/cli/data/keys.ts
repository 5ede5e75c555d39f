/** `get`, `set`, `update`, `claim`, `delete`, `list` and `commit`. */
import { readDocument } from '@isochron/core/read-document';
import { IsochronError, type JsonValue, type Timestamp, type WriteReceipt } from '@isochron/sdk';
import { ReportedFailure } from '../failures.js';
import { escaped, nameOf, print, printSlowly, remark } from '../output.js';
import { type DataOptions, STABLE_TIMEOUT_MS, settle, withClient } from './client.js';
import { readAll } from './input.js';
import { formatRow, parseRow, writeRows } from './rows.js';

/** Options of a command that reads. */
export interface ReadOptions extends DataOptions {
  readonly at?: Timestamp;
}

/** Options of a command that writes. */
export interface WriteOptions extends DataOptions {
  readonly stable: boolean;
}

/** Options of `list`. */
export interface ListOptions extends ReadOptions {
  readonly start?: string;
  readonly limit: number;
  readonly keysOnly: boolean;
}

/** Prints a document. @throws IsochronError `KEY_NOT_FOUND` */
export async function runGet(key: string, options: ReadOptions): Promise<void> {
  const document = await withClient(options, async (client) => {
    if (options.at === undefined) return client.get(key);
    const snapshot = await client.snapshot({ at: options.at });
    try {
      return await snapshot.get(key);
    } finally {
      await snapshot.close();
    }
  });
  if (document === undefined)
    throw new IsochronError('KEY_NOT_FOUND', `"${key}" has no value in the keyspace ${options.keyspace}.`);
  if (options.json) print(escaped(formatRow(key, document)));
  else if (document instanceof Uint8Array) await printSlowly(document);
  else print(JSON.stringify(document, null, 2).split('\n').map(escaped).join('\n'));
}

/** Writes a document: its JSON text, or `-` for stdin. */
export async function runSet(key: string, text: string, options: WriteOptions): Promise<void> {
  const document = await documentOf(text);
  await commitAndPrint(options, (client) => client.set(key, document));
}

/** Changes a document by a merge patch, or by an array of operations: JSON text, or `-` for stdin. */
export async function runUpdate(key: string, text: string, options: WriteOptions): Promise<void> {
  const change = await documentOf(text);
  await commitAndPrint(options, (client) => client.update(key, change));
}

/** Stores a document where there is none, and prints whether this claim was the first. Exit code 1 if it was not. */
export async function runClaim(key: string, text: string, options: DataOptions): Promise<void> {
  const document = await documentOf(text);
  const timeoutMs = STABLE_TIMEOUT_MS;
  const { won, value = null } = await withClient(options, (client) => client.claim(key, document, { timeoutMs }));
  if (options.json) print(`{"won":${won},${escaped(formatRow(key, value)).slice(1)}`);
  else print(won ? 'won' : `lost to ${shown(value)}`);
  if (!won) throw new ReportedFailure(`"${key}" has the document of an earlier claim or write`);
}

/** @throws IsochronError `VALUE_INVALID`, with the place of the fault */
async function documentOf(text: string): Promise<JsonValue> {
  const given = text === '-' ? await readAll('-') : text;
  try {
    return readDocument(given).value as JsonValue;
  } catch (error) {
    if (!(error instanceof IsochronError) || error.cause === undefined) throw error;
    const advice = `a text needs its quotes too: '"hello"'`;
    throw new IsochronError('VALUE_INVALID', `the value is not a JSON document (${advice})`, { cause: error.cause });
  }
}

export const runDelete = (key: string, options: WriteOptions): Promise<void> =>
  commitAndPrint(options, (client) => client.delete(key));

/** Writes all rows of a file, or of stdin, in one transaction. */
export async function runCommit(file: string, options: WriteOptions): Promise<void> {
  const lines = (await readAll(file)).split('\n');
  const rows = lines.flatMap((line, i) => (line.trim() === '' ? [] : [parseRow(line, i + 1)]));
  if (rows.length === 0)
    throw new IsochronError('INVALID_REQUEST', 'there is nothing to commit: the input has no lines');
  await commitAndPrint(options, (client) =>
    client.transaction((tx) => writeRows(tx, rows)).then(({ write }) => write!),
  );
}

type ConnectedClient = Parameters<Parameters<typeof withClient>[1]>[0];

async function commitAndPrint(
  options: WriteOptions,
  commit: (client: ConnectedClient) => Promise<WriteReceipt>,
): Promise<void> {
  const write = await withClient(options, async (client) => {
    const receipt = await commit(client);
    await settle(receipt, options);
    return receipt;
  });
  if (options.json)
    print(JSON.stringify({ transaction: write.txId, timestamp: write.timestamp, stable: options.stable }));
  else print(`committed at ${write.timestamp}${options.stable ? ', visible in every region' : ''}`);
}

/** Prints keys with their documents, in key order and from one snapshot. */
export async function runList(prefix: string, options: ListOptions): Promise<void> {
  const { at, start, limit } = options;
  await withClient(options, async (client) => {
    const snapshot = await client.snapshot(at === undefined ? {} : { at });
    try {
      const pageSize = Math.min(1000, limit + 1);
      const listing = snapshot.list({ prefix, limit: limit + 1, pageSize, ...(start === undefined ? {} : { start }) });
      const entries: { key: string; value: unknown }[] = [];
      for await (const entry of listing) entries.push(entry);
      await printEntries(entries.slice(0, limit), entries.length > limit, snapshot.timestamp, options);
    } finally {
      await snapshot.close();
    }
  });
}

async function printEntries(
  entries: readonly { key: string; value: unknown }[],
  more: boolean,
  snapshot: Timestamp,
  options: ListOptions,
): Promise<void> {
  if (options.json) {
    const items = entries.map(({ key, value }) => (options.keysOnly ? JSON.stringify({ key }) : formatRow(key, value)));
    await printSlowly(`{"snapshot":${snapshot},"more":${more},"entries":[${escaped(items.join(','))}]}\n`);
    return;
  }
  const lines = entries.map(({ key, value }) => (options.keysOnly ? nameOf(key) : `${nameOf(key)}\t${shown(value)}`));
  await printSlowly(lines.map((line) => `${line}\n`).join(''));
  if (more) remark(`There is more: raise --limit, or go on with --start.`);
}

const shown = (value: unknown): string =>
  value instanceof Uint8Array ? `(${value.length} bytes)` : escaped(JSON.stringify(value));
