/** What an SDK does with a session of single operations, request by request, in simulated time. The protocol's own session is inside. */
import type { ErrorCode, QualifiedKey, Timestamp, TxId, Value } from '@isochron/core';
import type {
  GetResp,
  OperationBody,
  OperationMessage,
  OperationSession,
  OperationSessionState,
  RotResp,
} from '@isochron/protocols';
import type { ClientIo } from '../../clients/io.js';
import type { Co } from '../../engine/coroutine.js';
import {
  type BeginOptions,
  type ClientTransaction,
  type CommitHooks,
  type CommitResult,
  type ProtocolSession,
  RequestFailed,
  type Seen,
} from '../adapter.js';
import { isRetryable } from '../retries.js';
import { Put } from './put.js';

export type Io = ClientIo<OperationMessage>;
type Answer = GetResp | RotResp;

export class SimOperationSession implements ProtocolSession {
  /** Its sessions know no snapshots, so they need no cache. */
  readonly cached = 0;

  constructor(
    readonly session: OperationSession,
    readonly io: Io,
  ) {}

  get ust(): Timestamp {
    return this.session.ust;
  }

  export(): OperationSessionState {
    return this.session.export();
  }

  observe(ust: Timestamp): void {
    this.session.observe(ust);
  }

  begin({ mode }: BeginOptions): ClientTransaction {
    return new SimOperation(this, mode);
  }

  status(): never {
    throw new RequestFailed('NOT_SUPPORTED_BY_PROTOCOL');
  }
}

/** One operation: a GET, a read-only transaction, or a PUT. */
export class SimOperation implements ClientTransaction {
  readonly id: TxId;
  /** Nobody tells it. */
  readonly snapshot = undefined;
  #write: { readonly key: QualifiedKey; readonly value: Value | null } | undefined;

  constructor(
    readonly owner: SimOperationSession,
    readonly mode: BeginOptions['mode'],
  ) {
    this.id = owner.session.nextTxId();
  }

  *read(keys: readonly QualifiedKey[]): Co<readonly Seen[]> {
    const { session } = this.owner;
    const [first] = keys;
    const answer = yield* this.#exchange(() =>
      this.mode === 'single' && first !== undefined ? session.get(first) : session.rot(keys),
    );
    const versions = answer.type === 'GetResp' ? [answer.version] : answer.versions;
    return keys.map((key, i) => ({ key, value: versions[i]?.value ?? null }));
  }

  list(): never {
    throw new RequestFailed('NOT_SUPPORTED_BY_PROTOCOL');
  }

  write(key: QualifiedKey, value: Value | null): void {
    if (this.#write !== undefined) throw new RequestFailed('NOT_SUPPORTED_BY_PROTOCOL');
    this.#write = { key, value };
  }

  commit(hooks: CommitHooks): Co<CommitResult> {
    const { key, value } = this.#write!;
    return new Put(this.owner, this.id, key, value, hooks).run();
  }

  end(): void {}

  /** A read with its repetitions, until it is answered, refused for good, or late. */
  *#exchange(begin: () => OperationBody): Co<Answer> {
    const { io, session } = this.owner;
    const deadlineMs = io.nowMs + io.requestTimeoutMs;
    let last: ErrorCode = 'CONNECTION_LOST';
    for (let refusals = 1; ; ) {
      const connection = yield* io.connection();
      if (io.nowMs >= deadlineMs) throw new RequestFailed(last);
      session.move(connection.region);
      const body = begin();
      const answer = yield* io.call(connection, (ref) => ({ ...body, ref }), deadlineMs - io.nowMs);
      if (answer?.type === 'GetResp' || answer?.type === 'RotResp') {
        session.answered(answer);
        return answer;
      }
      session.refused();
      if (answer?.type !== 'Refused') continue;
      last = answer.code;
      if (!isRetryable(last)) throw new RequestFailed(last);
      if (last === 'NOT_READY' || refusals % 3 === 0) io.leave(connection);
      yield* io.backOff(refusals++);
    }
  }
}
