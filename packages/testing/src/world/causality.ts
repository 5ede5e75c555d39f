/**
 * Checks that clients' reads are causal. It stores with each write what its session had seen, and follows that
 * transitively; it uses nothing of the protocol. Every written value is the id of its write.
 */

/** A write, by the id that is its value. */
interface Write {
  readonly key: string;
  /** Everything that it causally depends on. */
  readonly past: ReadonlySet<string>;
}

export class Causality {
  readonly violations: string[] = [];
  readonly #writes = new Map<string, Write>();
  readonly #pasts = new Map<string, Set<string>>();

  /** A session writes: whether or not it is answered, the write depends on what the session had seen. */
  wrote(session: string, key: string, id: string): void {
    const past = this.#past(session);
    this.#writes.set(id, { key, past: new Set(past) });
  }

  /** The write is acknowledged: the session depends on it. */
  acknowledged(session: string, id: string): void {
    this.#past(session).add(id);
  }

  /** A session reads keys: one after the other, or in one snapshot. `null` is an absent version. */
  read(session: string, entries: readonly (readonly [key: string, id: string | null])[]): void {
    const past = this.#past(session);
    for (const [key, id] of entries) this.#check(`${session} reads ${key}=${id}`, key, id, past);
    for (const [, id] of entries) {
      if (id === null) continue;
      const cause = this.#writes.get(id)!.past;
      // Nothing else of the snapshot may be older than this version's dependencies.
      for (const [key, other] of entries) {
        this.#check(`${session} reads ${key}=${other} beside ${id}`, key, other, cause);
      }
    }
    for (const [, id] of entries) if (id !== null) this.#learn(past, id);
  }

  /** Everything that a session depends on. */
  #past(session: string): Set<string> {
    let past = this.#pasts.get(session);
    if (past === undefined) {
      past = new Set();
      this.#pasts.set(session, past);
    }
    return past;
  }

  #learn(past: Set<string>, id: string): void {
    if (past.has(id)) return;
    past.add(id);
    for (const cause of this.#writes.get(id)!.past) past.add(cause);
  }

  /** A version is too old when the dependencies contain a later one of the same key. */
  #check(what: string, key: string, id: string | null, past: ReadonlySet<string>): void {
    for (const cause of past) {
      const write = this.#writes.get(cause)!;
      if (write.key !== key || cause === id) continue;
      if (id === null || write.past.has(id)) this.violations.push(`${what} after ${cause}`);
    }
  }
}
