/** Reads and listings through a snapshot handle: what the session knows from itself, the rest from the server. */
import type { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey, Timestamp, TxId, Value } from '@isochron/core/ids';
import type { ReadResult } from '@isochron/protocols/kernel/transactions/session';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { malformed } from '../errors.js';
import type { Connection } from '../transport/connection.js';
import { Exchange, type Retry, unexpected } from '../transport/exchange.js';
import type { Answer, Listed } from '../transport/frames.js';
import { type SnapshotHandle, snapshotOf } from './snapshot-handle.js';

/** A request inside a snapshot. */
abstract class SnapshotExchange<T> extends Exchange<T> {
  #sentAs: TxId | undefined;

  constructor(readonly handle: SnapshotHandle) {
    super();
  }

  override prelude(connection: Connection): Exchange | undefined {
    return this.handle.prelude(connection);
  }

  protected fields(connection: Connection): object {
    const fields = this.handle.fields(connection);
    this.#sentAs = 'tx' in fields ? (fields.tx as TxId) : undefined;
    return fields;
  }

  override refused(error: IsochronError, connection: Connection): Retry | undefined {
    const meaning = this.handle.refusal(error, this.#sentAs);
    // It overtook its start, which waits for the snapshot: nothing speaks against this node.
    if (meaning !== error && this.handle.isStarting) return { refusals: 1, elsewhere: false };
    const retry = super.refused(meaning, connection);
    if (retry === undefined && meaning !== error) this.failed(meaning);
    return retry;
  }
}

class ReadExchange extends SnapshotExchange<readonly ReadResult[]> {
  constructor(
    handle: SnapshotHandle,
    readonly keys: readonly QualifiedKey[],
  ) {
    super(handle);
  }

  frame(id: number, connection: Connection): RequestFrame {
    return { type: 'read', id, keys: this.keys, ...this.fields(connection) };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'values') throw unexpected(frame);
    if (frame.values.length !== this.keys.length) throw malformed('another number of values than keys were asked for');
    this.handle.accept(snapshotOf(frame));
    this.done(frame.values.map((version, i) => this.#record(this.keys[i]!, version)));
  }

  #record(key: QualifiedKey, version: readonly [Timestamp, Value] | null): ReadResult {
    const { tx } = this.handle;
    return tx.record(key, version === null ? null : { ts: version[0], txId: '', region: '', value: version[1] });
  }
}

/** What to list, in unqualified keys. */
export interface ListRequest {
  readonly keyspace: string;
  readonly prefix: string;
  readonly start: string;
  readonly limit: number;
}

class ListExchange extends SnapshotExchange<Listed> {
  constructor(
    handle: SnapshotHandle,
    readonly request: ListRequest,
  ) {
    super(handle);
  }

  frame(id: number, connection: Connection): RequestFrame {
    return { type: 'list', id, ...this.request, ...this.fields(connection) };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'listed') throw unexpected(frame);
    this.handle.accept(snapshotOf(frame));
    this.done(frame);
  }
}

/** Reads keys in the handle's snapshot, in order (Alg. 1 lines 8–20); null where there is no value. */
export async function readKeys(
  handle: SnapshotHandle,
  keys: readonly QualifiedKey[],
  signal?: AbortSignal,
): Promise<readonly (Value | null)[]> {
  const results = await resultsOf(handle, keys, signal);
  return results.map(({ value }) => value);
}

async function resultsOf(
  handle: SnapshotHandle,
  keys: readonly QualifiedKey[],
  signal: AbortSignal | undefined,
): Promise<readonly ReadResult[]> {
  const known = keys.map((key) => handle.tx.lookup(key));
  const missing = keys.filter((_key, i) => known[i] === undefined);
  if (missing.length === 0) return known.filter((result) => result !== undefined);
  const asked = await new ReadExchange(handle, missing).run(handle.core.connector.dispatcher.submitTimed, signal);
  if (missing.length === keys.length) return asked;
  let next = 0;
  return known.map((result) => result ?? asked[next++]!);
}

/** One page of a listing, as the server has it. */
export const listPage = (handle: SnapshotHandle, request: ListRequest, signal?: AbortSignal): Promise<Listed> =>
  new ListExchange(handle, request).run(handle.core.connector.dispatcher.submitTimed, signal);
