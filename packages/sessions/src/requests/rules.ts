/** The rules for the contents of requests, the same for HTTP and WebSocket. */
import {
  IsochronError,
  isTimestamp,
  isWellFormed,
  type Limits,
  nestedTooDeeply,
  OPERATIONS_DEPTH,
  operationsOf,
  type QualifiedKey,
  readDocument,
  type Topology,
  tooDeep,
  Update,
  utf8Length,
  type Value,
} from '@isochron/core';
import { maxAnswerBytes } from './answer-size.js';

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
   * The stored form of a document's text: its normal form (F8). Bytes stay as they are.
   * @throws IsochronError `VALUE_INVALID`, with the place of the fault; `VALUE_TOO_LARGE`
   */
  value(value: Value): Value {
    if (typeof value === 'string') return this.#normal(value, readDocument(this.#sized(value)).text);
    this.size(value.length);
    return value;
  }

  /**
   * The text of a document that was written here, from a value that a door has checked.
   * @throws IsochronError `VALUE_INVALID` for a document with too many levels, `VALUE_TOO_LARGE`
   */
  written(text: string): Value {
    if (nestedTooDeeply(text)) throw tooDeep();
    return this.#sized(text);
  }

  /**
   * The update of the JSON text of operations.
   * @throws IsochronError `UPDATE_INVALID`, `VALUE_INVALID`, `VALUE_TOO_LARGE`
   */
  update(operations: string): Update {
    const { text, value } = readDocument(this.#sized(operations), 'operations', OPERATIONS_DEPTH);
    operationsOf(value);
    return new Update(this.#normal(operations, text));
  }

  /** The normal form of a text, which may be longer. @throws IsochronError `VALUE_TOO_LARGE` */
  #normal(given: string, normal: string): string {
    return normal === given ? normal : this.#sized(normal);
  }

  /** A text within the limit. @throws IsochronError `VALUE_TOO_LARGE` */
  #sized(text: string): string {
    const { maxValueBytes } = this.limits;
    if (text.length > maxValueBytes / 3) this.size(text.length > maxValueBytes ? text.length : utf8Length(text));
    return text;
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
