import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { ANONYMOUS_PRINCIPAL, IsochronError, type Principal, ROLES } from '@isochron/core';
import type { Done } from '@isochron/sessions';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Secrets } from '../config/secret.js';
import type { FailedAuthentications } from './failed-authentications.js';
import type { Scope } from './tx-ids.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who makes the request, where callers need credentials: from the hook of {@link identifyCallers} on. */
    principal: Principal | null;
  }
}

/** API keys from `ISOCHRON_API_KEYS`: a comma-separated list. None: the API is open. */
export const apiKeysFromEnv = (env: NodeJS.ProcessEnv): string[] =>
  (env.ISOCHRON_API_KEYS ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');

/** Identifies callers by API key. Keys are compared by digest, in constant time, and never logged. */
export class Authenticator {
  readonly #keys: readonly { readonly digest: Buffer; readonly principal: Principal }[];
  readonly #scopes = new WeakMap<Principal, Scope>();
  readonly #secret: Secrets['secret'];

  /** @param secrets the first one makes the scopes of principals */
  constructor(keys: readonly string[], { secret }: Secrets) {
    this.#keys = keys.map((key) => keyed(digestOf(key)));
    this.#secret = secret;
  }

  /** Whether callers need credentials. */
  get required(): boolean {
    return this.#keys.length > 0;
  }

  /**
   * Ends with the principal of credentials, perhaps before this returns, or with `UNAUTHENTICATED`. The principal of a
   * key is `key:` and 8 hex digits of its digest.
   */
  authenticate(credentials: string | undefined, done: Done<Principal>): void {
    if (!this.required) {
      done(ANONYMOUS_PRINCIPAL);
      return;
    }
    const given = digestOf(credentials ?? '');
    let found: Principal | undefined;
    for (const { digest, principal } of this.#keys) if (timingSafeEqual(digest, given)) found = principal;
    const isKnown = credentials !== undefined && found !== undefined;
    done(isKnown ? found! : new IsochronError('UNAUTHENTICATED', 'This cluster asks for an API key.'));
  }

  /** The client whose share of the node a caller uses: its principal, or its address where callers need no key. */
  client(principal: Principal, address: string): string {
    return this.required ? principal.id : address;
  }

  /** The secret scope that binds ids to a principal. */
  scope(principal: Principal): Scope {
    if (!this.required) return ANY_CALLER;
    const known = this.#scopes.get(principal);
    if (known !== undefined) return known;
    const scope = createHmac('sha256', this.#secret).update('isochron principal\0').update(principal.id).digest();
    this.#scopes.set(principal, scope);
    return scope;
  }
}

/** Refuses requests without accepted credentials, and sets the principal of the others. */
export function identifyCallers(app: FastifyInstance, auth: Authenticator, failed: FailedAuthentications): void {
  app.decorateRequest('principal', null);
  if (!auth.required) return;
  app.addHook('onRequest', (request, _reply, done) => {
    const identify = (identified: Done<Principal>) => auth.authenticate(credentialsIn(request), identified);
    failed.guard(request.ip, identify, (result) => {
      if (result instanceof IsochronError) {
        done(result);
        return;
      }
      request.principal = result;
      done();
    });
  });
}

const ANY_CALLER: Scope = Buffer.alloc(0);

const credentialsIn = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer +([^ ]+)$/i.exec(headers.authorization ?? '')?.[1];

const digestOf = (key: string): Buffer => createHash('sha256').update(key).digest();

const keyed = (digest: Buffer) => {
  const id = `key:${digest.toString('hex').slice(0, 8)}`;
  return { digest, principal: { id, roles: new Set(ROLES), claims: {}, expiresAt: null } };
};
