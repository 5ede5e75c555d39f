/** The file of `--auth`: issuers whose tokens are accepted, and hashes of API keys. */
import { readFileSync } from 'node:fs';
import { IsochronError, ROLES, type Role } from '@isochron/core';
import type { Logger } from 'pino';
import { watchFiles } from '../config/watched-files.js';
import { type Refuse, readYaml } from '../config/yaml-file.js';
import { ALGORITHMS, AuthFileSchema, type IssuerEntry, type KeyEntry } from './schema.js';

/** An issuer of tokens, with every default filled in. */
export interface IssuerConfig {
  readonly issuer: string;
  readonly audience: string;
  /** The URL of its key set, or its public keys. */
  readonly source: { readonly jwks: string } | { readonly keys: readonly object[] };
  readonly algorithms: readonly string[];
  readonly clockToleranceS: number;
  /**
   * Name of the claim with the roles, as the file has it: of a claim, or of one inside of others with dots between them
   * (`realm_access.roles`). Absent: `roles`, and a token without it has the default roles.
   */
  readonly rolesClaim: string | undefined;
}

/** A key, by its hash. */
export interface KeyConfig {
  readonly principal: string;
  /** SHA-256 of the key, in hex. */
  readonly hash: string;
  readonly roles: ReadonlySet<Role>;
  /** Wall clock in ms; null for never. */
  readonly expiresAt: number | null;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A valid file. */
export interface AuthConfig {
  readonly issuers: readonly IssuerConfig[];
  readonly keys: readonly KeyConfig[];
}

const DEFAULT_TOLERANCE_S = 5;

/** Claims that have another meaning in every token. */
const REGISTERED: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/** Whether a token can have a list of roles there. */
const mayHaveRoles = (claim: string): boolean =>
  !REGISTERED.has(claim.split('.')[0]!) && claim.split('.').every((part) => part.trim() === part && part !== '');

/**
 * Reads a file.
 * @param filename only for messages
 * @throws IsochronError `CONFIG_INVALID`, with `file:line` and the reason
 */
export function parseAuthFile(text: string, filename: string): AuthConfig {
  const { file, refuse } = readYaml(AuthFileSchema, text, filename, 'a file of credentials');
  const { issuers = [], keys = [] } = file;
  refuseTwice(issuers, 'issuers', 'issuer', refuse);
  refuseTwice(keys, 'keys', 'hash', refuse);
  return {
    issuers: issuers.map((entry, i) => issuerOf(entry, i, refuse)),
    keys: keys.map((entry, i) => keyOf(entry, i, refuse)),
  };
}

function refuseTwice<F extends string>(
  entries: readonly Readonly<Record<F, string>>[],
  list: string,
  field: F,
  refuse: Refuse,
): void {
  const seen = new Set<string>();
  entries.forEach((entry, i) => {
    if (seen.has(entry[field])) refuse([list, i, field], `the ${field} "${entry[field]}" is there twice`);
    seen.add(entry[field]);
  });
}

function issuerOf(entry: IssuerEntry, i: number, refuse: Refuse): IssuerConfig {
  const { issuer, audience, jwks, keys, algorithms = ALGORITHMS } = entry;
  const { clockToleranceS = DEFAULT_TOLERANCE_S, rolesClaim } = entry;
  if (rolesClaim !== undefined && !mayHaveRoles(rolesClaim))
    refuse(
      ['issuers', i, 'rolesClaim'],
      `"${rolesClaim}" is not valid: expected the name of a claim with a list of roles`,
    );
  if ((jwks === undefined) === (keys === undefined)) refuse(['issuers', i], 'an issuer has either "jwks" or "keys"');
  if (jwks !== undefined && !isSafeUrl(jwks))
    refuse(['issuers', i, 'jwks'], `"${jwks}" is not valid: expected an https URL, or an http one of this machine`);
  const source = jwks === undefined ? { keys: keys ?? [] } : { jwks };
  return { issuer, audience, source, algorithms, clockToleranceS, rolesClaim };
}

/** A program that can replace the keys on their way can sign in as each user: only TLS, or this machine. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && /^(?:127(?:\.\d+){3}|localhost|\[::1\])$/.test(hostname));
}

function keyOf({ principal, hash, roles, expires, claims = {} }: KeyEntry, i: number, refuse: Refuse): KeyConfig {
  const expiresAt = expires === undefined ? null : Date.parse(expires);
  if (Number.isNaN(expiresAt)) refuse(['keys', i, 'expires'], `"${expires}" is not valid: expected a date`);
  return { principal, hash, roles: new Set(ROLES.filter((role) => roles.includes(role))), expiresAt, claims };
}

/** A file that a node follows: its present contents, until a later version of it is good. */
export class AuthFile {
  #current: AuthConfig;
  #failures = 0;
  #reloads = 0;
  readonly #listeners = new Set<(config: AuthConfig) => void>();
  #stop: () => void = () => undefined;

  /** @throws IsochronError `CONFIG_INVALID` */
  constructor(
    readonly path: string,
    readonly logger: Pick<Logger, 'info' | 'error'>,
  ) {
    this.#current = this.#read();
  }

  get current(): AuthConfig {
    return this.#current;
  }

  /** How often a changed file was refused, and taken, since the start. */
  get counts(): { readonly failures: number; readonly reloads: number } {
    return { failures: this.#failures, reloads: this.#reloads };
  }

  /** Calls `listener` with every later version; returns a function that ends it. */
  onChange(listener: (config: AuthConfig) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Follows the file from now on. */
  watch(intervalMs?: number): void {
    this.#stop = watchFiles([this.path], () => this.reload(), intervalMs);
  }

  /** Reads the file again. Where it is refused, the present contents stay in use. */
  reload(): void {
    try {
      this.#current = this.#read();
    } catch (err) {
      this.#failures++;
      this.logger.error({ err }, 'the changed file of credentials is refused; the former one stays in use');
      return;
    }
    this.#reloads++;
    const { issuers, keys } = this.#current;
    this.logger.info({ issuers: issuers.length, keys: keys.length }, 'the file of credentials has changed');
    for (const listener of this.#listeners) listener(this.#current);
  }

  close(): void {
    this.#stop();
    this.#listeners.clear();
  }

  #read(): AuthConfig {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (cause) {
      throw new IsochronError('CONFIG_INVALID', `The file of credentials ${this.path} cannot be read.`, { cause });
    }
    return parseAuthFile(text, this.path);
  }
}
