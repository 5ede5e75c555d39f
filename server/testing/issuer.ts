/** An issuer of tokens for tests: keys, a key set on a real port, and tokens of all kinds. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompactSign, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { type AuthConfig, type AuthFile, parseAuthFile } from '../src/auth/auth-file.js';

export const ISSUER = 'https://login.example';
export const AUDIENCE = 'isochron';

/** A pair of keys with its name. */
export interface SigningKey {
  readonly kid: string;
  readonly jwk: JWK;
  sign(claims: JWTPayload, header?: { readonly alg?: string; readonly kid?: string }): Promise<string>;
  /** A token with this text as its claims. */
  signText(text: string): Promise<string>;
}

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid };
  return {
    kid,
    jwk,
    signText: (text) =>
      new CompactSign(new TextEncoder().encode(text)).setProtectedHeader({ alg, kid }).sign(privateKey),
    sign: (claims, header) => new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  };
}

/** Claims of a token of `ann`, valid for an hour. */
export function claims(more: JWTPayload = {}, nowMs = Date.now()): JWTPayload {
  const iat = Math.floor(nowMs / 1000);
  return { iss: ISSUER, aud: AUDIENCE, sub: 'ann', iat, exp: iat + 3600, ...more };
}

/** A key set on a port of its own. */
export interface KeySetServer {
  readonly url: string;
  /** Requests so far. */
  readonly requests: number;
  /** How it answers from now on. */
  answer: (reply: ServerResponse) => void;
  publish(...keys: readonly SigningKey[]): void;
  close(): Promise<void>;
}

export async function keySetServer(...keys: readonly SigningKey[]): Promise<KeySetServer> {
  let requests = 0;
  const server = createServer((_request, reply) => {
    requests++;
    self.answer(reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const self: KeySetServer = {
    url: `http://127.0.0.1:${port}/jwks.json`,
    get requests() {
      return requests;
    },
    answer: () => undefined,
    publish(...published) {
      const text = JSON.stringify({ keys: published.map(({ jwk }) => jwk) });
      self.answer = (reply) => void reply.end(text);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  self.publish(...keys);
  return self;
}

/** The text of a file with one issuer. @param source its keys, or the URL of them */
export const issuerFile = (source: string | readonly SigningKey[], more = ''): string => `issuers:
  - issuer: ${ISSUER}
    audience: ${AUDIENCE}
    ${typeof source === 'string' ? `jwks: ${source}` : `keys: ${JSON.stringify(source.map(({ jwk }) => jwk))}`}
${more}`;

/** A file without a disk. */
export class TestAuthFile implements Pick<AuthFile, 'current' | 'onChange'> {
  current: AuthConfig;
  #listener: (config: AuthConfig) => void = () => undefined;

  constructor(text: string) {
    this.current = parseAuthFile(text, 'auth.yaml');
  }

  onChange(listener: (config: AuthConfig) => void): () => void {
    this.#listener = listener;
    return () => undefined;
  }

  write(text: string): void {
    this.current = parseAuthFile(text, 'auth.yaml');
    this.#listener(this.current);
  }
}
