import { createHmac } from 'node:crypto';
import { IsochronError, MAX_PRINCIPAL_LENGTH, type Principal } from '@isochron/core';
import { MAX_CREDENTIALS_LENGTH } from '@isochron/wire/session-frames/requests';
import fc from 'fast-check';
import {
  AUDIENCE,
  claims,
  ISSUER,
  issuerFile,
  type KeySetServer,
  keySetServer,
  type SigningKey,
  signingKey,
  TestAuthFile,
} from '../../testing/issuer.js';
import { digestOf, newApiKey } from './api-keys.js';
import { Authenticator, type AuthSources } from './authenticator.js';
import { DEFAULT_FETCH_TIMES } from './remote-keys.js';

const SECRET = 'a secret for tests only';
const HOUR_MS = 3_600_000;
let key: SigningKey;
let other: SigningKey;
let nowMs: number;
let open: Authenticator[];
let servers: KeySetServer[];
beforeAll(async () => {
  [key, other] = await Promise.all([signingKey('one'), signingKey('two')]);
});
beforeEach(() => {
  nowMs = Date.now();
  open = [];
  servers = [];
});
afterEach(async () => {
  for (const one of open) one.close();
  await Promise.all(servers.map((one) => one.close()));
});

function authenticator(auth: TestAuthFile, more: Partial<AuthSources> = {}): Authenticator {
  const made = new Authenticator({ secret: SECRET, auth, now: () => nowMs, ...more });
  open.push(made);
  return made;
}

const signedWith = (keys: readonly SigningKey[], more = '') => authenticator(new TestAuthFile(issuerFile(keys, more)));

const principalOf = (auth: Authenticator, credentials: string | undefined): Promise<Principal> =>
  new Promise((resolve, reject) => {
    auth.authenticate(credentials, (result) => (result instanceof IsochronError ? reject(result) : resolve(result)));
  });

/** The code of a refusal and its sentence; `accepted` where there is none. */
const refusal = (auth: Authenticator, credentials: string | undefined): Promise<string> =>
  principalOf(auth, credentials).then(
    () => 'accepted',
    ({ code, message }: IsochronError) => `${code}: ${message}`,
  );

/** Claims without one of them. */
const without = (name: string) => Object.fromEntries(Object.entries(claims()).filter(([claim]) => claim !== name));

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token', () => {
  it('a token names its principal by issuer and subject, with its claims and the time at which it expires', async () => {
    const given = claims({ team: 'blue' }, nowMs);
    const principal = await principalOf(signedWith([key]), await key.sign(given));
    expect(principal).toMatchObject({ id: `${ISSUER}#ann`, claims: { team: 'blue', sub: 'ann' } });
    expect(principal.expiresAt).toBe((given.exp! + 5) * 1000);
  });

  it('a token reads and writes where the operator has named no claim of roles, and it has none', async () => {
    const { roles } = await principalOf(signedWith([key]), await key.sign(claims()));
    expect([...roles]).toEqual(['reader', 'writer']);
  });

  it.each([
    ['inside of another claim', { realm_access: { roles: ['reader'] } }, ['reader']],
    ['whose name has a dot', { 'realm_access.roles': ['writer'] }, ['writer']],
    ['that is not there', { realm_access: {} }, []],
    ['below a text', { realm_access: 'roles' }, []],
    ['below a list', { realm_access: [{ roles: ['operator'] }] }, []],
  ])('a token has the roles of a claim %s', async (_what, more, roles) => {
    const auth = signedWith([key], '    rolesClaim: realm_access.roles');
    expect([...(await principalOf(auth, await key.sign(claims(more)))).roles]).toEqual(roles);
  });

  it.each([
    ['expires never', '"exp":1e999', 'The time "exp" of the token is out of range.'],
    ['expires after the end of all dates', '"exp":1e300', 'The time "exp" of the token is out of range.'],
    ['expires in a thousand years', '"exp":33287000000', 'The token expires in more than 400 days ("exp").'],
    ['expired before all dates', '"exp":-1e999', 'The token has expired. Sign in again.'],
    ['is valid since ever', '"exp":EXP,"nbf":-1e999', 'The time "nbf" of the token is out of range.'],
    ['is valid never', '"exp":EXP,"nbf":1e999', 'The token is not valid yet.'],
    ['was issued before all dates', '"exp":EXP,"iat":-1e999', 'The time "iat" of the token is out of range.'],
    ['was issued in an hour', '"exp":EXP,"iat":EXP', 'The token was issued later than now.'],
  ])('a token that %s is refused', async (_what, times, sentence) => {
    const exp = String(Math.floor(nowMs / 1000) + 3600);
    const body = `{"iss":"${ISSUER}","aud":"${AUDIENCE}","sub":"ann",${times.replaceAll('EXP', exp)}}`;
    const token = await key.signText(body);
    expect(await refusal(signedWith([key]), token)).toContain(`UNAUTHENTICATED: ${sentence}`);
  });

  it('a token has the roles of its claim, and no role where it lacks the claim that the operator has named', async () => {
    const auth = signedWith([key], '    rolesClaim: groups');
    const rolesOf = async (groups?: unknown) => {
      const { roles } = await principalOf(auth, await key.sign(claims({ groups })));
      return [...roles];
    };
    expect(await rolesOf()).toEqual([]);
    expect(await rolesOf(['operator', 'admin', 7])).toEqual(['operator']);
    expect(await rolesOf([])).toEqual([]);
    const text = await key.sign(claims({ groups: 'operator' }));
    expect(await refusal(auth, text)).toBe('UNAUTHENTICATED: The claim "groups" of the token is not a list of roles.');
  });

  it.each([
    ['has expired', { exp: -6 }, 'The token has expired. Sign in again.'],
    ['is not valid yet', { nbf: 60 }, 'The token is not valid yet. Compare the clocks of its issuer and of this node.'],
  ])('a token that %s is refused, once the clock tolerance is over', async (_what, times, sentence) => {
    const [[claim, seconds]] = Object.entries(times) as [[string, number]];
    const at = (offset: number) => key.sign(claims({ [claim]: Math.floor(nowMs / 1000) + offset }));
    const auth = signedWith([key]);
    expect(await refusal(auth, await at(seconds))).toBe(`UNAUTHENTICATED: ${sentence}`);
    expect(await refusal(auth, await at(Math.sign(seconds) * 3))).toBe('accepted');
  });

  it('a token that was accepted is refused from the time at which it expires, though it is cached', async () => {
    const [auth, token] = [signedWith([key]), await key.sign(claims({}, nowMs))];
    expect(await refusal(auth, token)).toBe('accepted');
    nowMs += HOUR_MS + 6_000;
    expect(await refusal(auth, token)).toBe('UNAUTHENTICATED: The token has expired. Sign in again.');
  });

  it.each([
    ['of a foreign issuer', { iss: 'https://evil.example' }, 'of an issuer that this cluster does not accept.'],
    ['for a foreign audience', { aud: 'shop' }, 'for another audience.'],
  ])('a token %s is refused', async (_what, foreign, sentence) => {
    const token = await key.sign(claims(foreign));
    expect(await refusal(signedWith([key]), token)).toBe(`UNAUTHENTICATED: The token is ${sentence}`);
  });

  it('a token without an issuer, a subject or an end is refused', async () => {
    const auth = signedWith([key]);
    const [noSubject, endless] = [await key.sign(without('sub')), await key.sign(without('exp'))];
    expect(await refusal(auth, noSubject)).toBe('UNAUTHENTICATED: The token names no subject ("sub").');
    expect(await refusal(auth, endless)).toBe('UNAUTHENTICATED: The token has no time at which it expires ("exp").');
    expect(await refusal(auth, await key.sign(without('iss')))).toContain('of an issuer that this cluster does not');
    const long = await key.sign(claims({ sub: 'x'.repeat(MAX_PRINCIPAL_LENGTH) }));
    expect(await refusal(auth, long)).toContain(`more than ${MAX_PRINCIPAL_LENGTH} bytes`);
  });

  it('an unsigned token (alg: none) is refused', async () => {
    const auth = signedWith([key]);
    for (const alg of ['none', 'None', 'NONE']) {
      const token = `${part({ alg, kid: key.kid })}.${part(claims())}.`;
      expect(await refusal(auth, token)).toMatch(
        /^UNAUTHENTICATED: The token is (?:signed with an algorithm|not a valid)/,
      );
    }
  });

  it('a token signed by HS256 with the public key as its secret is refused', async () => {
    const rsa = await signingKey('rsa', 'RS256');
    const body = `${part({ alg: 'HS256', kid: rsa.kid })}.${part(claims())}`;
    for (const secret of [JSON.stringify(rsa.jwk), rsa.jwk.n!, Buffer.from(rsa.jwk.n!, 'base64url')]) {
      const token = `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`;
      expect(await refusal(signedWith([rsa]), token)).toBe(
        'UNAUTHENTICATED: The token is signed with an algorithm that this cluster does not accept.',
      );
    }
    expect(await refusal(signedWith([rsa]), await rsa.sign(claims({}, nowMs)))).toBe('accepted');
  });

  it('a token is refused when it is signed with an algorithm that the issuer does not use', async () => {
    const auth = signedWith([key], '    algorithms: [RS256]');
    expect(await refusal(auth, await key.sign(claims()))).toContain('an algorithm that this cluster does not accept');
  });

  it('a token signed with another key under the name of the right one is refused', async () => {
    const token = await other.sign(claims(), { kid: key.kid });
    expect(await refusal(signedWith([key]), token)).toBe(
      'UNAUTHENTICATED: The signature of the token is not that of its issuer.',
    );
  });

  it('an oversized token is refused before it is parsed', async () => {
    const token = await key.sign(claims({ filler: 'x'.repeat(MAX_CREDENTIALS_LENGTH) }));
    expect(await refusal(signedWith([key]), token)).toBe(
      `UNAUTHENTICATED: Credentials have at most ${MAX_CREDENTIALS_LENGTH} characters.`,
    );
  });

  it('a token is refused when any one character is changed', async () => {
    const [auth, token] = [signedWith([key]), await key.sign(claims())];
    expect(await refusal(auth, token)).toBe('accepted');
    // The last character of a part may have spare bits: another text with the same bytes is the same token.
    const isLast = (at: number) => at + 1 === token.length || token[at + 1] === '.';
    for (let at = 0; at < token.length; at++) {
      if (isLast(at)) continue;
      const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
      expect(await refusal(auth, changed)).toMatch(/^UNAUTHENTICATED: /);
    }
  });

  it('any text is refused as credentials with a sentence, and nothing else happens', async () => {
    const auth = signedWith([key]);
    const json = fc.json().map((text) => Buffer.from(text).toString('base64url'));
    const token = fc.tuple(json, json, fc.string()).map((parts) => parts.join('.'));
    const header = fc.record({ alg: fc.constantFrom('ES256', 'none', 'HS256', 7), kid: fc.constantFrom('one', null) });
    const body = fc.record({ iss: fc.constantFrom(ISSUER, 1), aud: fc.constant(AUDIENCE), exp: fc.anything() });
    const almost = fc.tuple(header, body, fc.base64String()).map(([head, claimed, signature]) => {
      return `${part(head)}.${part(toJson(claimed))}.${signature}`;
    });
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), token, almost), async (text) => {
        expect(await refusal(auth, text)).toMatch(/^UNAUTHENTICATED: \S/);
      }),
      { numRuns: 500 },
    );
  });
});

const toJson = (value: unknown): unknown => {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return {};
  }
};

describe('a key set behind a URL', () => {
  const FAST = { ...DEFAULT_FETCH_TIMES, cooldownMs: 100, retryMs: 100 };

  async function remote(times = FAST): Promise<{ auth: Authenticator; server: KeySetServer }> {
    const server = await keySetServer(key);
    servers.push(server);
    return { auth: authenticator(new TestAuthFile(issuerFile(server.url)), { fetchTimes: times }), server };
  }

  const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
  };

  it('a key that the issuer has rotated is fetched with the first token that names it', async () => {
    const { auth, server } = await remote({ ...FAST, cooldownMs: 0 });
    expect(await refusal(auth, await key.sign(claims()))).toBe('accepted');
    server.publish(key, other);
    expect(await refusal(auth, await other.sign(claims()))).toBe('accepted');
    expect(server.requests).toBe(2);
  });

  it('a token is refused once the issuer has removed its key and the set was fetched again', async () => {
    const { auth, server } = await remote({ ...FAST, cooldownMs: 0, refreshMs: 20 });
    const token = await key.sign(claims());
    expect(await refusal(auth, token)).toBe('accepted');
    server.publish(other);
    await until(async () => (await refusal(auth, token)) !== 'accepted');
    expect(await refusal(auth, token)).toBe(
      'UNAUTHENTICATED: The token is signed with a key that its issuer does not publish.',
    );
    expect(await refusal(auth, await other.sign(claims()))).toBe('accepted');
  });

  it('the principal of a token ends with the key that has signed it, and not with another one (U1)', async () => {
    const { auth, server } = await remote({ ...FAST, cooldownMs: 0, refreshMs: 20 });
    const principal = await principalOf(auth, await key.sign(claims()));
    server.publish(key, other);
    await until(async () => (await refusal(auth, await other.sign(claims()))) === 'accepted');
    expect([principal.roles.size, principal.expiresAt]).toEqual([2, expect.any(Number)]);
    server.publish(other);
    await until(() => principal.expiresAt === 0);
    expect(principal.roles.size).toBe(0);
  });

  it('a key that is replaced under its name is in use with the first token that it has signed, and the old one ends', async () => {
    const { auth, server } = await remote({ ...FAST, cooldownMs: 0 });
    const principal = await principalOf(auth, await key.sign(claims()));
    const successor = await signingKey(key.kid);
    server.publish(successor);
    expect(await refusal(auth, await successor.sign(claims()))).toBe('accepted');
    expect([principal.roles.size, principal.expiresAt]).toEqual([0, 0]);
    expect(await refusal(auth, await key.sign(claims()))).toContain('The signature of the token is not that of');
  });

  it('the principal of a token ends with its key where one of another kind has the same name (U1)', async () => {
    const { auth, server } = await remote({ ...FAST, cooldownMs: 0, refreshMs: 20 });
    const namesake = await signingKey(key.kid, 'EdDSA');
    server.publish(key, namesake);
    const principal = await principalOf(auth, await key.sign(claims({}, nowMs)));
    expect(principal.roles.size).toBe(2);
    server.publish(namesake);
    await until(() => principal.expiresAt === 0);
  });

  it('a token that is checked while its key is replaced does not outlive the key (U1)', async () => {
    const { auth, server } = await remote({ ...FAST, cooldownMs: 0 });
    const successor = await signingKey(key.kid);
    const sign = (jti: number) => key.sign(claims({ jti: String(jti) }, nowMs));
    const tokens = await Promise.all(Array.from({ length: 1000 }, (_, jti) => sign(jti)));
    expect(await refusal(auth, await sign(-1))).toBe('accepted');
    server.publish(successor);
    const later = refusal(auth, await successor.sign(claims({}, nowMs)));
    let isReplaced = false;
    void later.then(() => {
      isReplaced = true;
    });
    const checked: Promise<Principal | undefined>[] = [];
    for (const token of tokens) {
      if (isReplaced) break;
      checked.push(principalOf(auth, token).catch(() => undefined));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await later).toBe('accepted');
    for (const principal of await Promise.all(checked)) expect([0, undefined]).toContain(principal?.expiresAt);
  });

  it('keys that their issuer has not confirmed for too long end, with the principals of their tokens', async () => {
    const { auth, server } = await remote({ ...FAST, cooldownMs: 0, retryMs: 0, keepMs: 100 });
    const principal = await principalOf(auth, await key.sign(claims()));
    server.answer = (reply) => void reply.destroy();
    await until(() => principal.expiresAt === 0);
    expect(await refusal(auth, await key.sign(claims({ jti: '2' })))).toMatch(/^NOT_READY/);
  });

  it('tokens with invented keys cause one fetch in a while', async () => {
    const { auth, server } = await remote({ ...FAST, cooldownMs: HOUR_MS });
    expect(await refusal(auth, await key.sign(claims()))).toBe('accepted');
    const [forged, fetched] = [await other.sign(claims(), { kid: 'invented' }), server.requests];
    const refused = await Promise.all(Array.from({ length: 50 }, () => refusal(auth, forged)));
    expect(new Set(refused)).toEqual(
      new Set(['UNAUTHENTICATED: The token is signed with a key that its issuer does not publish.']),
    );
    expect(server.requests).toBe(fetched);
  });

  it.each<[string, KeySetServer['answer']]>([
    ['hangs', () => undefined],
    ['hangs in the middle of its answer', (reply) => void reply.write('{"keys":')],
    ['answers with an error', (reply) => void reply.writeHead(500).end('{}')],
    ['answers with something else', (reply) => void reply.end('<html>')],
    [
      'sends without end',
      (reply) => {
        const more = (): void => {
          if (!reply.destroyed) reply.write('x'.repeat(65_536), () => setImmediate(more));
        };
        more();
      },
    ],
    ['leads elsewhere', (reply) => void reply.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()],
  ])(
    'a key set whose server %s refuses tokens with NOT_READY, after one fetch of bounded time',
    async (_what, answer) => {
      const server = await keySetServer();
      servers.push(server);
      server.answer = answer;
      const auth = authenticator(new TestAuthFile(issuerFile(server.url)), {
        fetchTimes: { ...FAST, timeoutMs: 200, retryMs: HOUR_MS },
      });
      const tokens = await Promise.all([1, 2, 3].map((jti) => key.sign(claims({ jti: String(jti) }))));
      for (const text of await Promise.all(tokens.map((token) => refusal(auth, token))))
        expect(text).toMatch(/^NOT_READY: The keys of the issuer cannot be fetched now/);
      // The next attempt causes no fetch at all.
      expect(await refusal(auth, tokens[0])).toMatch(/^NOT_READY/);
      expect(server.requests).toBeLessThanOrEqual(1);
    },
  );

  it('known keys stay in use through an outage, and new ones are taken after it', async () => {
    const { auth, server } = await remote({ ...FAST, cooldownMs: 0, retryMs: 0, refreshMs: 20 });
    expect(await refusal(auth, await key.sign(claims({ jti: '1' })))).toBe('accepted');
    const before = server.requests;
    server.answer = (reply) => void reply.destroy();
    await until(() => server.requests > before + 1);
    expect(await refusal(auth, await key.sign(claims({ jti: '2' })))).toBe('accepted');
    expect(await refusal(auth, await other.sign(claims()))).toMatch(/^NOT_READY/);
    server.publish(key, other);
    await until(async () => (await refusal(auth, await other.sign(claims({ jti: '3' })))) === 'accepted');
  });
});

describe('an API key', () => {
  const entry = (apiKey: string, more = '') => `keys:
  - principal: billing
    hash: ${digestOf(apiKey)}
    roles: [reader]
${more}`;

  it('an API key has 256 random bits', () => {
    const keys = Array.from({ length: 100 }, newApiKey);
    expect(new Set(keys).size).toBe(100);
    for (const one of keys) expect(one).toMatch(/^isochron_[A-Za-z0-9_-]{43}$/);
  });

  it('an API key of the file names its principal, with its roles and claims', async () => {
    const apiKey = newApiKey();
    const auth = authenticator(new TestAuthFile(entry(apiKey, '    claims: { team: blue }\n')));
    const principal = await principalOf(auth, apiKey);
    expect(principal).toMatchObject({ id: 'key:billing', claims: { team: 'blue' }, expiresAt: null });
    expect([...principal.roles]).toEqual(['reader']);
    expect(await refusal(auth, digestOf(apiKey))).toMatch(/^UNAUTHENTICATED: The API key is not known here/);
    expect(await refusal(auth, undefined)).toMatch(/^UNAUTHENTICATED: This cluster asks for credentials/);
  });

  it('an API key is refused from the time at which it expires', async () => {
    const apiKey = newApiKey();
    const expires = new Date(nowMs + HOUR_MS).toISOString();
    const auth = authenticator(new TestAuthFile(entry(apiKey, `    expires: "${expires}"\n`)));
    expect(await principalOf(auth, apiKey)).toMatchObject({ expiresAt: nowMs + HOUR_MS });
    nowMs += HOUR_MS;
    expect(await refusal(auth, apiKey)).toMatch(/^UNAUTHENTICATED/);
  });

  it('an API key that the file has no more is refused, and its sessions have expired', async () => {
    const apiKey = newApiKey();
    const file = new TestAuthFile(entry(apiKey));
    const auth = authenticator(file);
    const principal = await principalOf(auth, apiKey);
    file.write(entry(newApiKey()));
    expect(await refusal(auth, apiKey)).toMatch(/^UNAUTHENTICATED/);
    expect([principal.expiresAt, principal.roles.size]).toEqual([0, 0]);
  });

  it('the roles of an API key follow the file on a living session', async () => {
    const apiKey = newApiKey();
    const file = new TestAuthFile(entry(apiKey));
    const principal = await principalOf(authenticator(file), apiKey);
    file.write(entry(apiKey).replace('[reader]', '[writer, operator]'));
    expect([...principal.roles]).toEqual(['operator', 'writer']);
    expect(principal.expiresAt).toBeNull();
  });

  it('API keys of the environment have all roles beside those of the file', async () => {
    const auth = authenticator(new TestAuthFile('{}'), { apiKeys: ['from-the-environment'] });
    const { roles, id } = await principalOf(auth, 'from-the-environment');
    expect([...roles]).toEqual(['operator', 'reader', 'writer']);
    expect(id).toMatch(/^key:[0-9a-f]{8}$/);
  });

  it('a file without keys and issuers admits no caller', async () => {
    const auth = authenticator(new TestAuthFile('{}'));
    for (const credentials of [undefined, '', 'x', await key.sign(claims())])
      expect(await refusal(auth, credentials)).toMatch(/^UNAUTHENTICATED/);
  });
});

describe('an issuer that the file has no more', () => {
  it('an issuer that the file has no more is refused, and its sessions have expired; the others stay', async () => {
    const file = new TestAuthFile(issuerFile([key]));
    const auth = authenticator(file);
    const token = await key.sign(claims());
    const principal = await principalOf(auth, token);
    file.write(issuerFile([key], 'keys: []\n'));
    expect(principal.expiresAt).toBeGreaterThan(nowMs);
    file.write('keys: []\n');
    expect([principal.expiresAt, principal.roles.size]).toEqual([0, 0]);
    expect(await refusal(auth, token)).toMatch(/^UNAUTHENTICATED/);
  });
});
