/**
 * The documents of all scopes at the position, each once, and with own writes laid over as observers see them (F5).
 */
import type { QualifiedKey, Value } from '@isochron/core/ids';
import { laidOver } from '@isochron/protocols/kernel/transactions/write-cache';
import type { LiveDocument } from './observer.js';
import type { OwnWrites } from './own-writes.js';
import type { Scope } from './scope.js';
import type { ScopeIndex } from './scope-index.js';

export class Documents {
  /** The snapshot at the position. */
  #values = new Map<QualifiedKey, Value>();
  /** The same with own writes. */
  readonly #shown = new Map<QualifiedKey, LiveDocument>();
  /** Scopes that have changed. */
  #dirty = new Set<Scope>();
  /** What observers have of the keys that have changed since: their object again if a document changes back (LQ3). */
  readonly #observed = new Map<QualifiedKey, LiveDocument | undefined>();

  constructor(
    readonly own: OwnWrites,
    readonly index: ScopeIndex,
  ) {}

  /** The document of a key in the snapshot at the position. */
  value(key: QualifiedKey): Value | null {
    return this.#values.get(key) ?? null;
  }

  set(key: QualifiedKey, value: Value | null): void {
    if (value === null) this.#values.delete(key);
    else this.#values.set(key, value);
  }

  /** Replaces the whole snapshot. Returns the keys of the old and the new one. */
  replace(values: ReadonlyMap<QualifiedKey, Value>): Set<QualifiedKey> {
    const keys = new Set([...this.#values.keys(), ...values.keys()]);
    this.#values = new Map(values);
    return keys;
  }

  /** Keys of the snapshot, or of own writes, may have changed. */
  refresh(keys: Iterable<QualifiedKey>): void {
    for (const key of keys) {
      const scopes = this.index.of(key);
      if (scopes.length === 0) continue;
      const document = this.#document(key);
      for (const scope of scopes) if (scope.show(key, document)) this.#dirty.add(scope);
    }
  }

  /** Removes the documents that no other scope has. The index does not have the scope any more. */
  drop(scope: Scope): void {
    this.#dirty.delete(scope);
    for (const key of [...scope.documents.keys(), ...this.own.keys()]) {
      if (!scope.contains(key) || this.index.of(key).length > 0) continue;
      this.#values.delete(key);
      this.#shown.delete(key);
    }
  }

  /** The scopes that have changed since the last call. */
  takeDirty(): ReadonlySet<Scope> {
    const dirty = this.#dirty;
    if (dirty.size > 0) this.#dirty = new Set();
    this.#observed.clear();
    return dirty;
  }

  #document(key: QualifiedKey): LiveDocument | undefined {
    const own = this.own.of(key);
    const value = laidOver(this.value(key), own) ?? null;
    const old = this.#shown.get(key);
    const known = [old, this.#observed.get(key)];
    const next = value === null ? undefined : { key, value, pending: own.length > 0 };
    const document = next && (known.find((one) => one !== undefined && isSame(one, next)) ?? next);
    if (document === old) return old;
    if (!this.#observed.has(key)) this.#observed.set(key, old);
    if (document === undefined) this.#shown.delete(key);
    else this.#shown.set(key, document);
    return document;
  }
}

const isSame = (a: LiveDocument, b: LiveDocument): boolean => a.pending === b.pending && isEqual(a.value, b.value);

function isEqual(a: Value, b: Value): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
