/** The rules for the contents of requests, the same for HTTP and WebSocket. */
import {
  IsochronError,
  isTimestamp,
  isWellFormed,
  type Limits,
  MAX_DOCUMENT_DEPTH,
  nestedTooDeeply,
  parseOperations,
  type QualifiedKey,
  type Topology,
  Update,
  utf8Length,
  type Value,
} from '@isochron/core';
import { maxAnswerBytes } from './answer-size.js';

/** Levels of a list of operations above the documents in it: `[{"op":"append","path":"","items":[…]}]`. */
const OPERATION_LEVELS = 3;

/** Checks keys and values against one cluster's keyspaces and limits. */
export class Rules {
  readonly #keyspaces: readonly string[];
  readonly #prefixes: readonly string[];
  /** Most bytes of values in one answer. */
  readonly maxAnswerBytes: number;

  constructor(
    topology: Topology,
    readonly limits: Limits,
  ) {
    this.#keyspaces = topology.keyspaces;
    this.#prefixes = topology.keyspaces.map((name) => `${name}/`);
    this.maxAnswerBytes = maxAnswerBytes(limits);
  }

  /** @throws IsochronError `KEYSPACE_UNKNOWN` */
  keyspace(name: string): void {
    if (!this.#keyspaces.includes(name)) {
      throw new IsochronError(
        'KEYSPACE_UNKNOWN',
        `There is no keyspace ${JSON.stringify(name.slice(0, 64))} in this cluster.`,
      );
    }
  }

  /** @throws IsochronError `KEYSPACE_UNKNOWN`, `KEY_INVALID` */
  qualify(keyspace: string, key: string): QualifiedKey {
    this.keyspace(keyspace);
    this.#key(key, key.length);
    return `${keyspace}/${key}`;
  }

  /** Checks a qualified key. @throws IsochronError `KEYSPACE_UNKNOWN`, `KEY_INVALID` */
  qualified(key: string): QualifiedKey {
    for (const prefix of this.#prefixes) {
      if (key.startsWith(prefix)) {
        this.#key(key, key.length - prefix.length, prefix.length);
        return key;
      }
    }
    const slash = key.indexOf('/');
    if (slash < 0) throw new IsochronError('KEY_INVALID', 'A key has its keyspace in front: "default/todos/1".');
    this.keyspace(key.slice(0, slash));
    throw new IsochronError('KEYSPACE_UNKNOWN', 'There is no such keyspace in this cluster.');
  }

  /** @throws IsochronError `TOO_MANY_KEYS` */
  count(keys: number): void {
    const { maxKeysPerRequest } = this.limits;
    if (keys > maxKeysPerRequest) {
      throw new IsochronError(
        'TOO_MANY_KEYS',
        `A request may name ${maxKeysPerRequest} keys at most; this one names ${keys}.`,
      );
    }
  }

  /**
   * Checks a document's text, or bytes.
   * @throws IsochronError `VALUE_INVALID`, `VALUE_TOO_LARGE`
   */
  value(value: Value): Value {
    if (typeof value !== 'string') {
      this.size(value.length);
      return value;
    }
    this.#text(value, MAX_DOCUMENT_DEPTH);
    try {
      JSON.parse(value);
    } catch (cause) {
      throw new IsochronError('VALUE_INVALID', 'The value is not a JSON document.', { cause });
    }
    return value;
  }

  /**
   * Checks the JSON text of operations.
   * @throws IsochronError `UPDATE_INVALID`, `VALUE_INVALID`, `VALUE_TOO_LARGE`
   */
  update(operations: string): Update {
    this.#text(operations, MAX_DOCUMENT_DEPTH + OPERATION_LEVELS);
    parseOperations(operations);
    return new Update(operations);
  }

  /** Checks a JSON text before it is parsed. */
  #text(text: string, levels: number): void {
    const { maxValueBytes } = this.limits;
    if (text.length > maxValueBytes / 3) this.size(text.length > maxValueBytes ? text.length : utf8Length(text));
    if (!isWellFormed(text))
      throw new IsochronError('VALUE_INVALID', 'The document has a lone surrogate: it is not UTF-8.');
    if (nestedTooDeeply(text, levels)) throw tooDeep();
  }

  /** @throws IsochronError `VALUE_TOO_LARGE` */
  size(bytes: number): void {
    const { maxValueBytes } = this.limits;
    if (bytes > maxValueBytes) {
      throw new IsochronError('VALUE_TOO_LARGE', `A value may have ${maxValueBytes} bytes at most.`);
    }
  }

  #key(text: string, length: number, from = 0): void {
    const { maxKeyBytes } = this.limits;
    if (length === 0) throw new IsochronError('KEY_INVALID', 'The key is empty.');
    // A UTF-16 unit has at most three bytes: short keys need no count.
    if (length * 3 > maxKeyBytes && (length > maxKeyBytes || utf8Length(text) - from > maxKeyBytes)) {
      throw new IsochronError('KEY_INVALID', `A key may have ${maxKeyBytes} bytes of UTF-8 at most.`);
    }
    if (!isWellFormed(text)) throw new IsochronError('KEY_INVALID', 'The key has a lone surrogate: it is not UTF-8.');
  }
}

/** The refusal of a document with too many levels. */
export const tooDeep = (): IsochronError =>
  new IsochronError(
    'VALUE_INVALID',
    `The document is nested more than ${MAX_DOCUMENT_DEPTH} levels deep. Divide it over several keys.`,
  );

/** A timestamp from a query or body. @throws IsochronError `INVALID_REQUEST` */
export function timestampOf(raw: unknown, what: string): number {
  if (!isTimestamp(raw)) throw new IsochronError('INVALID_REQUEST', `${what} is not a timestamp.`);
  return raw;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Bytes from base64. @throws IsochronError `VALUE_INVALID` */
export function bytesOf(text: string): Uint8Array {
  if (!BASE64.test(text)) throw new IsochronError('VALUE_INVALID', 'The bytes are not base64.');
  return new Uint8Array(Buffer.from(text, 'base64'));
}
