/**
 * Reads through a snapshot handle: from the session's own writes where they suffice, else from the server.
 */
import type { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey, TxId, Value } from '@isochron/core/ids';
import type { ReadResult } from '@isochron/protocols/kernel/transactions/session';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { malformed } from '../errors.js';
import { type Caller, type Cancellable, type Carrier, Exchange, type Retry, unexpected } from '../link/exchange.js';
import type { Answer, Values } from '../link/frames.js';
import { type SnapshotHandle, snapshotOf } from './snapshot-handle.js';

/** A request inside a snapshot. */
export abstract class SnapshotExchange<T> extends Exchange<T> {
  #sentAs: TxId | undefined;

  constructor(readonly handle: SnapshotHandle) {
    super();
  }

  override prelude(connection: Carrier): Exchange | undefined {
    return this.handle.prelude(connection);
  }

  protected fields(connection: Carrier): object {
    const fields = this.handle.fields(connection);
    this.#sentAs = 'tx' in fields ? (fields.tx as TxId) : undefined;
    return fields;
  }

  override refused(error: IsochronError, connection: Carrier): Retry | undefined {
    const meaning = this.handle.refusal(error, this.#sentAs);
    // It overtook its start, which waits for the snapshot: this node is as good as another.
    if (meaning !== error && this.handle.isStarting) return { refusals: 1, elsewhere: false };
    const retry = super.refused(meaning, connection);
    if (retry === undefined && meaning !== error) this.failed(meaning);
    return retry;
  }
}

type AnsweredVersions = Values['values'];

class ReadExchange extends SnapshotExchange<AnsweredVersions> {
  constructor(
    handle: SnapshotHandle,
    readonly keys: readonly QualifiedKey[],
  ) {
    super(handle);
  }

  frame(id: number, connection: Carrier): RequestFrame {
    return { type: 'read', id, keys: this.keys, ...this.fields(connection) };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'values') throw unexpected(frame);
    if (frame.values.length !== this.keys.length) throw malformed('another number of values than keys were asked for');
    this.handle.accept(snapshotOf(frame));
    this.done(frame.values);
  }
}

/**
 * Reads keys in the handle's snapshot, in order (Alg. 1 lines 8–20); null for an absent one. Undefined if the session
 * itself has all of them.
 */
export function readKeys(
  handle: SnapshotHandle,
  keys: readonly QualifiedKey[],
  caller: Caller<readonly (Value | null)[]>,
): Cancellable | undefined {
  const { dispatcher } = handle.core.connector;
  const known = keys.map((key) => handle.tx.lookup(key));
  const missing = keys.filter((_key, i) => known[i] === undefined);
  if (missing.length === 0) {
    caller.resolve(known.map((result) => result?.value ?? null));
    return undefined;
  }
  const resolve = (versions: AnsweredVersions): void => {
    const asked = versions.map((version, i) => record(handle, missing[i]!, version));
    let next = 0;
    caller.resolve(known.map((result) => (result ?? asked[next++]!).value));
  };
  return new ReadExchange(handle, missing).run(dispatcher.submitTimed, { resolve, reject: (e) => caller.reject(e) });
}

function record({ tx }: SnapshotHandle, key: QualifiedKey, version: AnsweredVersions[number]): ReadResult {
  return tx.record(key, version === null ? null : { ts: version[0], txId: '', region: '', value: version[1] });
}

/** Reads keys in the handle's snapshot as the server has them, without own writes. */
export const readValues = (
  handle: SnapshotHandle,
  keys: readonly QualifiedKey[],
  { resolve, reject }: Caller<readonly (Value | null)[]>,
): Cancellable =>
  new ReadExchange(handle, keys).run(handle.core.connector.dispatcher.submitTimed, {
    resolve: (versions) => resolve(versions.map((version) => version?.[1] ?? null)),
    reject,
  });
