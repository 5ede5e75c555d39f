import { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey } from '@isochron/core/ids';
import { isWellFormed } from '@isochron/core/limits';
import { checkCount, checkKey } from '../documents.js';
import type { Driver, Handle } from '../driver.js';

/** The snapshot of a collection's reads. */
export interface HandleSource {
  readonly driver: Driver;
  /** The snapshot; undefined if each read has its own. Throws TRANSACTION_FINISHED when it has ended. */
  handle(): Handle | undefined;
}

/** The place of keys: a keyspace, and the common prefix of the keys. */
export interface KeyScope {
  readonly keyspace: string;
  readonly prefix: string;
}

/** A keyspace. Throws KEYSPACE_UNKNOWN for an impossible name. */
export function keyspaceScope(name: string): KeyScope {
  if (typeof name !== 'string' || name === '' || name.includes('/') || !isWellFormed(name))
    throw new IsochronError('KEYSPACE_UNKNOWN', `${JSON.stringify(name)} cannot be the name of a keyspace`);
  return { keyspace: name, prefix: '' };
}

/** A collection in a keyspace: keys `name/<id>`. Throws KEY_INVALID. */
export function collectionScope({ keyspace, prefix }: KeyScope, name: string): KeyScope {
  if (name === '') throw new IsochronError('KEY_INVALID', 'a collection has a name');
  return { keyspace, prefix: `${prefix}${name}/` };
}

/** The whole key. Throws KEY_INVALID. */
export function keyIn(scope: KeyScope, key: string, driver: Pick<Driver, 'limits'>): QualifiedKey {
  if (key === '' || typeof key !== 'string')
    throw new IsochronError('KEY_INVALID', 'a key is a text of at least one character');
  if (scope.prefix !== '' && key.includes('/'))
    throw new IsochronError('KEY_INVALID', 'an id has no slash: use collection("a/b")');
  const whole = scope.prefix + key;
  checkKey(whole, driver.limits);
  return `${scope.keyspace}/${whole}`;
}

/** Whole keys. Throws KEY_INVALID or TOO_MANY_KEYS. */
export function keysIn(scope: KeyScope, keys: readonly string[], driver: Driver): QualifiedKey[] {
  checkCount(keys.length, driver.limits);
  return keys.map((key) => keyIn(scope, key, driver));
}
