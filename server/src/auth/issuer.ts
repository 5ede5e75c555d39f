/** An issuer whose tokens (JWT) are accepted: who a token names, once its signature and its claims are checked. */
import { IsochronError, MAX_PRINCIPAL_LENGTH, type Principal, ROLES, type Role } from '@isochron/core';
import {
  createLocalJWKSet,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';
import type { Logger } from 'pino';
import type { IssuerConfig } from './auth-file.js';
import { type FetchTimes, RemoteKeys } from './remote-keys.js';

export interface IssuerOptions {
  readonly times: FetchTimes;
  readonly logger: Pick<Logger, 'warn'>;
  /** The keys of the issuer have changed: accepted tokens have to be checked again. */
  readonly changed: () => void;
  /** Wall clock, ms. */
  readonly now: () => number;
}

/** The principal of a token, as long as its issuer is accepted, and has the key that has signed it. */
class TokenPrincipal implements Principal {
  constructor(
    readonly isAccepted: () => boolean,
    readonly id: string,
    readonly grantedRoles: ReadonlySet<Role>,
    readonly claims: JWTPayload,
    readonly expiry: number,
  ) {}

  get roles(): ReadonlySet<Role> {
    return this.isAccepted() ? this.grantedRoles : NO_ROLES;
  }

  get expiresAt(): number {
    return this.isAccepted() ? this.expiry : 0;
  }
}

const NO_ROLES: ReadonlySet<Role> = new Set();
/** The claim of roles where the operator has named none. */
const DEFAULT_ROLES_CLAIM = 'roles';
/** Greatest time of a token, in seconds: that of a date. */
const MAX_TIME_S = 8.64e12;
/** The roles of a token without the claim for them. */
const DEFAULT_ROLES: ReadonlySet<Role> = new Set(['reader', 'writer']);

export class Issuer {
  readonly #remote: RemoteKeys | undefined;
  readonly #find: JWTVerifyGetKey;
  #isAccepted = true;

  constructor(
    readonly config: IssuerConfig,
    readonly options: IssuerOptions,
  ) {
    const { issuer, source } = config;
    if ('jwks' in source) {
      this.#remote = new RemoteKeys({ ...options, issuer, url: source.jwks });
      this.#find = this.#remote.find;
    } else this.#find = createLocalJWKSet({ keys: [...source.keys] });
  }

  /**
   * The principal of a token.
   * @throws IsochronError `UNAUTHENTICATED` with the reason; `NOT_READY` if the issuer's keys cannot be fetched
   */
  async verify(token: string): Promise<Principal> {
    const { issuer, audience, algorithms, clockToleranceS, rolesClaim } = this.config;
    const options = { issuer, audience, algorithms: [...algorithms], clockTolerance: clockToleranceS };
    const checks = { ...options, requiredClaims: ['sub', 'exp'], currentDate: new Date(this.options.now()) };
    const { payload, protectedHeader } = await this.#verified(token, checks).catch((error: unknown) => {
      throw refusalOf(error);
    });
    checkTimes(payload, this.options.now() / 1000, clockToleranceS);
    const expiry = ((payload.exp ?? 0) + clockToleranceS) * 1000;
    const { kid } = protectedHeader;
    const key = this.#remote?.mark(kid);
    const isAccepted = () => this.#isAccepted && this.#remote?.mark(kid) === key;
    return new TokenPrincipal(isAccepted, idOf(issuer, payload.sub), rolesOf(payload, rolesClaim), payload, expiry);
  }

  /** By one set of keys: where that changes meanwhile, the token is checked once more, whatever came out. */
  async #verified(token: string, checks: JWTVerifyOptions): Promise<JWTVerifyResult> {
    for (;;) {
      const set = this.#remote?.mark(undefined);
      try {
        const result = await jwtVerify(token, this.#find, checks);
        if (this.#remote?.mark(undefined) === set) return result;
      } catch (error) {
        const isForged = error instanceof errors.JWSSignatureVerificationFailed;
        if (!isForged || !(await this.#remote?.hasChanged(set))) throw error;
      }
    }
  }

  /** Tokens of the issuer are accepted no more, and accepted tokens end. */
  close(): void {
    this.#isAccepted = false;
    this.#remote?.close();
  }
}

function idOf(issuer: string, subject: unknown): string {
  if (typeof subject !== 'string' || subject === '') throw unauthenticated('The token names no subject ("sub").');
  const id = `${issuer}#${subject}`;
  if (Buffer.byteLength(id) <= MAX_PRINCIPAL_LENGTH) return id;
  throw unauthenticated(`The issuer and the subject of the token have more than ${MAX_PRINCIPAL_LENGTH} bytes.`);
}

/**
 * Names that are no roles of the cluster count for nothing: the claim may be shared with other services. A token
 * without the claim that the operator has named has no role.
 */
function rolesOf(payload: JWTPayload, claim: string | undefined): ReadonlySet<Role> {
  const named = claimOf(payload, claim ?? DEFAULT_ROLES_CLAIM);
  if (named === undefined) return claim === undefined ? DEFAULT_ROLES : NO_ROLES;
  if (Array.isArray(named)) return new Set(ROLES.filter((role) => named.includes(role)));
  throw unauthenticated(`The claim "${claim ?? DEFAULT_ROLES_CLAIM}" of the token is not a list of roles.`);
}

/** The claim of this name, or the inner claim that the parts of the name lead to. */
function claimOf(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  return name.split('.').reduce<unknown>((value, part) => (isObject(value) ? ownOf(value, part) : undefined), payload);
}

const ownOf = (value: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Latest end of a token, from now. */
const MAX_LIFETIME_S = 400 * 86_400;

/** Refuses times that no clock can have, and tokens that live for ever. */
function checkTimes({ exp = 0, nbf, iat }: JWTPayload, nowS: number, toleranceS: number): void {
  for (const [claim, time] of Object.entries({ exp, nbf, iat }))
    if (time !== undefined && !(Math.abs(time) <= MAX_TIME_S))
      throw unauthenticated(`The time "${claim}" of the token is out of range.`);
  if (exp > nowS + MAX_LIFETIME_S) throw unauthenticated('The token expires in more than 400 days ("exp").');
  if (iat !== undefined && iat > nowS + toleranceS)
    throw unauthenticated('The token was issued later than now. Compare the clocks of its issuer and of this node.');
}

/** The refusal of credentials, for the caller. */
export const unauthenticated = (detail: string, cause?: unknown): IsochronError =>
  new IsochronError('UNAUTHENTICATED', detail, { cause });

/** Sentences for errors of the library, by their code. */
const REASONS: Readonly<Record<string, string>> = {
  [errors.JWTExpired.code]: 'The token has expired. Sign in again.',
  [errors.JOSEAlgNotAllowed.code]: 'The token is signed with an algorithm that this cluster does not accept.',
  [errors.JOSENotSupported.code]: 'The token is signed with an algorithm that this cluster does not accept.',
  [errors.JWSSignatureVerificationFailed.code]: 'The signature of the token is not that of its issuer.',
  [errors.JWKSNoMatchingKey.code]: 'The token is signed with a key that its issuer does not publish.',
  [errors.JWKSMultipleMatchingKeys.code]: 'The token does not name its key ("kid"), and several may be meant.',
};

const CLAIMS: Readonly<Record<string, string>> = {
  iss: 'The token is of an issuer that this cluster does not accept.',
  aud: 'The token is for another audience.',
  nbf: 'The token is not valid yet. Compare the clocks of its issuer and of this node.',
  sub: 'The token names no subject ("sub").',
  exp: 'The token has no time at which it expires ("exp").',
};

function refusalOf(error: unknown): IsochronError {
  if (error instanceof IsochronError) return error;
  const byClaim = error instanceof errors.JWTClaimValidationFailed ? CLAIMS[error.claim] : undefined;
  const byCode = error instanceof errors.JOSEError ? REASONS[error.code] : undefined;
  return unauthenticated(byClaim ?? byCode ?? 'The token is not a valid JWT.', error);
}
