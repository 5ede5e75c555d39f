/** Reads the change feed over HTTP (CF4): one message for each request, from the next endpoint after a failure. */
import { IsochronError } from '@isochron/core/errors';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { askForText } from '../status/collect.js';
import { Count, Name } from '../status/shape.js';
import type { EndpointOptions } from './client.js';

const WriteSchema = Type.Object({
  keyspace: Name,
  key: Type.String(),
  value: Type.Optional(Type.Unknown()),
  bytes: Type.Optional(Type.String()),
  operations: Type.Optional(Type.Array(Type.Unknown())),
  delete: Type.Optional(Type.Literal(true)),
  valueGone: Type.Optional(Type.Literal(true)),
  before: Type.Optional(Type.Unknown()),
  beforeBytes: Type.Optional(Type.String()),
  beforeGone: Type.Optional(Type.Literal(true)),
});
const TransactionSchema = Type.Object({ id: Name, timestamp: Count, writes: Type.Array(WriteSchema) });
const MessageSchema = Type.Object({
  from: Count,
  to: Count,
  cursor: Type.String({ pattern: '^[A-Za-z0-9_-]+$' }),
  transactions: Type.Array(TransactionSchema),
});

/**
 * A write of a transaction, with one of `value`, `bytes`, `operations` and `delete`; of an update also the document
 * after it, and of any write the document before it, if that was asked for.
 */
export type ChangedWrite = Static<typeof WriteSchema>;
/** A committed transaction with all of its writes in the scope. */
export type ChangedTransaction = Static<typeof TransactionSchema>;
/** All transactions of the scope with `from < timestamp <= to`. */
export type FeedMessage = Static<typeof MessageSchema>;

const isMessage = (answer: unknown): answer is FeedMessage => Value.Check(MessageSchema, answer);

/** What is read, and from where on: after a cursor, after a snapshot, or from the present end. */
export interface FeedOptions extends EndpointOptions {
  readonly keyspace?: string;
  readonly prefix?: string;
  readonly since?: string;
  readonly at?: number;
  /** Whether updates have the document after them, too. */
  readonly values?: boolean;
  /** Whether writes have the document before them, too. */
  readonly before?: boolean;
}

/** A message, and the text of it as the node gave it: numbers beyond double precision are whole in it. */
export interface FeedAnswer {
  readonly message: FeedMessage;
  readonly text: string;
}

/** How much longer than its wait a request may take, ms. */
const GRACE_MS = 5000;

/** A reader of the feed: it keeps the cursor behind the last message. */
export class Feed {
  readonly #options: FeedOptions;
  readonly #signal: AbortSignal;
  #cursor: string | undefined;
  #endpoint = 0;

  /** @param signal ends the request under way */
  constructor(options: FeedOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#cursor = options.since;
  }

  /** The cursor to go on from; undefined before the first message, where none was given. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /** Whether the first message is the present end of the feed. */
  get startsAtEnd(): boolean {
    return this.#cursor === undefined && this.#options.at === undefined;
  }

  /** The timestamp of the present end of the feed, at the endpoint that is in use. */
  async end(): Promise<number> {
    return (await this.#askAny({}, 0)).message.to;
  }

  /**
   * The message behind the last one: it comes as soon as there are transactions, or else after the wait.
   * @throws IsochronError of the last endpoint when none of them answers; a refusal that repeating would not change
   */
  async next(waitMs: number): Promise<FeedAnswer> {
    const { at } = this.#options;
    const position = this.#cursor === undefined ? (at === undefined ? {} : { at: `${at}` }) : { since: this.#cursor };
    const answer = await this.#askAny(position, waitMs);
    this.#cursor = answer.message.cursor;
    return answer;
  }

  async #askAny(position: Readonly<Record<string, string>>, waitMs: number): Promise<FeedAnswer> {
    const { endpoint: endpoints } = this.#options;
    for (let failures = 1; ; failures++) {
      try {
        return await this.#ask(endpoints[this.#endpoint]!, position, waitMs);
      } catch (error) {
        if (!isPassing(error)) throw error;
        this.#endpoint = (this.#endpoint + 1) % endpoints.length;
        if (failures >= endpoints.length || this.#signal.aborted) throw error;
      }
    }
  }

  async #ask(endpoint: string, position: Readonly<Record<string, string>>, waitMs: number): Promise<FeedAnswer> {
    const { keyspace, prefix, values, before } = this.#options;
    const scope = { ...(keyspace === undefined ? {} : { keyspace }), ...(prefix === undefined ? {} : { prefix }) };
    const documents = { ...(values ? { values: 'true' } : {}), ...(before ? { before: 'true' } : {}) };
    const query = new URLSearchParams({ ...scope, ...documents, ...position, wait: `${waitMs}` });
    const request = { path: `/v1/changes?${query}`, timeoutMs: waitMs + GRACE_MS, signal: this.#signal };
    const { answer, text } = await askForText(endpoint.replace(/^ws/, 'http'), this.#options, request, isMessage);
    return { message: answer, text: text.trimEnd() };
  }
}

/** Whether the same request may succeed later, or at another endpoint. */
export const isPassing = (error: unknown): error is IsochronError => error instanceof IsochronError && error.retryable;
