import { protectionOf } from '../access/protection.js';
import { parseAuthFile } from '../auth/auth-file.js';
import { PeerProtection } from './protection.js';

const NONE = { rules: null, users: null };
const withOwn = (current: { rules: string | null; users: string | null }) => {
  let changed: () => void = () => undefined;
  const own = {
    current,
    onChange: (listener: () => void) => {
      changed = listener;
    },
  };
  const protection = new PeerProtection(own);
  let times = 0;
  protection.onMissing(() => times++);
  return { own, protection, changed: () => changed(), times: () => times };
};

describe('the rules and credentials of a node beside those of its peers', () => {
  it('a node without rules may serve while no peer has any', () => {
    const { protection } = withOwn(NONE);
    protection.meets('b-1', NONE);
    expect(protection.missing).toBeUndefined();
    expect(protection.status.rules).toEqual({ hash: null, differsFrom: [], missing: false });
  });

  it.each([
    ['rules', 'without access rules, which b-1 has: start it with --rules'],
    ['users', 'without credentials, which b-1 has: start it with --auth'],
  ] as const)('a node without %s where a peer has some may not serve, and reports it once', (part, reason) => {
    const { protection, times } = withOwn(NONE);
    protection.meets('b-1', { ...NONE, [part]: 'x' });
    protection.meets('c-1', NONE);
    expect([protection.missing, times()]).toEqual([reason, 1]);
    expect(protection.status[part]).toEqual({ hash: null, differsFrom: ['b-1'], missing: true });
  });

  it('a node whose rules differ from those of its peers serves: a change reaches one node after the other', () => {
    const { own, protection, changed } = withOwn({ rules: 'old', users: 'u' });
    protection.meets('b-1', { rules: 'new', users: 'u' });
    protection.meets('c-1', NONE);
    expect(protection.missing).toBeUndefined();
    expect(protection.status).toEqual({
      rules: { hash: 'old', differsFrom: ['b-1', 'c-1'], missing: false },
      users: { hash: 'u', differsFrom: ['c-1'], missing: false },
    });
    own.current.rules = 'new';
    changed();
    expect(protection.status.rules.differsFrom).toEqual(['c-1']);
  });
});

it('the hash of users is of every setting of issuers and keys, and does not depend on the order of roles', () => {
  const hashOf = (text: string) => {
    const auth = { current: parseAuthFile(text, 'auth.yaml'), onChange: () => () => false };
    return protectionOf({ access: undefined, auth, apiKeys: [] }).current.users;
  };
  const key = (roles: string) => `keys: [{ principal: a, hash: ${'a'.repeat(64)}, roles: [${roles}] }]`;
  const issuer = (more: string) => `issuers: [{ issuer: "https://i", audience: x, jwks: "https://i/k"${more} }]`;
  expect(hashOf(key('reader, writer'))).toBe(hashOf(key('writer, reader')));
  const texts = [key('reader'), key('writer'), issuer(''), issuer(', rolesClaim: a.b'), issuer(', clockToleranceS: 9')];
  expect(new Set(texts.map(hashOf)).size).toBe(texts.length);
  const of = (apiKeys: string[]) => protectionOf({ access: undefined, auth: undefined, apiKeys }).current.users;
  expect([of([]), of(['one']) === of(['other'])]).toEqual([null, true]);
});
