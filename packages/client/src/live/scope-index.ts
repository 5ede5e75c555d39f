/**
 * Finds the scopes of a key: named keys by a map; ranges one after the other, as an application has few of them.
 */
import type { QualifiedKey } from '@isochron/core/ids';
import type { Scope } from './scope.js';

export class ScopeIndex {
  readonly #byKey = new Map<QualifiedKey, Scope[]>();
  readonly #ranges = new Set<Scope>();

  add(scope: Scope): void {
    if (scope.keys === undefined) this.#ranges.add(scope);
    else for (const key of scope.keys) this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), scope]);
  }

  delete(scope: Scope): void {
    this.#ranges.delete(scope);
    for (const key of scope.keys ?? []) {
      const others = (this.#byKey.get(key) ?? []).filter((one) => one !== scope);
      if (others.length === 0) this.#byKey.delete(key);
      else this.#byKey.set(key, others);
    }
  }

  of(key: QualifiedKey): readonly Scope[] {
    const named = this.#byKey.get(key) ?? [];
    if (this.#ranges.size === 0) return named;
    return [...named, ...[...this.#ranges].filter((scope) => scope.contains(key))];
  }
}
