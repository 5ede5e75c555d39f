import { packWall } from '@isochron/core';
import type { OperationSessionState } from '@isochron/protocols';
import { operationTokens, sessionTokens } from '@isochron/testing/sessions/tokens';
import fc from 'fast-check';

const NOW = packWall(Date.UTC(2026, 0, 1));
const okapi = operationTokens('okapi');
const STATE: OperationSessionState = { seen: [1, 2 ** 52, 0], region: 'oregon', ust: 77 };

const refusalOf = (decode: () => unknown): { code?: string; message?: string } => {
  try {
    decode();
  } catch (error) {
    return error as { code: string; message: string };
  }
  return {};
};

describe('a token of single operations', () => {
  it('a token of single operations holds the whole session', () => {
    const timestamp = fc.integer({ min: 0, max: 2 ** 52 });
    const state = fc.record({
      seen: fc.array(timestamp, { maxLength: 40 }),
      region: fc.constantFrom('virginia', 'oregon'),
      ust: timestamp,
      depends: fc.array(fc.record({ key: fc.string(), source: fc.nat(60), ts: timestamp, near: fc.boolean() }), {
        maxLength: 20,
      }),
    });
    fc.assert(
      fc.property(state, (session) => {
        // Another instance: one that made a token decodes it without reading it.
        expect(operationTokens('okapi').decode(okapi.mint(session), NOW)).toEqual(session);
      }),
    );
  });

  it('a token of single operations is refused when any of it is changed', () => {
    const record = Buffer.from(okapi.mint(STATE), 'base64url');
    for (let at = 0; at < record.length; at++) {
      const changed = Buffer.from(record);
      changed[at]! ^= 0x10;
      const token = changed.toString('base64url');
      expect(['TOKEN_INVALID', 'TOKEN_FOREIGN']).toContain(refusalOf(() => okapi.decode(token, NOW)).code);
      const cut = record.subarray(0, at).toString('base64url');
      expect(refusalOf(() => okapi.decode(cut, NOW)).code).toBe('TOKEN_INVALID');
    }
  });

  it('a token of single operations is refused by other protocols of both kinds, and theirs here, with both names', () => {
    // Equal in everything but the protocol: as after an edit of the cluster file.
    const claims = { seen: { ts: 1000 }, hwt: 0 };
    const made = {
      okapi: operationTokens('okapi').mint(STATE),
      eventual: operationTokens('eventual').mint(STATE),
      paris: sessionTokens('paris').mint(claims),
      wren: sessionTokens('wren').mint(claims),
    };
    const readers = {
      okapi: operationTokens('okapi'),
      eventual: operationTokens('eventual'),
      paris: sessionTokens('paris'),
      wren: sessionTokens('wren'),
    };
    for (const [maker, token] of Object.entries(made)) {
      for (const [reader, tokens] of Object.entries(readers)) {
        const refusal = refusalOf(() => tokens.decode(token, NOW));
        if (maker === reader) expect(refusal).toEqual({});
        else {
          expect(refusal).toMatchObject({
            code: 'TOKEN_INVALID',
            message: expect.stringContaining(`under the protocol ${maker}; this cluster runs ${reader}`),
          });
        }
      }
    }
  });
});
