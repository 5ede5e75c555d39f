import { IsochronError, MAX_TIMESTAMP, packWall } from '@isochron/core';
import { sessionTokens, type TransactionsName } from '@isochron/testing/sessions/tokens';
import fc from 'fast-check';
import { MAX_TOKEN_LENGTH } from './session-token.js';

const NOW = Date.UTC(2026, 0, 1);
/** The latest timestamp that a client may name. */
const LATEST = packWall(NOW + 500);
const tokens = sessionTokens();

function codeOf(token: string, reader = sessionTokens()): string {
  try {
    reader.decode(token, LATEST);
    return 'accepted';
  } catch (error) {
    if (error instanceof IsochronError) return error.code;
    throw error;
  }
}

describe('a session token', () => {
  it('a session token is for the principal that got it, and refused from any other one and from none', () => {
    const claims = { seen: { ts: 1000 }, hwt: 2000 };
    const token = tokens.mint(claims, 'key:ann');
    for (const reader of [tokens, sessionTokens()]) {
      expect(reader.decode(token, LATEST, 'key:ann')).toEqual(claims);
      for (const other of ['key:bob', 'key:an', 'key:annn', ''])
        expect(() => reader.decode(token, LATEST, other)).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }));
    }
    expect(() => tokens.decode(tokens.mint(claims), LATEST, 'key:ann')).toThrow(
      expect.objectContaining({ code: 'TOKEN_INVALID' }),
    );
    expect(tokens.mintPlain({ ts: 1 }, 0, 'key:ann')).not.toBe(tokens.mintPlain({ ts: 1 }, 0, 'key:bob'));
  });

  it('a session token reads as it was written, in at most 256 characters', () => {
    const ts = fc.integer({ min: 0, max: packWall(NOW) });
    const cache = fc.record({
      session: fc.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      node: fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/),
      changes: fc.maxSafeNat(),
    });
    fc.assert(
      fc.property(ts, ts, cache, (ust, extra, kept) => {
        const hwt = Math.min(ust + 1 + extra, packWall(NOW) + 1);
        const token = tokens.mint({ seen: { ts: ust }, hwt, cache: kept });
        expect(token.length).toBeLessThanOrEqual(MAX_TOKEN_LENGTH);
        expect(tokens.decode(token, LATEST)).toEqual(
          hwt > ust ? { seen: { ts: ust }, hwt, cache: kept } : { seen: { ts: ust }, hwt: 0 },
        );
      }),
    );
  });

  it('a session token leaves out a hwt that ust has passed', () => {
    const cache = { session: 'a'.repeat(22), node: 'virginia-1', changes: 3 };
    expect(tokens.decode(tokens.mint({ seen: { ts: 100 }, hwt: 100, cache }), LATEST)).toEqual({
      seen: { ts: 100 },
      hwt: 0,
    });
  });

  it('a session token of another format is refused', () => {
    const record = Buffer.from(tokens.mint({ seen: { ts: 1000 }, hwt: 2000 }), 'base64url');
    for (let format = 0; format < 256; format++) {
      if (format === record[0]) continue;
      const other = Buffer.from([format, ...record.subarray(1)]);
      expect(codeOf(other.toString('base64url'))).toBe('TOKEN_INVALID');
    }
  });

  it('a session token names the map of its node, and a node that has not adopted that map refuses it (M6)', () => {
    const at = (map: number) => sessionTokens('paris', {}, () => map);
    const claims = { seen: { ts: 1000 }, hwt: 2000 };
    for (const map of [0, 1, 127, 128, 300, 100_000]) {
      const token = at(map).mint(claims);
      const named = map === 0 ? claims : { map, ...claims };
      for (const node of [map, map + 1]) expect(at(node).decode(token, LATEST)).toEqual(named);
      if (map > 0) expect(codeOf(token, at(map - 1))).toBe('NOT_READY');
    }
  });

  it('a session token is refused where its cache has no name', () => {
    expect(codeOf(tokens.mint({ seen: { ts: 1 }, hwt: 2, cache: { session: '', node: 'n', changes: 1 } }))).toBe(
      'TOKEN_INVALID',
    );
  });

  it('a session token is the same text for the same timestamps', () => {
    expect(tokens.mintPlain({ ts: 5000 }, 0)).toBe(tokens.mintPlain({ ts: 5000 }, 4000));
  });

  it('a session token is refused when any one character is changed', () => {
    const token = tokens.mint({
      seen: { ts: 1000 },
      hwt: 2000,
      cache: { session: 'a'.repeat(22), node: 'virginia-1', changes: 3 },
    });
    for (let i = 0; i < token.length; i++) {
      const forged = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1);
      expect(['TOKEN_INVALID', 'TOKEN_FOREIGN']).toContain(codeOf(forged));
    }
  });

  it('a session token is refused when it is cut or longer', () => {
    const token = tokens.mint({ seen: { ts: 1000 }, hwt: 2000 });
    for (let length = 0; length < token.length; length++) expect(codeOf(token.slice(0, length))).toBe('TOKEN_INVALID');
    for (const extra of ['A', 'AAAA', '=', ' ']) expect(codeOf(token + extra)).toBe('TOKEN_INVALID');
  });

  it('a session token belongs to one cluster', () => {
    const token = tokens.mint({ seen: { ts: 1000 }, hwt: 2000 });
    expect(codeOf(token, sessionTokens('paris', { identity: 'other' }))).toBe('TOKEN_FOREIGN');
    expect(codeOf(token, sessionTokens('paris', { secret: 'another secret of it' }))).toBe('TOKEN_INVALID');
  });

  it('a session token is accepted under both secrets while one replaces the other, and signed with the first', () => {
    const [before, after] = ['the secret before', 'the secret after it'] as const;
    const stages = [[before], [before, after], [after, before], [after]] as const;
    const at = ([secret, secondSecret]: readonly [string, string?]) => sessionTokens('paris', { secret, secondSecret });
    for (const maker of stages) {
      for (const reader of stages) {
        const token = at(maker).mint({ seen: { ts: 1000 }, hwt: 2000 });
        const isKnown = (reader as readonly string[]).includes(maker[0]);
        expect(codeOf(token, at(reader))).toBe(isKnown ? 'accepted' : 'TOKEN_INVALID');
      }
    }
  });

  it('a session token is refused where it names a later time than clients may, not before it (T1)', () => {
    expect(codeOf(tokens.mint({ seen: { ts: LATEST }, hwt: 0 }))).toBe('accepted');
    expect(codeOf(tokens.mint({ seen: { ts: LATEST + 1 }, hwt: 0 }))).toBe('TIMESTAMP_IN_FUTURE');
    expect(codeOf(tokens.mint({ seen: { ts: 1 }, hwt: LATEST + 1 }))).toBe('TIMESTAMP_IN_FUTURE');
    expect(codeOf(tokens.mint({ seen: { ts: MAX_TIMESTAMP }, hwt: 0 }))).toBe('TIMESTAMP_IN_FUTURE');
  });

  it('any text is read as a session token or refused as one', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => ['TOKEN_INVALID', 'TOKEN_FOREIGN'].includes(codeOf(text))),
    );
  });
});

describe('a session token of another protocol than PaRiS', () => {
  const cure = sessionTokens('cure');

  it('a session token of another protocol reads as it was written, entries and all', () => {
    const ts = fc.integer({ min: 0, max: packWall(NOW) });
    fc.assert(
      fc.property(ts, ts, ts, ts, (a, b, seen, hwt) => {
        const claims = { seen: { ts: seen, deps: [a, b] }, hwt };
        expect(cure.decode(cure.mint(claims), LATEST)).toEqual({ ...claims, hwt: hwt > seen ? hwt : 0 });
      }),
    );
  });

  it('a session token of another protocol may have seen nothing yet', () => {
    expect(cure.decode(cure.mint({ seen: { ts: 0 }, hwt: 0 }), LATEST)).toEqual({ seen: { ts: 0 }, hwt: 0 });
  });

  it('a session token of another protocol is another text for another entry', () => {
    const plain = (deps: number[]) => cure.mintPlain({ ts: 9, deps }, 0);
    expect(plain([1, 2])).toBe(plain([1, 2]));
    expect(plain([1, 2])).not.toBe(plain([1, 3]));
  });

  it('a session token is refused by a cluster that runs another protocol, with both names, and theirs by this one', () => {
    // Equal in everything but the protocol: as after an edit of the cluster file.
    const names: TransactionsName[] = ['paris', 'bpr', 'nocc'];
    for (const made of names) {
      for (const read of names) {
        const token = sessionTokens(made).mint({ seen: { ts: 1000 }, hwt: 0 });
        const decode = () => sessionTokens(read).decode(token, LATEST);
        if (made === read) expect(decode()).toEqual({ seen: { ts: 1000 }, hwt: 0 });
        else {
          expect(codeOf(token, sessionTokens(read))).toBe('TOKEN_INVALID');
          expect(decode).toThrow(`under the protocol ${made}; this cluster runs ${read}`);
        }
      }
    }
  });

  it('a session token of another protocol is refused when any one character of it is changed, cut or added', () => {
    const token = cure.mint({ seen: { ts: 1000, deps: [1000, 900] }, hwt: 2000 });
    for (let i = 0; i < token.length; i++) {
      const forged = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1);
      expect(['TOKEN_INVALID', 'TOKEN_FOREIGN']).toContain(codeOf(forged, cure));
      expect(codeOf(token.slice(0, i), cure)).toBe('TOKEN_INVALID');
    }
    expect(codeOf(`${token}A`, cure)).toBe('TOKEN_INVALID');
  });

  it('a session token of another protocol is refused where one of its entries lies in the future (T1)', () => {
    const deps = [1, packWall(NOW + 3_600_000)];
    expect(codeOf(cure.mint({ seen: { ts: 1, deps }, hwt: 0 }), cure)).toBe('TIMESTAMP_IN_FUTURE');
  });

  it('a session token is refused with another number of entries than the protocol has, even if it is signed', () => {
    for (const deps of [[1], [1, 2, 3]]) {
      expect(codeOf(cure.mint({ seen: { ts: 1, deps }, hwt: 0 }), cure)).toBe('TOKEN_INVALID');
    }
  });
});
