/** The shape of the file of `--auth`. `auth-file.ts` has the checks that a shape cannot express. */
import { ROLES } from '@isochron/core';
import { type Static, Type } from '@sinclair/typebox';

/** Asymmetric algorithms of signatures alone, so that a node that checks a token cannot make a token. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

const strict = { additionalProperties: false } as const;
const oneOf = (names: readonly string[], what: string) =>
  Type.String({ pattern: `^(?:${names.join('|')})$`, description: `${what}: ${names.join(', ')}` });

/** A public key as a JSON Web Key. Members of a private key are refused: the file is no place for private keys. */
const PublicKeySchema = Type.Object(
  {
    kty: oneOf(['RSA', 'EC', 'OKP'], 'kind of key'),
    d: Type.Optional(Type.Never({ description: 'a public key, without its private part "d"' })),
    k: Type.Optional(Type.Never({ description: 'a public key, without a secret "k"' })),
  },
  { additionalProperties: true },
);

const IssuerSchema = Type.Object(
  {
    issuer: Type.String({ pattern: '^[!"$-~]{1,200}$', description: 'the "iss" of its tokens, without #' }),
    audience: Type.String({ minLength: 1, maxLength: 200, description: 'the "aud" of tokens for this cluster' }),
    jwks: Type.Optional(Type.String({ description: 'URL of its key set (JWKS)' })),
    keys: Type.Optional(Type.Array(PublicKeySchema, { minItems: 1, maxItems: 32, description: '1 to 32 public keys' })),
    algorithms: Type.Optional(
      Type.Array(oneOf(ALGORITHMS, 'algorithm'), { minItems: 1, description: 'at least one algorithm' }),
    ),
    clockToleranceS: Type.Optional(Type.Integer({ minimum: 0, maximum: 300, description: '0 to 300 seconds' })),
    rolesClaim: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'name of a claim' })),
  },
  strict,
);

/** Name of the principal of a key. */
export const PRINCIPAL_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$';

const KeySchema = Type.Object(
  {
    principal: Type.String({
      pattern: PRINCIPAL_PATTERN,
      description: 'name of the principal: 1 to 64 letters, digits and . _ @ -',
    }),
    hash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the key in 64 hex digits' }),
    roles: Type.Array(oneOf(ROLES, 'role'), { description: 'list of roles' }),
    expires: Type.Optional(Type.String({ description: 'a date such as 2030-01-31 or 2030-01-31T12:00Z' })),
    claims: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'attributes for access rules' })),
  },
  strict,
);

/** The file of `--auth`. */
export const AuthFileSchema = Type.Object(
  {
    issuers: Type.Optional(Type.Array(IssuerSchema, { maxItems: 32, description: 'at most 32 issuers' })),
    keys: Type.Optional(Type.Array(KeySchema, { maxItems: 10_000, description: 'at most 10000 keys' })),
  },
  { ...strict, description: '"issuers", "keys", or both' },
);

/** An issuer as the file has it. */
export type IssuerEntry = Static<typeof IssuerSchema>;
/** A key as the file has it. */
export type KeyEntry = Static<typeof KeySchema>;
