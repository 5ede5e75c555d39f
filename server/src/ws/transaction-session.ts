/** A connection's session under protocols with transactions. */
import type { Timestamp } from '@isochron/core';
import type { SessionRules, Snapshot } from '@isochron/protocols';
import { depsField, NOTHING_SEEN, sameSnapshot } from '@isochron/sessions';
import type { TransactionsContext } from '../http/context.js';
import type { Codec } from './codec.js';
import { handlerOf, TRANSACTION_REQUESTS, type TransactionRequests } from './requests.js';
import type { Serve, ServedSession } from './served-session.js';

export class TransactionSession implements ServedSession, TransactionRequests {
  told: Timestamp = 0;
  principal = '';
  readonly #rules: SessionRules;
  #seen: Snapshot = NOTHING_SEEN;
  #hwt: Timestamp = 0;
  #token = '';

  constructor(
    readonly api: TransactionsContext,
    readonly codec: Codec,
  ) {
    this.#rules = api.sessions.rules;
  }

  get seen(): Snapshot {
    return this.#seen;
  }

  begin(principal: string, token: string | undefined): void {
    this.principal = principal;
    const { sessions, node } = this.api;
    if (token !== undefined) {
      const claims = sessions.tokens.decode(token, node.now());
      this.#seen = claims.seen;
      this.#hwt = claims.hwt;
    }
    this.#seen = this.#stable(this.#seen, node.ust());
    this.told = this.#stableSnapshots ? this.#seen.ts : node.ust();
    this.#token = sessions.tokens.mintPlain(this.#seen, this.#hwt);
  }

  greeting(): ReturnType<ServedSession['greeting']> {
    const seen = this.#seen;
    return {
      ust: seen.ts,
      ...depsField(seen),
      ...(this.#stableSnapshots ? {} : { stable: this.api.node.ust() }),
      hwt: this.#hwt > this.#rules.covers(seen) ? this.#hwt : 0,
      token: this.#token,
    };
  }

  serves(type: unknown): Serve | undefined {
    const handler = handlerOf<TransactionRequests>(TRANSACTION_REQUESTS, type);
    return handler === undefined ? undefined : (frame, id) => handler(frame, id, this);
  }

  saw(snapshot: Snapshot): string | undefined {
    if (this.#stableSnapshots && snapshot.ts > this.told) this.told = snapshot.ts;
    return this.#renew(this.#rules.merge(this.#seen, snapshot), this.#hwt);
  }

  sawStable(ust: Timestamp): string | undefined {
    if (ust > this.told) this.told = ust;
    return this.#renew(this.#stable(this.#seen, ust), this.#hwt);
  }

  committed(commit: Snapshot, snapshot: Snapshot = this.#seen): string | undefined {
    return this.#renew(this.#rules.committed(this.#seen, commit, snapshot), Math.max(this.#hwt, commit.ts));
  }

  learn(token: string): string | undefined {
    const { seen, hwt } = this.api.sessions.tokens.decode(token, this.api.node.now());
    return this.#renew(this.#rules.merge(this.#seen, seen), Math.max(this.#hwt, hwt));
  }

  /** Whether what a snapshot shows is stable. */
  get #stableSnapshots(): boolean {
    return this.api.node.protocol.capabilities.has('stable-snapshots');
  }

  #stable(seen: Snapshot, ust: Timestamp): Snapshot {
    return this.#rules.stable?.(seen, ust) ?? seen;
  }

  /** Takes in what the session has seen and written. Returns its token when that has changed. */
  #renew(seen: Snapshot, hwt: Timestamp): string | undefined {
    if (hwt === this.#hwt && sameSnapshot(seen, this.#seen)) return undefined;
    this.#seen = seen;
    this.#hwt = hwt;
    const token = this.api.sessions.tokens.mintPlain(seen, hwt);
    if (token === this.#token) return undefined;
    this.#token = token;
    return token;
  }
}
