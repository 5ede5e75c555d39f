/**
 * Who a connection's session belongs to, and until when that is proven (U1, U2). Its credentials expire by the node's
 * wall clock; newer ones of the same principal take their place.
 */
import { createHash } from 'node:crypto';
import { ANONYMOUS_PRINCIPAL, holderOf, IsochronError, type Principal, type WallMs } from '@isochron/core';
import type { WelcomeFrame } from '@isochron/wire/session-frames';
import type { Done } from '../coordinator/request-port.js';
import type { After } from './stable-waiters.js';

/** An expired connection may renew its credentials for this long before it is closed, ms. */
export const LAPSE_MS = 60_000;
/** The longest timer, ms: a wall clock may be set. */
const MAX_TIMER_MS = 3_600_000;

/** The node that checks credentials: a part of `ServedNode`. */
export interface IdentityNode {
  now(): WallMs;
  readonly after: After;
  authenticate(credentials: string | undefined, done: Done<Principal>): void;
}

export class Identity {
  #principal = ANONYMOUS_PRINCIPAL;
  #isExpired = false;
  #isChecking = false;
  #isOver = false;
  #cancelTimer: () => void = () => {};
  /** Each ends a wait with an error. */
  readonly #waits = new Set<(error: IsochronError) => void>();

  /** Called when expired credentials were not renewed in time. */
  lapsed: () => void = () => {};

  constructor(readonly node: IdentityNode) {}

  /** As it was verified last. */
  get principal(): Principal {
    return this.#principal;
  }

  /** From the time at which the credentials expire until they are renewed, also if the clock is set back. */
  get isExpired(): boolean {
    const { expiresAt } = this.#principal;
    if (!this.#isExpired && expiresAt !== null && this.node.now() >= expiresAt) this.#expire();
    return this.#isExpired;
  }

  /** The greeting was accepted. */
  begin(principal: Principal): void {
    this.#principal = principal;
    this.#watch();
  }

  /**
   * Ends with the principal of newer credentials, which takes the place of the present one; with `UNAUTHENTICATED` for
   * those of another principal, or with `OVERLOADED` while others are checked: then nothing has changed.
   */
  renew(credentials: string, done: Done<Principal>): void {
    if (this.#isChecking) {
      done(
        new IsochronError('OVERLOADED', 'Other credentials of this session are being checked. Wait for the answer.'),
      );
      return;
    }
    this.#isChecking = true;
    this.node.authenticate(credentials, (result) => {
      this.#isChecking = false;
      if (!this.#isOver) done(this.#renewed(result));
    });
  }

  #renewed(result: Principal | IsochronError): Principal | IsochronError {
    if (result instanceof IsochronError) return result;
    if (result.id !== this.#principal.id)
      return new IsochronError('UNAUTHENTICATED', 'The session belongs to another principal: begin one of your own.');
    this.#isExpired = false;
    this.begin(result);
    return result;
  }

  /**
   * Begins a wait, which ends early when the credentials expire.
   * @param begin returns the callback that ends it; undefined if it was refused
   */
  wait<T>(begin: (done: Done<T>) => Done<T> | undefined, done: Done<T>): Done<T> | undefined {
    let isOver = false;
    let end: Done<T> | undefined;
    end = begin((result) => {
      isOver = true;
      if (end !== undefined) this.#waits.delete(end);
      done(this.isExpired ? expired() : result);
    });
    if (end !== undefined && !isOver) this.#waits.add(end);
    return end;
  }

  /** The connection is gone. */
  end(): void {
    this.#isOver = true;
    this.#cancelTimer();
  }

  #watch(): void {
    this.#cancelTimer();
    const { expiresAt } = this.#principal;
    if (expiresAt === null || this.isExpired) return;
    const leftMs = Math.min(MAX_TIMER_MS, expiresAt - this.node.now());
    this.#cancelTimer = this.node.after(leftMs, () => this.#watch());
  }

  #expire(): void {
    this.#isExpired = true;
    this.#cancelTimer();
    this.#cancelTimer = this.node.after(LAPSE_MS, () => this.lapsed());
    for (const end of this.#waits) end(expired());
  }
}

/** Characters of a digest: 132 bits. */
const DIGEST_LENGTH = 22;

/**
 * The digest of a principal, for clients that keep data of a user: it depends on the cluster and the id alone, so it
 * stays when secrets, keys or nodes are replaced (U5).
 */
export function principalField(cluster: string, principal: Principal): Pick<WelcomeFrame, 'principal'> {
  const holder = holderOf(principal);
  if (holder === '') return {};
  const named = JSON.stringify(['isochron principal 1', cluster, holder]);
  return { principal: createHash('sha256').update(named).digest('base64url').slice(0, DIGEST_LENGTH) };
}

/** The refusal of all requests of an expired session. */
export const expired = (): IsochronError =>
  new IsochronError('UNAUTHENTICATED', 'The credentials of the session have expired. Send new ones: "authenticate".');
