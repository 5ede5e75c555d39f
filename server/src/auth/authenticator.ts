/** Who makes a request: by an API key of the environment or of the file of `--auth`, or by a token of an issuer. */
import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ANONYMOUS_PRINCIPAL, type Principal, RecentMap } from '@isochron/core';
import { asIsochronError, type Done } from '@isochron/sessions';
import { MAX_CREDENTIALS_LENGTH } from '@isochron/wire/session-frames/requests';
import { decodeJwt } from 'jose';
import type { Logger } from 'pino';
import type { Secrets } from '../config/secret.js';
import type { PrincipalScope } from '../http/one-shots/tx-ids.js';
import { ApiKeys, digestOf, environmentKey } from './api-keys.js';
import type { AuthConfig, AuthFile } from './auth-file.js';
import { Issuer, unauthenticated } from './issuer.js';
import { DEFAULT_FETCH_TIMES, type FetchTimes } from './remote-keys.js';

/** Tokens that are kept after their signature was checked: a hot caller costs a digest for each request. */
const KEPT_TOKENS = 10_000;

/** The sources of credentials. None: the API is open. */
export interface AuthSources extends Secrets {
  /** API keys with all roles. */
  readonly apiKeys?: readonly string[];
  readonly auth?: Pick<AuthFile, 'current' | 'onChange'> | undefined;
  readonly fetchTimes?: FetchTimes;
  readonly logger?: Pick<Logger, 'warn'> | undefined;
  /** Wall clock, ms. */
  readonly now?: () => number;
}

/** Identifies callers. Credentials are compared by digest, and never logged. */
export class Authenticator {
  readonly #keys = new ApiKeys();
  readonly #issuers = new Map<string, Issuer>();
  /** By the digest of the token. */
  #verified = new RecentMap<string, Principal>(KEPT_TOKENS);
  readonly #scopes = new WeakMap<Principal, readonly [PrincipalScope, ...PrincipalScope[]]>();
  readonly #now: () => number;
  readonly #stop: () => void;

  constructor(readonly sources: AuthSources) {
    const { auth, now = Date.now } = sources;
    this.#now = now;
    this.#take(auth?.current ?? { issuers: [], keys: [] });
    this.#stop = auth?.onChange((config) => this.#take(config)) ?? (() => undefined);
  }

  /** Whether callers need credentials. */
  get required(): boolean {
    const { apiKeys = [], auth } = this.sources;
    return apiKeys.length > 0 || auth !== undefined;
  }

  /**
   * Ends with the principal of credentials, perhaps before this returns, or with `UNAUTHENTICATED`; `NOT_READY` where
   * they cannot be checked now.
   */
  authenticate(credentials: string | undefined, done: Done<Principal>): void {
    if (!this.required) done(ANONYMOUS_PRINCIPAL);
    else if (credentials === undefined)
      done(unauthenticated('This cluster asks for credentials: an API key, or a token of an issuer that it accepts.'));
    else if (credentials.length > MAX_CREDENTIALS_LENGTH)
      done(unauthenticated(`Credentials have at most ${MAX_CREDENTIALS_LENGTH} characters.`));
    else this.#check(credentials, done);
  }

  /** The client whose share of the node a caller uses: its principal, or its address where callers need no key. */
  client(principal: Principal, address: string): string {
    return this.required ? principal.id : address;
  }

  /** The secret scopes that bind ids to a principal: of the first secret, and while it is replaced, of the second. */
  scopes(principal: Principal): readonly [PrincipalScope, ...PrincipalScope[]] {
    if (!this.required) return [ANY_CALLER];
    const known = this.#scopes.get(principal);
    if (known !== undefined) return known;
    const { secret, secondSecret } = this.sources;
    const first = scopeOf(secret, principal);
    const scopes =
      secondSecret === undefined ? ([first] as const) : ([first, scopeOf(secondSecret, principal)] as const);
    this.#scopes.set(principal, scopes);
    return scopes;
  }

  /** The scope of a principal that is the same under every secret of the cluster. */
  lastingScope(principal: Principal): PrincipalScope {
    return this.required ? scopeOf('', principal) : ANY_CALLER;
  }

  close(): void {
    this.#stop();
    for (const issuer of this.#issuers.values()) issuer.close();
  }

  #check(credentials: string, done: Done<Principal>): void {
    const digest = digestOf(credentials);
    const known = this.#keys.find(digest, this.#now()) ?? this.#verifiedBefore(digest);
    if (known !== undefined) done(known);
    else this.#verify(credentials, digest, done);
  }

  #verifiedBefore(digest: string): Principal | undefined {
    const principal = this.#verified.get(digest);
    return principal !== undefined && (principal.expiresAt ?? 0) > this.#now() ? principal : undefined;
  }

  #verify(token: string, digest: string, done: Done<Principal>): void {
    let issuer: Issuer;
    try {
      issuer = this.#issuerOf(token);
    } catch (error) {
      done(asIsochronError(error));
      return;
    }
    // Of this set of keys: a change while the token is checked begins another one.
    const verified = this.#verified;
    issuer.verify(token).then(
      (principal) => {
        verified.set(digest, principal);
        done(principal);
      },
      (error: unknown) => done(asIsochronError(error)),
    );
  }

  /** The issuer that a token names, which is not checked yet. @throws IsochronError `UNAUTHENTICATED` */
  #issuerOf(token: string): Issuer {
    if (this.#issuers.size === 0 || token.split('.').length !== 3)
      throw unauthenticated('The API key is not known here, or it has expired.');
    let name: unknown;
    try {
      name = decodeJwt(token).iss;
    } catch (error) {
      throw unauthenticated('The token is not a valid JWT.', error);
    }
    const issuer = typeof name === 'string' ? this.#issuers.get(name) : undefined;
    if (issuer === undefined) throw unauthenticated('The token is of an issuer that this cluster does not accept.');
    return issuer;
  }

  /** Accepts the credentials of this file and of the environment, and no others. An unchanged issuer keeps its keys. */
  #take({ issuers, keys }: AuthConfig): void {
    this.#keys.replace([...(this.sources.apiKeys ?? []).map(environmentKey), ...keys]);
    const before = new Map(this.#issuers);
    this.#issuers.clear();
    for (const config of issuers) {
      const known = before.get(config.issuer);
      const isSame = known !== undefined && isDeepStrictEqual(known.config, config);
      this.#issuers.set(config.issuer, isSame ? known : this.#open(config));
      if (isSame) before.delete(config.issuer);
    }
    for (const issuer of before.values()) issuer.close();
    this.#reset();
  }

  #open(config: AuthConfig['issuers'][number]): Issuer {
    const { fetchTimes: times = DEFAULT_FETCH_TIMES, logger = { warn: () => undefined } } = this.sources;
    return new Issuer(config, { times, logger, changed: () => this.#reset(), now: this.#now });
  }

  #reset(): void {
    this.#verified = new RecentMap(KEPT_TOKENS);
  }
}

const ANY_CALLER: PrincipalScope = Buffer.alloc(0);

const scopeOf = (secret: string, { id }: Principal): PrincipalScope =>
  createHmac('sha256', secret).update('isochron principal\0').update(id).digest();
