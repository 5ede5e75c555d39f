/**
 * API keys, known by their hashes. A key is 256 random bits, so that a plain SHA-256 of it is enough: a slow hash
 * protects secrets that can be guessed, and this one cannot. Looking a digest up in a map gives nothing away
 * either: the time it takes depends on the digest, and a caller that could choose digests could break SHA-256.
 */
import { createHash, randomBytes } from 'node:crypto';
import { type Principal, ROLES } from '@isochron/core';
import type { KeyConfig } from './auth-file.js';

/** Marks a key as one of this product, so that scanners of published code find it. */
const PREFIX = 'isochron_';

/** A new key. It is shown once; the file has its hash. */
export const newApiKey = (): string => `${PREFIX}${randomBytes(32).toString('base64url')}`;

/** The digest that stands for credentials, in hex. */
export const digestOf = (credentials: string): string => createHash('sha256').update(credentials).digest('hex');

/** The principal of a key, as the file has it now: a session notices at once when its key is revoked. */
class KeyPrincipal implements Principal {
  readonly id: string;
  roles: Principal['roles'] = new Set();
  claims: Principal['claims'] = {};
  expiresAt: number | null = null;

  constructor(config: KeyConfig) {
    this.id = `key:${config.principal}`;
    this.become(config);
  }

  become({ roles, claims, expiresAt }: KeyConfig): void {
    this.roles = roles;
    this.claims = claims;
    this.expiresAt = expiresAt;
  }

  revoke(): void {
    this.roles = new Set();
    this.expiresAt = 0;
  }
}

export class ApiKeys {
  #byDigest = new Map<string, KeyPrincipal>();

  /** The principal of a key that has not expired. */
  find(digest: string, nowMs: number): Principal | undefined {
    const found = this.#byDigest.get(digest);
    return found === undefined || (found.expiresAt !== null && nowMs >= found.expiresAt) ? undefined : found;
  }

  /** Accepts these keys alone from now on. */
  replace(keys: readonly KeyConfig[]): void {
    const before = this.#byDigest;
    this.#byDigest = new Map(keys.map((key) => [key.hash, this.#principalOf(key, before)]));
    for (const [hash, principal] of before) if (this.#byDigest.get(hash) !== principal) principal.revoke();
  }

  #principalOf(key: KeyConfig, before: ReadonlyMap<string, KeyPrincipal>): KeyPrincipal {
    const known = before.get(key.hash);
    if (known?.id !== `key:${key.principal}`) return new KeyPrincipal(key);
    known.become(key);
    return known;
  }
}

/** A key of `ISOCHRON_API_KEYS`: it has all roles, and its principal has the name of 8 digits of its hash. */
export function environmentKey(key: string): KeyConfig {
  const hash = digestOf(key);
  return { principal: hash.slice(0, 8), hash, roles: new Set(ROLES), expiresAt: null, claims: {} };
}
