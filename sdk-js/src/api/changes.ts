/** The change feed as applications see it. Its work is in `../live`, which is loaded with the first use. */
import { checkOptions } from '../check-options.js';
import type { Driver } from '../driver.js';
import { part } from '../parts.js';
import type { ChangesMessage, ChangesOptions } from './changed.js';
import { iterateLater } from './later.js';

/**
 * The committed transactions of a scope, each once and as a whole, in one order that is the same in all regions, up to
 * stable time. `for await (const message of changes)` asks for a message when the loop is ready for it: the server
 * keeps nothing for a slow reader. Without a position the first message comes at once; others come when there are
 * transactions, or after a while without. Every loop begins anew.
 *
 * A lost connection or region costs nothing: the feed waits, and goes on where it was. It rejects with CHANGES_GONE
 * when its position is older than the cluster keeps; with CURSOR_INVALID for a `since` of another scope; with
 * KEYSPACE_UNKNOWN, INVALID_REQUEST, NOT_SUPPORTED_BY_PROTOCOL, CODE_UNAVAILABLE; with CLIENT_CLOSED; with the signal's
 * reason.
 */
export type Changes = AsyncIterable<ChangesMessage>;

/** @internal Throws INVALID_REQUEST for unknown options. */
export function changesOf(driver: Driver, options: ChangesOptions): Changes {
  checkOptions(options, 'keyspace', 'prefix', 'since', 'at', 'signal');
  const load = async () => (await part(import('../live/readers.js'))).feed(driver, { ...options });
  return { [Symbol.asyncIterator]: () => iterateLater(load) };
}
