/**
 * One scope with its documents as observers see them. Observers of equal scopes share it.
 *
 * | state     | documents            | changes that the feed brings     | next state                       |
 * | --------- | -------------------- | -------------------------------- | -------------------------------- |
 * | `reading` | none yet             | are kept with the first read     | `live`: it joins the position    |
 * | `live`    | at the position      | move the documents               | `stale`: after CHANGES_GONE      |
 * | `stale`   | at the old position  | are kept with the read anew      | `live`: the documents are new    |
 */
import { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey, Value } from '@isochron/core/ids';
import { compareKeys, isOfLevel, prefixEnd } from '@isochron/core/versions';
import type { LiveDocument, LiveRange, LiveScope } from './observer.js';

/** Limits of a scope. Bytes are the lengths of keys and values. */
export const MAX_WATCH_DOCUMENTS = 10_000;
export const MAX_WATCH_BYTES = 16 * 2 ** 20;

/** The share of a limit from which on it is reported. */
const WARNED = 0.8;

export const watchTooLarge = (): IsochronError =>
  new IsochronError(
    'WATCH_TOO_LARGE',
    `a watch holds at most ${MAX_WATCH_DOCUMENTS} documents and 16 MiB: watch fewer keys, or a shorter range`,
  );

export class Scope {
  state: 'reading' | 'live' | 'stale' = 'reading';
  /** Number of the request of the present connection that named it; infinite before that is answered. */
  since = Number.POSITIVE_INFINITY;
  readonly documents = new Map<QualifiedKey, LiveDocument>();
  readonly keys: ReadonlySet<QualifiedKey> | undefined;
  /** Documents before the changes that observers have not got. */
  #before = new Map<QualifiedKey, LiveDocument | undefined>();
  #bytes = 0;
  #isReported = false;

  /** @param name equal for equal scopes */
  constructor(
    readonly name: string,
    readonly range: LiveScope,
  ) {
    this.keys = 'keys' in range ? new Set(range.keys) : undefined;
  }

  contains(key: QualifiedKey): boolean {
    if (this.keys !== undefined) return this.keys.has(key);
    const { start, end, level } = this.range as LiveRange;
    return compareKeys(start, key) <= 0 && compareKeys(key, end) < 0 && isOfLevel(level, key);
  }

  get isTooLarge(): boolean {
    return this.documents.size > MAX_WATCH_DOCUMENTS || this.#bytes > MAX_WATCH_BYTES;
  }

  /** Whether the scope comes near its limits, once: its watches would end with WATCH_TOO_LARGE. */
  takeLarge(): boolean {
    const isLarge = this.documents.size > WARNED * MAX_WATCH_DOCUMENTS || this.#bytes > WARNED * MAX_WATCH_BYTES;
    if (!isLarge || this.#isReported) return false;
    this.#isReported = true;
    return true;
  }

  /** Takes the document of a key, or its absence. Returns whether that is a change. */
  show(key: QualifiedKey, document: LiveDocument | undefined): boolean {
    const old = this.documents.get(key);
    if (old === document) return false;
    this.#bytes += bytesOf(document) - bytesOf(old);
    if (document === undefined) this.documents.delete(key);
    else this.documents.set(key, document);
    if (!this.#before.has(key)) this.#before.set(key, old);
    return true;
  }

  /** The keys that have changed since the last call. */
  takeChanged(): ReadonlySet<QualifiedKey> {
    const changed = new Set<QualifiedKey>();
    for (const [key, old] of this.#before) if (this.documents.get(key) !== old) changed.add(key);
    this.#before = new Map();
    return changed;
  }
}

const bytesOf = (document: LiveDocument | undefined): number =>
  document === undefined ? 0 : sizeOf(document.key, document.value);

/** What a document counts for the limit of a watch. */
export const sizeOf = (key: QualifiedKey, value: Value): number => key.length + value.length;

/** The name of a scope. @throws IsochronError INVALID_REQUEST, WATCH_TOO_LARGE */
export function nameOf(scope: LiveScope): string {
  if (!('keys' in scope)) {
    const { start, end, level } = scope;
    const keyspace = start.slice(0, start.indexOf('/') + 1);
    if (keyspace.length < 2 || compareKeys(start, end) >= 0 || compareKeys(end, prefixEnd(keyspace)!) > 0)
      throw new IsochronError('INVALID_REQUEST', 'the range of a watch is empty, or not one of a single keyspace');
    return JSON.stringify([start, end, level]);
  }
  const keys = new Set(scope.keys);
  if (keys.size > MAX_WATCH_DOCUMENTS) throw watchTooLarge();
  if (keys.size === 0) throw new IsochronError('INVALID_REQUEST', 'a watch of no keys');
  return JSON.stringify([[...keys].sort()]);
}
