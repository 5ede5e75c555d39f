/**
 * Commits that a map has deferred are committed again, one after the other in their order, before anything else of the
 * session (M10). A commit keeps its id; its next attempt belongs to the newer map. The node that was suspended may have
 * committed it already: that is the answer then (M8).
 */
import type { TxId } from '@isochron/core/ids';
import type { OwnCommit } from '@isochron/protocols/kernel/transactions/own-commits';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { type Carrier, unexpected } from '../link/exchange.js';
import type { Answer } from '../link/frames.js';
import type { CommitQueue } from './commit-queue.js';
import { commitFields, placeOf, sentWrites } from './commits.js';
import { OutcomeExchange } from './outcome.js';
import type { ClientParts, Ended } from './parts.js';
import { TxStatusExchange } from './tx-status.js';

/** Pause after a refusal for good: the node that was suspended commits it at its return. */
const RETRY_MS = 2_000;

class RecommitExchange extends OutcomeExchange {
  /** A deferred commit lies above the horizon: below its timestamp, no log has to be searched for it. */
  readonly attempt: OwnCommit['sent'];

  constructor(
    core: ClientParts,
    readonly own: OwnCommit,
    ended: Ended,
  ) {
    super(core, ended, own.attempts);
    this.attempt = { ...own.sent, sentAfter: Math.max(own.sent.sentAfter, own.ct - 1) };
    this.move('sent');
  }

  protected override get isBehindDeferred(): boolean {
    return false;
  }

  protected override mustMove(_home: string, { map }: Carrier): boolean {
    return this.attempts.at(-1)!.map < map;
  }

  frame(id: number, connection: Carrier): RequestFrame {
    const { core, own, attempt } = this;
    const { snapshot, deps } = attempt;
    return {
      ...commitFields(core, attempt, this.sending(connection)),
      id,
      snapshot,
      ...(deps && { deps }),
      hwt: core.session.hwt,
      first: own.acknowledged,
      writes: sentWrites(attempt, connection),
    };
  }

  answered(frame: Answer, connection: Carrier): void {
    if (frame.type !== 'committed') throw unexpected(frame);
    const place = placeOf(this.core, frame, connection);
    this.own.attempts = this.attempts;
    this.core.session.committedAgain(this.own, frame.ts, place);
    this.committed(frame.ts);
  }

  protected gaveUp(): void {}
}

export class Recommits {
  #current: RecommitExchange | undefined;

  constructor(
    readonly core: ClientParts,
    /** The writes that wait for the deferred commits. */
    readonly queue: CommitQueue,
  ) {}

  /** The commit that is under way. */
  get current(): OutcomeExchange | undefined {
    return this.#current;
  }

  /** Goes on with the first deferred commit, if none is under way. */
  next(): void {
    if (this.#current !== undefined) return;
    const own = this.core.own?.deferred[0];
    if (own === undefined) {
      this.queue.resume();
      return;
    }
    const exchange = new RecommitExchange(this.core, own, (committedAt) => {
      if (this.#current !== exchange) return;
      this.#current = undefined;
      if (committedAt === undefined) this.#ask(own);
      else this.#settled(own);
    });
    this.#current = exchange;
    exchange.run(this.core.connector.dispatcher.submit);
  }

  #settled(own: OwnCommit): void {
    this.queue.follower?.moved(own.sent.txId, own.ct);
    this.next();
  }

  /**
   * A commit was refused, as by access rules: the node that was suspended may have made it at its return. Or a lost
   * disk had a part of the commit (D10): the session goes on without.
   */
  #ask(own: OwnCommit): void {
    const later = (): void => void this.core.loop.after(RETRY_MS, () => this.next());
    const { txId, sentAfter } = own.sent;
    new TxStatusExchange(txId, sentAfter).run(this.core.connector.dispatcher.submitTimed, {
      resolve: ({ state, timestamp = 0 }) => {
        const { session, own: all } = this.core;
        const isNext = all?.deferred[0] === own;
        if (isNext && (state === 'lost' || state === 'forgotten')) all.drop((one) => one === own);
        else if (isNext && state === 'committed' && timestamp > own.ct)
          session.committedAgain(own, timestamp, { map: all.newestCut });
        else return later();
        this.#settled(own);
      },
      reject: later,
    });
  }

  /** The session goes on without its deferred commits. Returns the id of the first. */
  drop(): TxId | undefined {
    const [first] = this.core.own?.drop(({ isDeferred }) => isDeferred) ?? [];
    const exchange = this.#current;
    this.#current = undefined;
    exchange?.cancel(undefined);
    return first;
  }
}
