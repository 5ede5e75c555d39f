/** Reads the change feed: one request for each message that the application takes. */
import { type ChangesRequest, readChanges } from '@isochron/client/live/changes';
import type { ChangesPage, FeedTransaction } from '@isochron/client/live/frames';
import { IsochronError } from '@isochron/core/errors';
import { type Content, type Timestamp, unqualify } from '@isochron/core/ids';
import { Update } from '@isochron/core/updates/update';
import type { ChangedKey, ChangedTransaction, ChangesMessage, ChangesOptions } from '../api/changed.js';
import { keyspaceScope } from '../api/scope.js';
import { checkKey, decodeDocument } from '../documents.js';
import type { Driver } from '../driver.js';
import { reasonOf, throwIfAborted } from '../signals.js';
import type { Operation } from '../updates.js';

/** How long a request waits for transactions, in ms. */
const WAIT_MS = 30_000;

/** Iterates over the messages of a feed. */
export function feed(driver: Driver, options: ChangesOptions): AsyncIterator<ChangesMessage> {
  const closing = new AbortController();
  const { signal } = options;
  signal?.addEventListener('abort', () => closing.abort(reasonOf(signal)), { signal: closing.signal });
  const messages = read(driver, options, closing.signal);
  let isClosed = false;
  return {
    next: async () => {
      try {
        return await messages.next();
      } catch (error) {
        if (isClosed) return { done: true, value: undefined };
        closing.abort();
        throw error;
      }
    },
    // A request that waits for transactions must not hold it up.
    return: () => {
      isClosed = true;
      closing.abort();
      return messages.return(undefined);
    },
  };
}

async function* read(
  driver: Driver,
  options: ChangesOptions,
  signal: AbortSignal,
): AsyncGenerator<ChangesMessage, undefined, undefined> {
  throwIfAborted(options.signal);
  const scope = scopeOf(driver, options);
  let after = begin(scope, options);
  for (;;) {
    const page = await next(driver, { scope, after, waitMs: WAIT_MS }, signal);
    const { from, to, transactions } = page;
    after = to;
    yield { from, to, cursor: `${to}:${scope}`, transactions: transactions.map(transactionOf) };
  }
}

/** The next page; a fault that may pass is waited for. */
async function next(driver: Driver, request: ChangesRequest, signal: AbortSignal): Promise<ChangesPage> {
  for (;;) {
    try {
      return await driver.call<ChangesPage>({ f: 'changes', read: readChanges, ...request }, signal);
    } catch (error) {
      if (!(error instanceof IsochronError && error.retryable)) throw error;
    }
  }
}

/** The prefix of the qualified keys. */
function scopeOf({ limits }: Driver, { keyspace, prefix }: ChangesOptions): string {
  if (keyspace === undefined) {
    if (prefix !== undefined) throw new IsochronError('INVALID_REQUEST', 'prefix needs a keyspace');
    return '';
  }
  if (prefix !== undefined && prefix !== '') checkKey(prefix, limits);
  return `${keyspaceScope(keyspace).keyspace}/${prefix ?? ''}`;
}

/** The timestamp behind which a feed begins; null for the present end. */
function begin(scope: string, { since, at }: ChangesOptions): Timestamp | null {
  if (since !== undefined && at !== undefined)
    throw new IsochronError('INVALID_REQUEST', 'since and at exclude each other');
  if (since === undefined) return at ?? null;
  const [, to = '', of] = /^(\d{1,16}):(.*)$/s.exec(since) ?? [];
  if (of === scope && Number.isSafeInteger(Number(to))) return Number(to);
  const why = 'the cursor is damaged, or of another keyspace or prefix: read the data anew, and begin with `at`';
  throw new IsochronError('CURSOR_INVALID', why);
}

const transactionOf = ({ tx, ts, writes }: FeedTransaction): ChangedTransaction => ({
  id: tx,
  timestamp: ts,
  writes: writes.map(({ key, value }) => ({ ...unqualify(key), ...contentOf(value) })),
});

function contentOf(content: Content): Omit<ChangedKey, 'keyspace' | 'key'> {
  if (content === null) return { delete: true };
  if (content instanceof Update) return { operations: JSON.parse(content.operations) as Operation[] };
  return typeof content === 'string' ? { value: decodeDocument(content) } : { bytes: content };
}
