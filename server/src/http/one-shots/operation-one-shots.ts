/** One-shot reads and writes as single operations: a token is the caller's whole session. */
import { setTimeout } from 'node:timers/promises';
import { IsochronError, type KeyWrite, plainValue, type QualifiedKey } from '@isochron/core';
import type { GetResp, OperationSession, PutReq, PutResp, RotResp } from '@isochron/protocols';
import {
  attemptsAt,
  clientTxId,
  homeInId,
  type OperationTokens,
  requireCapability,
  type Unreferenced,
  undecided,
  unsupported,
} from '@isochron/sessions';
import type { FastifyRequest } from 'fastify';
import type { OperationsNode } from '../../node/api.js';
import { answerTo } from '../../node/promised.js';
import { newSessionId } from '../../session/ids.js';
import type { ApiContext } from '../context.js';
import type { OneShots, Shown, WriteResult } from './one-shots.js';
import { bounded } from './reader.js';

/** Longest pause before the second round, ms; twice as long before each further round. */
const ROUND_PAUSE_MS = 50;

const OVERTAKEN = new IsochronError('OUTCOME_PENDING', 'Repetitions of the write in other regions overtook this one.');

export class OperationOneShots implements OneShots {
  constructor(
    readonly api: ApiContext,
    readonly node: OperationsNode,
    readonly tokens: OperationTokens,
  ) {}

  async get(request: FastifyRequest, key: QualifiedKey): Promise<Shown> {
    const session = this.#caller(request);
    const answer = await answerTo(this.node.port, session.get(key));
    return this.#shown(request, session, answer, [answer.version]);
  }

  async read(request: FastifyRequest, keys: readonly QualifiedKey[]): Promise<Shown> {
    if (keys.length === 1) return this.get(request, keys[0]!);
    requireCapability(this.node.protocol, 'rot', 'A read of several keys');
    const session = this.#caller(request);
    const answer = await answerTo(this.node.port, session.rot(keys));
    return this.#shown(request, session, answer, answer.versions);
  }

  async write(request: FastifyRequest, writes: readonly KeyWrite[]): Promise<WriteResult> {
    if (writes.length > 1) throw unsupported(this.node.protocol, 'transactions', 'A write of several keys');
    const { txId, repeated } = this.api.writeId(request);
    const session = this.#caller(request);
    const [{ key, value }] = writes as readonly [KeyWrite];
    const stored = this.api.storedId(request, txId);
    const put = session.put(key, plainValue(value), this.api.principal(request).id, stored);
    const answer = await this.#put({ ...put, sentAfter: this.api.sentAfter(repeated) }, 0);
    return { txId, ct: answer.ts, token: this.#tokenAfter(request, session, answer) };
  }

  /**
   * A repetition elsewhere may have given up this region's attempt: then the next round has the outcome (D4). Regions
   * that repeat a write at the same time would give up each other's attempts, so a round begins at a random time.
   */
  async #put(put: Unreferenced<PutReq>, round: number): Promise<PutResp> {
    const { txId } = put;
    const { region, topology } = this.node;
    const home = homeInId(txId, topology)?.home ?? region;
    const attemptRegions = attemptsAt(region, home, round, topology);
    if (attemptRegions === undefined) throw undecided(clientTxId(txId), OVERTAKEN);
    if (round > 0) await setTimeout(Math.random() * ROUND_PAUSE_MS * 2 ** round);
    try {
      return await answerTo(this.node.port, { ...put, attemptRegions });
    } catch (error) {
      if (error instanceof IsochronError && error.code === 'TRANSACTION_ABORTED') return this.#put(put, round + 1);
      throw undecided(clientTxId(txId), error);
    }
  }

  async patch(): Promise<WriteResult> {
    throw unsupported(this.node.protocol, 'transactions', 'PATCH');
  }

  /** @throws IsochronError for a bad token */
  #caller(request: FastifyRequest): OperationSession {
    const token = request.headers['isochron-session'];
    const state =
      token === undefined ? undefined : this.tokens.decode(String(token), this.node.latest(), this.api.holder(request));
    return this.node.protocol.session(newSessionId(), this.node.region, state);
  }

  #shown(
    request: FastifyRequest,
    session: OperationSession,
    answer: GetResp | RotResp,
    versions: Shown['versions'],
  ): Shown {
    return bounded(this.api, { versions, snapshot: undefined, token: this.#tokenAfter(request, session, answer) });
  }

  #tokenAfter(request: FastifyRequest, session: OperationSession, answer: GetResp | RotResp | PutResp): string {
    session.answered(answer);
    return this.tokens.mint(session.export(), this.api.holder(request));
  }
}
