/** The documents that access rules read for one question. */
import type { QualifiedKey, Value } from '@isochron/core';

/** Documents of the snapshot: undefined for one that was not read, null where there is none. */
export interface Documents {
  get(key: QualifiedKey): Value | null | undefined;
}

const NONE: ReadonlySet<QualifiedKey> = new Set();

/** Documents that one question may read beside its own. */
export const MAX_READ = 10;

/** The evaluation lacks a document. One for all evaluations: a new error would look up its place in the code. */
const UNREAD = new Error('not read yet');

/** The evaluation wants a document that it cannot have. The message has nothing of the data. */
export class Unreadable extends Error {}

export class JudgedReads {
  // Most questions read no other document, so sets are made when they are needed.
  #missing: Set<QualifiedKey> | undefined;
  #all: Set<QualifiedKey> | undefined;
  #now: Set<QualifiedKey> | undefined;
  /** JSON values, each parsed once. */
  #values: Map<string, unknown> | undefined;
  #longest = Number.POSITIVE_INFINITY;

  /** @param after documents that the transaction writes, as they will be: undefined for all others */
  constructor(
    readonly documents: Documents,
    readonly keyspaces: readonly string[],
    readonly after: Documents = documents,
  ) {}

  /** Those that have to be read before the question can be judged. */
  get missing(): ReadonlySet<QualifiedKey> {
    return this.#missing ?? NONE;
  }

  /** Those that the present rule has read. */
  get read(): ReadonlySet<QualifiedKey> {
    return this.#now ?? NONE;
  }

  /** The next rule. @param longest the most characters of a document that it may read */
  begin(longest: number): void {
    this.#now = undefined;
    this.#longest = longest;
  }

  /** The value of another document. */
  get(key: string): unknown {
    return this.#find(key, this.documents);
  }

  /** The same as it will be after the transaction, whether it writes the document or not. */
  getAfter(key: string): unknown {
    return this.#find(key, this.after.get(key) === undefined ? this.documents : this.after);
  }

  #find(key: string, documents: Documents): unknown {
    if (!this.keyspaces.some((name) => key.startsWith(`${name}/`) && key.length > name.length + 1))
      throw new Unreadable('it reads a key of no keyspace of this cluster');
    this.#all ??= new Set();
    this.#all.add(key);
    if (this.#all.size > MAX_READ) throw new Unreadable(`rules read ${MAX_READ} documents at most for one question`);
    this.#now ??= new Set();
    this.#now.add(key);
    const document = documents.get(key);
    if (document === undefined) {
      this.#missing ??= new Set();
      this.#missing.add(key);
      throw UNREAD;
    }
    return this.value(document);
  }

  /** The value of a document. Bytes are no value for a rule. */
  value(document: Value | null): unknown {
    if (document === null) return null;
    if (typeof document !== 'string') throw new Unreadable('it reads a document that is bytes');
    if (document.length > this.#longest)
      throw new Unreadable(`it compares each part of a document of more than ${Math.floor(this.#longest)} characters`);
    const known = this.#values?.get(document);
    if (known !== undefined) return known;
    const value: unknown = JSON.parse(document);
    this.#values ??= new Map();
    this.#values.set(document, value);
    return value;
  }
}
