/** One page of the change feed (CF1, CF2). The cursor is the whole state of a reader: any node goes on from it. */
import type { Timestamp } from '@isochron/core/ids';
import type { ChangesFrame } from '@isochron/wire/session-frames';
import { late } from '../errors.js';
import { type Caller, type Cancellable, Exchange, unexpected } from '../link/exchange.js';
import type { Answer } from '../link/frames.js';
import type { Timer } from '../loop.js';
import type { ClientParts } from '../session/parts.js';
import { type ChangesPage, parseChanges } from './frames.js';

/** What to read. */
export interface ChangesRequest {
  /** Prefix of the qualified keys; empty for all. */
  readonly scope: string;
  /** The cursor: the end of the last page. Null for the present end of the feed. */
  readonly after: Timestamp | null;
  /** How long to wait for the first change, in ms. */
  readonly waitMs: number;
  /** The page ends with the transaction that reaches this, in bytes. */
  readonly limitBytes?: number | undefined;
  /** Whether each update comes with the document after it, and each write with the one before it. */
  readonly values?: boolean | undefined;
  readonly before?: boolean | undefined;
}

class ChangesExchange extends Exchange<ChangesPage> {
  readonly #endMs: number;
  readonly #overdue: Timer;

  constructor(
    readonly core: ClientParts,
    readonly request: ChangesRequest,
  ) {
    super();
    const { loop, settings, connector } = core;
    this.#endMs = loop.nowMs + request.waitMs;
    const isOffline = (): boolean => connector.current === undefined;
    // The server's own answer comes first, unless there is no server.
    this.#overdue = loop.after(request.waitMs + settings.requestTimeoutMs, () => this.failed(late(isOffline())));
  }

  override get waits(): boolean {
    return true;
  }

  /** The remaining time goes with it from one connection to the next. */
  frame(id: number): ChangesFrame {
    const { scope, after, limitBytes, values, before } = this.request;
    const waitMs = Math.max(0, Math.ceil(this.#endMs - this.core.loop.nowMs));
    return {
      type: 'changes',
      id,
      scope,
      after,
      waitMs,
      ...(limitBytes === undefined ? {} : { limitBytes }),
      ...(values === true ? { values } : {}),
      ...(before === true ? { before } : {}),
    };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'changes') throw unexpected(frame);
    const page = parseChanges(frame.raw, this.request.after);
    this.core.loop.cancel(this.#overdue);
    this.done(page);
  }

  override failed(reason: unknown): void {
    this.core.loop.cancel(this.#overdue);
    super.failed(reason);
  }
}

/** Reads one page. Throws NOT_SUPPORTED_BY_PROTOCOL. */
export type ReadChanges = (
  core: ClientParts,
  request: ChangesRequest,
  caller: Caller<ChangesPage>,
) => Cancellable | undefined;

/** The page rejects with CHANGES_GONE for a cursor that is too old. */
export const readChanges: ReadChanges = (core, request, caller) => {
  if (!core.can('changes')) throw core.unsupported('has no change feed: read again');
  return new ChangesExchange(core, request).run(core.connector.dispatcher.submit, caller);
};
