/** One-shot reads and writes as transactions. */
import { IsochronError, type KeyWrite, mergePatch, type QualifiedKey, type Value } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { Caller } from '@isochron/sessions';
import type { FastifyRequest } from 'fastify';
import type { TransactionsContext } from '../context.js';
import type { OneShots, Shown, WriteResult } from './one-shots.js';
import { readKeys } from './reader.js';
import { commit, oneShot } from './writer.js';

export class TransactionOneShots implements OneShots {
  constructor(readonly api: TransactionsContext) {}

  get(request: FastifyRequest, key: QualifiedKey, at: Snapshot | null): Promise<Shown> {
    return this.read(request, [key], at);
  }

  /** Hot: makes no more promises than necessary. */
  read(request: FastifyRequest, keys: readonly QualifiedKey[], at: Snapshot | null): Promise<Shown> {
    const caller = this.api.reader(request);
    return caller instanceof Promise
      ? caller.then((complete) => this.#read(request, complete, keys, at))
      : this.#read(request, caller, keys, at);
  }

  async write(request: FastifyRequest, writes: readonly KeyWrite[]): Promise<WriteResult> {
    const id = this.api.writeId(request);
    const caller = await this.api.caller(request);
    const order = oneShot(this.api, caller, id, this.api.principal(request).id, writes);
    return { txId: id.txId, ...(await commit(this.api, request, caller, order)) };
  }

  async patch(request: FastifyRequest, key: QualifiedKey, patch: unknown): Promise<WriteResult> {
    const { rules } = this.api;
    const done = await this.#repeatedPatch(request);
    if (done !== undefined) return done;
    const caller = await this.api.reader(request);
    const seen = await readKeys(this.api, request, caller, [key], null);
    const target = parsed(seen.versions[0]?.value);
    const value = rules.written(JSON.stringify(mergePatch(target, patch)));
    return this.write(request, [{ key, value }]).catch((error: unknown) => this.#mergedElsewhere(request, error));
  }

  #read(request: FastifyRequest, caller: Caller, keys: readonly QualifiedKey[], at: Snapshot | null): Promise<Shown> {
    return readKeys(this.api, request, caller, keys, at).then(({ snapshot, versions }) => ({
      snapshot: snapshot.ts,
      versions,
      token: this.api.sessions.tokenAfterRead(caller, snapshot, this.api.holder(request)),
    }));
  }

  /** A repetition that runs beside the first request may merge into another document: the first one is the outcome. */
  async #mergedElsewhere(request: FastifyRequest, error: unknown): Promise<WriteResult> {
    const isOther = error instanceof IsochronError && error.code === 'TX_ID_REUSED';
    const done = isOther ? await this.#repeatedPatch(request) : undefined;
    if (done === undefined) throw error;
    return done;
  }

  /** A repeated patch must not merge into its own result: an earlier commit under its id is the answer. */
  async #repeatedPatch(request: FastifyRequest): Promise<WriteResult | undefined> {
    const { txId, repeated } = this.api.writeId(request);
    if (!repeated) return undefined;
    const { status, ts } = await this.api.statusOf(request, txId, null);
    if (status === 'pending' || status === 'deferred')
      throw new IsochronError('OUTCOME_PENDING', 'The patch was sent before and is being decided.');
    if (status !== 'committed' || ts === null) return undefined;
    const caller = await this.api.caller(request);
    const seen = this.api.sessions.knownTo(caller);
    // Its writes are not on this node: the caller's next read waits until they are stable.
    const token = this.api.sessions.tokens.mint({ seen, hwt: Math.max(caller.hwt, ts) }, this.api.holder(request));
    return { txId, ct: ts, token };
  }
}

function parsed(value: Value | null | undefined): unknown {
  if (value == null) return undefined;
  if (typeof value === 'string') return JSON.parse(value);
  throw new IsochronError('UNSUPPORTED_MEDIA_TYPE', 'The key holds bytes: only a JSON document can be patched.');
}
