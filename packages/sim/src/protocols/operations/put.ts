import type { NodeId, QualifiedKey, TxId, Value } from '@isochron/core';
import type { OperationMessage, PutReq } from '@isochron/protocols';
import type { Co } from '../../engine/coroutine.js';
import type { CommitHooks, CommitResult } from '../adapter.js';
import { isRetryable } from '../retries.js';
import type { SimOperationSession } from './session.js';

/** So often OUTCOME_PENDING before the region of the connection becomes another home. */
const PENDING_BEFORE_MOVE = 3;
/** The wire's limit. */
const MAX_HOMES = 16;
/** How often the patience for an answer doubles. */
const MAX_DOUBLINGS = 5;

type Body = Omit<PutReq, 'ref'>;

/**
 * One PUT as an SDK sees it through: sent, and sent again unchanged, wherever there is a connection, until it is known what became of it
 * (D4, D5). It never gives up while it is in doubt.
 */
export class Put {
  #body: Body | undefined;
  #inDoubt = false;
  #pending = 0;
  #refusals = 0;
  #unanswered = 0;

  constructor(
    readonly owner: SimOperationSession,
    readonly txId: TxId,
    readonly key: QualifiedKey,
    readonly value: Value | null,
    readonly hooks: CommitHooks,
  ) {}

  *run(): Co<CommitResult> {
    const { io, session } = this.owner;
    for (;;) {
      const connection = yield* io.connection();
      const wasInDoubt = this.#inDoubt;
      // Every earlier home has to be asked first: an answer may take longer than the one before.
      const patienceMs = io.requestTimeoutMs * 2 ** Math.min(this.#unanswered, MAX_DOUBLINGS);
      const answer = yield* io.call(connection, this.#request(connection.region), patienceMs, () => {
        if (!wasInDoubt && this.#refusals === 0) this.#sent(connection.node);
      });
      if (answer?.type === 'PutResp') {
        session.answered(answer);
        return { status: 'committed', ct: answer.ts };
      }
      if (answer?.type !== 'Refused') {
        this.#unanswered++;
        if (connection.open) io.leave(connection);
        continue;
      }
      const { code } = answer;
      this.#refusals++;
      if (code === 'NOT_READY' || code === 'OVERLOADED') this.#inDoubt = wasInDoubt;
      if (!isRetryable(code)) {
        session.refused();
        return { status: this.#isFinal(code, wasInDoubt) ? 'aborted' : 'unknown', code };
      }
      if (code === 'OUTCOME_PENDING') this.#pending++;
      if (code === 'NOT_READY' || (code !== 'OUTCOME_PENDING' && this.#refusals % 3 === 0)) io.leave(connection);
      yield* io.backOff(this.#refusals);
    }
  }

  #sent(node: NodeId): void {
    const body = this.#body!;
    this.hooks.sent((region) => this.owner.io.aside(region, (ref) => ({ ...body, ref })), node);
  }

  /** The same PUT, with the region of the connection as another home where that is what it takes. */
  #request(region: string): (ref: number) => OperationMessage {
    const { session } = this.owner;
    if (this.#body === undefined) {
      session.move(region);
      this.#body = session.put(this.key, this.value, 'anonymous', this.txId);
    } else if (this.#goesHome(this.#body, region)) {
      session.move(region);
      this.#body = session.retry();
      this.#pending = 0;
    }
    this.#inDoubt = true;
    const body = this.#body;
    return (ref) => ({ ...body, ref });
  }

  /**
   * A region passes a PUT on to its home as long as it can tell that what the session depends on is there. Where it cannot, or the old home
   * does not decide, it becomes the next one (D4).
   */
  #goesHome({ homes, region: seenIn }: Body, region: string): boolean {
    const home = homes.at(-1);
    if (home === region || homes.length >= MAX_HOMES) return false;
    return home !== seenIn || this.#pending >= PENDING_BEFORE_MOVE;
  }

  /** An attempt that was given up is so durably; anything else is final as long as nothing was in doubt before. */
  #isFinal(code: string, wasInDoubt: boolean): boolean {
    return code === 'TRANSACTION_ABORTED' || (code === 'TIMESTAMP_IN_FUTURE' && !wasInDoubt && !this.hooks.duplicated);
  }
}
