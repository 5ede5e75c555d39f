/** A cluster whose callers need a token, and whose rules judge what they do. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ISSUER = 'https://login.example';
const AUDIENCE = 'isochron';
const HOUR_S = 3600;
const TOKEN = 'token';
/** One rule, which reads no other document, allows everything to the user of the benchmark. */
const RULES = `rules:
  - name: of-the-benchmark
    match: default/{rest=**}
    allow: [get, list, create, update, delete]
    when: auth.id == '${ISSUER}#bench' && 'writer' in auth.roles
`;

/**
 * Writes the files of credentials and rules into a cluster's folder, and a token.
 * @returns the options of `isochron node`
 */
export function withUsers(folder: string): string[] {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench' };
  const [auth, rules] = [join(folder, 'auth.yaml'), join(folder, 'rules.yaml')];
  writeFileSync(auth, JSON.stringify({ issuers: [{ issuer: ISSUER, audience: AUDIENCE, keys: [jwk] }] }));
  writeFileSync(rules, RULES);
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'bench', iat, exp: iat + HOUR_S };
  const content = [{ alg: 'ES256', kid: 'bench' }, claims].map(encoded).join('.');
  const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  writeFileSync(join(folder, TOKEN), `${content}.${signature.toString('base64url')}`, { mode: 0o600 });
  return ['--auth', auth, '--rules', rules];
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** The token for a cluster; undefined where callers need none. @param configFile its file */
export function tokenFor(configFile: string): string | undefined {
  const file = join(dirname(configFile), TOKEN);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
