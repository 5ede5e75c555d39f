import { IsochronError, type Principal, ROLES, type Role } from '@isochron/core';
import { TestNode, UST } from '@isochron/testing/sessions/served-node';
import { type Access, requireRole } from './roles.js';

const holderOf = (...roles: readonly Role[]): Principal => ({
  id: 'ann',
  roles: new Set(roles),
  claims: {},
  expiresAt: null,
});

const refusal = (roles: readonly Role[], access: Access): string => {
  try {
    requireRole(holderOf(...roles), access);
  } catch (error) {
    if (error instanceof IsochronError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'accepted';
};

describe('roles', () => {
  it.each<[Access, readonly Role[]]>([
    ['read', ['reader', 'writer']],
    ['write', ['writer']],
    ['operate', ['operator']],
    ['any', ROLES],
  ])('to %s, one of its roles is enough, and no other role is', (access, enough) => {
    for (const role of ROLES) expect(refusal([role], access) === 'accepted').toBe(enough.includes(role));
  });

  it('a refusal names the missing role and those that the caller has', () => {
    expect(refusal(['reader', 'operator'], 'write')).toBe(
      'PERMISSION_DENIED: This needs the role writer; the caller has only reader, operator.',
    );
    expect(refusal([], 'read')).toBe(
      'PERMISSION_DENIED: This needs the role reader or writer; the caller has no role.',
    );
  });
});

describe('frames of a session', () => {
  const FRAMES = {
    read: { type: 'read', keys: ['default/a'] },
    list: { type: 'list', keyspace: 'default' },
    live: { type: 'live', after: UST, waitMs: 1000, add: [{ watch: 1, keys: ['default/a'] }] },
    changes: { type: 'changes', scope: 'default/', after: UST, waitMs: 1000 },
    commit: {
      type: 'commit',
      tx: 'session-of-tests.0',
      snapshot: UST,
      hwt: 0,
      sentAfter: UST,
      attemptRegions: ['p'],
      writes: [{ key: 'default/a', value: '1' }],
    },
  };

  function codesFor(...roles: readonly Role[]) {
    const node = new TestNode();
    node.authenticate = (_credentials, done) => done(holderOf(...roles));
    const { link, connection } = node.connect();
    connection.receive({ type: 'hello' });
    link.frames.splice(0);
    let id = 0;
    const codeOf = (frame: object): string => {
      connection.receive({ id: ++id, ...frame });
      const answer = link.frames.splice(0).at(-1);
      return answer !== undefined && 'code' in answer ? answer.code : 'served';
    };
    const codes = Object.fromEntries(Object.entries(FRAMES).map(([name, frame]) => [name, codeOf(frame)]));
    return { codes, posted: node.posted, ping: codeOf({ type: 'ping' }) };
  }
  const DENIED = 'PERMISSION_DENIED';

  it('a reader reads, and its commits are refused before anything of them is looked at', () => {
    const { codes, posted, ping } = codesFor('reader');
    expect(codes).toEqual({ read: 'served', list: 'served', live: 'served', changes: 'served', commit: DENIED });
    expect(posted.some(({ type }) => type === 'CommitReq')).toBe(false);
    expect(ping).toBe('served');
  });

  it('a writer reads and commits', () => {
    expect(Object.values(codesFor('writer').codes)).toEqual(Object.keys(FRAMES).map(() => 'served'));
  });

  it('an operator sees no documents, and neither does a caller without roles', () => {
    for (const roles of [['operator'], []] as const) {
      const { codes, posted, ping } = codesFor(...roles);
      expect(Object.values(codes)).toEqual(Object.keys(FRAMES).map(() => DENIED));
      expect(posted).toEqual([]);
      expect(ping).toBe('served');
    }
  });
});
