import type { ErrorCode, RegionId } from '@isochron/core';
import type { CommitAttempt, CommitReq } from '@isochron/protocols';
import type { Connection } from '../../clients/io.js';
import type { Co } from '../../engine/coroutine.js';
import type { CommitHooks, CommitResult } from '../adapter.js';
import { isRetryable } from '../retries.js';
import type { NodeMessage } from './message.js';
import type { SimTransaction } from './session.js';

/** So often OUTCOME_PENDING before the region of the connection becomes another home. */
const PENDING_BEFORE_MOVE = 3;
/** So many attempts that were aborted before the application hears of it. */
const MAX_ABORTED_ATTEMPTS = 4;
/** The wire's limit. */
const MAX_ATTEMPTS = 16;

/** What fixes the cohorts of an attempt (D4): kept as it is from its first sending on. */
interface Cohorts {
  readonly home: RegionId;
  readonly avoid: readonly RegionId[];
}

const cohortsOf = ({ region, avoid }: Connection<NodeMessage>): Cohorts => ({ home: region, avoid });

/**
 * One commit as an SDK sees it through: sent, and sent again unchanged, wherever there is a connection, until it is known what became
 * of it (D4, D5). It never gives up while it is in doubt.
 */
export class Commit {
  readonly #attempt: CommitAttempt;
  #attempts: readonly Cohorts[] = [];
  #inDoubt = false;
  #sent = false;
  #pending = 0;
  #aborted = 0;
  #refusals = 0;

  constructor(
    readonly transaction: SimTransaction,
    readonly hooks: CommitHooks,
  ) {
    this.#attempt = transaction.session.commit(transaction.tx);
  }

  *run(): Co<CommitResult> {
    const { io, session } = this.transaction;
    for (;;) {
      const connection = yield* io.connection();
      if (this.#attempts.length === 0) this.#attempts = [cohortsOf(connection)];
      const wasInDoubt = this.#inDoubt;
      const { open, answer } = yield* this.#send(connection);
      if (answer?.type === 'CommitResp') {
        session.committed(answer.ct, answer.deps);
        return { status: 'committed', ct: answer.ct };
      }
      if (answer?.type !== 'Refused') {
        if (connection.open) io.leave(connection);
        continue;
      }
      const { code } = answer;
      this.#refusals++;
      if (code === 'NOT_READY' || code === 'OVERLOADED') this.#inDoubt = wasInDoubt;
      if (code === 'TRANSACTION_UNKNOWN' && open) {
        this.#inDoubt = wasInDoubt; // the server forgot the open transaction; the commit itself can do without
        continue;
      }
      if (!this.#repeats(code, connection)) return this.#refused(code, wasInDoubt);
      if (code === 'NOT_READY' || (code !== 'OUTCOME_PENDING' && this.#refusals % 3 === 0)) io.leave(connection);
      yield* io.backOff(this.#refusals);
    }
  }

  *#send(connection: Connection<NodeMessage>): Co<{ open: boolean; answer: NodeMessage | undefined }> {
    const { io } = this.transaction;
    const open = !this.#sent && this.transaction.isOpenOn(connection);
    if (!open) this.transaction.release();
    const first = !this.#sent;
    this.#sent = true;
    this.#inDoubt = true;
    const detached = this.#request(this.#attempt);
    const request = open ? this.#request({ snapshot: null }) : detached;
    const answer = yield* io.call(connection, request, io.requestTimeoutMs, () => {
      if (first) this.hooks.sent((region) => io.aside(region, detached), connection.node);
    });
    return { open, answer };
  }

  /** In the snapshot of the open transaction, or without any context. */
  #request({ snapshot, deps }: Pick<CommitReq, 'snapshot' | 'deps'>): (ref: number) => NodeMessage {
    const { txId, hwt, birth, writes } = this.#attempt;
    const homes = this.#attempts.map(({ home }) => home);
    const lists = this.#attempts.map(({ avoid }) => avoid);
    const avoids = lists.some((avoid) => avoid.length > 0) ? lists : undefined;
    const principal = 'anonymous';
    return (ref) => ({ type: 'CommitReq', ref, txId, snapshot, deps, hwt, birth, homes, principal, writes, avoids });
  }

  /** Whether the same commit may still succeed; begins another attempt where that is what it takes. */
  #repeats(code: ErrorCode, connection: Connection<NodeMessage>): boolean {
    if (code === 'ATTEMPT_MISMATCH' && this.#attempts.length > 1) {
      this.#attempts = this.#attempts.slice(0, -1);
      return true;
    }
    if (code === 'TRANSACTION_ABORTED') {
      if (++this.#aborted > MAX_ABORTED_ATTEMPTS || this.#attempts.length >= MAX_ATTEMPTS) return false;
      this.#attempts = [...this.#attempts, cohortsOf(connection)];
      this.#inDoubt = false;
      return true;
    }
    if (code === 'OUTCOME_PENDING') this.#nextAttempt(connection);
    return isRetryable(code);
  }

  /** The cohorts of the last attempt do not decide: others become the next one (D4). */
  #nextAttempt(connection: Connection<NodeMessage>): void {
    const next = cohortsOf(connection);
    const last = this.#attempts.at(-1);
    if (last?.home === next.home && last.avoid.join() === next.avoid.join()) return;
    if (++this.#pending < PENDING_BEFORE_MOVE || this.#attempts.length >= MAX_ATTEMPTS) return;
    this.#pending = 0;
    this.#attempts = [...this.#attempts, next];
  }

  /** An abort that is written down is final; anything else is, as long as nothing was in doubt before. */
  #refused(code: ErrorCode, wasInDoubt: boolean): CommitResult {
    this.transaction.session.refused();
    this.transaction.release();
    const final =
      code === 'TRANSACTION_ABORTED' || (code === 'TIMESTAMP_IN_FUTURE' && !wasInDoubt && !this.hooks.duplicated);
    return { status: final ? 'aborted' : 'unknown', code };
  }
}
