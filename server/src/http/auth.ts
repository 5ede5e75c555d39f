import { createHash, timingSafeEqual } from 'node:crypto';
import { IsochronError } from '@isochron/core';
import type { Scope } from './tx-ids.js';

/** The principal of every caller when the cluster requires no key. */
export const ANONYMOUS_PRINCIPAL = 'anonymous';

/** API keys from `ISOCHRON_API_KEYS`: a comma-separated list. None: the API is open. */
export const apiKeysFromEnv = (env: NodeJS.ProcessEnv): string[] =>
  (env.ISOCHRON_API_KEYS ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');

/** Identifies callers by API key. Keys are compared by digest, in constant time, and never logged. */
export class Authenticator {
  readonly #digests: readonly Buffer[];

  constructor(keys: readonly string[] = []) {
    this.#digests = keys.map(digest);
  }

  /** Whether callers need a key. */
  get required(): boolean {
    return this.#digests.length > 0;
  }

  /**
   * The principal of a key: `key:` and 8 hex digits of its digest.
   * @throws IsochronError `UNAUTHENTICATED`
   */
  principal(key: string | undefined): string {
    if (!this.required) return ANONYMOUS_PRINCIPAL;
    const given = digest(key ?? '');
    let known = false;
    for (const accepted of this.#digests) if (timingSafeEqual(accepted, given)) known = true;
    if (key === undefined || !known) throw new IsochronError('UNAUTHENTICATED', 'This cluster asks for an API key.');
    return `key:${given.toString('hex').slice(0, 8)}`;
  }

  /** The principal of an `Authorization` header. @throws IsochronError `UNAUTHENTICATED` */
  fromHeader(header: string | undefined): string {
    return this.principal(keyIn(header));
  }

  /** The client whose share of the node a caller uses: its principal, or its address where callers need no key. */
  client(principal: string, address: string): string {
    return this.required ? principal : address;
  }

  /** The scope that binds ids to the principal of an accepted `Authorization` header. */
  scope(header: string | undefined): Scope {
    return this.required ? digest(keyIn(header) ?? '') : ANY_CALLER;
  }
}

const ANY_CALLER: Scope = Buffer.alloc(0);

const keyIn = (header: string | undefined): string | undefined => /^Bearer +([^ ]+)$/i.exec(header ?? '')?.[1];
const digest = (key: string): Buffer => createHash('sha256').update(key).digest();
