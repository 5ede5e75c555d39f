/** The scopes that a connection watches: their limits, and their reader at the feeds of the node (LQ4). */
import { compareKeys, IsochronError, isWellFormed, type QualifiedKey, utf8Length } from '@isochron/core';
import type { Watch } from '@isochron/protocols';
import type { WatchedScope } from '@isochron/wire/session-frames';
import type { CoordinatorPortFor } from '../coordinator/coordinator-port.js';
import { levelField } from '../requests/range.js';
import type { Rules } from '../requests/rules.js';
import type { Checked } from './frames.js';

/** Scopes of one connection. */
const MAX_WATCHES = 1_000;
/** Named keys of all scopes of one connection. */
const MAX_KEYS = 10_000;

const invalid = (detail: string): IsochronError => new IsochronError('INVALID_REQUEST', detail);

export class Watches {
  /** How many named keys each one has. */
  readonly #keys = new Map<number, number>();
  #reader: number | undefined;

  constructor(
    readonly port: CoordinatorPortFor<'LiveEnd'>,
    /** Returns a number for a new reader at the feeds of the node. */
    readonly newReader: () => number,
  ) {}

  /** The number of the connection's reader. */
  get reader(): number {
    this.#reader ??= this.newReader();
    return this.#reader;
  }

  /**
   * Removes and adds scopes; all or nothing.
   * @returns the added ones
   * @throws IsochronError `WATCH_REUSED`, `TOO_MANY_WATCHES`, `INVALID_REQUEST`, and for keys that the rules refuse
   */
  change(remove: readonly number[], add: readonly Checked<WatchedScope>[], rules: Rules): Watch[] {
    // Most requests follow an answer, with the same scopes.
    if (remove.length === 0 && add.length === 0) return [];
    const left = new Map(this.#keys);
    for (const number of remove) left.delete(number);
    if (left.size + add.length > MAX_WATCHES) throw tooMany(`${MAX_WATCHES} scopes`);
    const added = add.map((one) => {
      const watch = watchOf(one, rules);
      if (left.has(watch.watch)) throw reused(watch.watch);
      left.set(watch.watch, watch.keys.length);
      return watch;
    });
    let keys = 0;
    for (const count of left.values()) keys += count;
    if (keys > MAX_KEYS) throw tooMany(`${MAX_KEYS} keys in its scopes`);
    this.#keys.clear();
    for (const [number, count] of left) this.#keys.set(number, count);
    return added;
  }

  /** The node did not take the reader. */
  clear(): void {
    this.#keys.clear();
  }

  /** The connection is gone. */
  end(): void {
    if (this.#reader !== undefined) this.port.ask({ type: 'LiveEnd', reader: this.#reader }, () => undefined);
    this.#reader = undefined;
  }
}

const tooMany = (what: string): IsochronError =>
  new IsochronError('TOO_MANY_WATCHES', `A connection may have ${what} at most. Watch less, or a range of keys.`);

const reused = (number: number): IsochronError =>
  new IsochronError('WATCH_REUSED', `The connection has a scope ${number}: give each scope a number of its own.`);

/** @throws IsochronError `INVALID_REQUEST`, and for keys that the rules refuse */
function watchOf({ watch, keys, start, end, level }: Checked<WatchedScope>, rules: Rules): Watch {
  if (watch >= 2 ** 32) throw invalid('"watch" is not an integer below 2^32.');
  if (keys == null) return { watch, keys: [], ranges: [{ ...rangeOf(start, end, rules), ...levelField(level) }] };
  if (start != null || end != null || level != null) throw invalid('A scope has "keys", or "start" and "end".');
  if (keys.length === 0) throw invalid('"keys" is empty.');
  if (keys.length > MAX_KEYS) throw tooMany(`${MAX_KEYS} keys in its scopes`);
  for (const key of keys) rules.qualified(key);
  return { watch, keys, ranges: [] };
}

/** @throws IsochronError `INVALID_REQUEST`, `KEYSPACE_UNKNOWN`, `KEY_INVALID` */
function rangeOf(
  start: QualifiedKey | null | undefined,
  end: QualifiedKey | null | undefined,
  rules: Rules,
): { start: QualifiedKey; end: QualifiedKey } {
  if (start == null || end == null) throw invalid('A scope has "keys", or "start" and "end".');
  const slash = start.indexOf('/');
  if (slash < 0) throw new IsochronError('KEY_INVALID', 'A key has its keyspace in front: "default/todos/1".');
  const keyspace = start.slice(0, slash);
  rules.keyspace(keyspace);
  const longest = keyspace.length + 1 + rules.limits.maxKeyBytes;
  for (const bound of [start, end])
    if (!isWellFormed(bound) || utf8Length(bound) > longest)
      throw new IsochronError('KEY_INVALID', `"start" and "end" are UTF-8 of at most ${longest} bytes.`);
  // '0' is the character behind '/': the end of the keyspace.
  if (compareKeys(start, end) >= 0 || compareKeys(end, `${keyspace}0`) > 0)
    throw invalid('"start" is below "end", and all keys between them are of one keyspace.');
  return { start, end };
}
