/** Session tokens: a token that this cluster did not sign is refused with a code, and no part of it is used. */
import { createHmac } from 'node:crypto';
import { IsochronError, MAX_TIMESTAMP, packWall } from '@isochron/core';
import type { SessionClaims } from '@isochron/sessions';
import fc from 'fast-check';
import { parseClusterFile } from '../../server/src/config/cluster-file.js';
import { sessionTokens } from '../../server/src/session/tokens.js';
import { largestAllocation } from './allocations.js';
import { damaged, damages } from './damage.js';
import { fuzz } from './fuzz.js';

const NOW = Date.UTC(2026, 0, 1);
const SECRET = 'a secret for tests only';
const config = (cluster: string, partitions = 1) =>
  parseClusterFile(
    `protocol: paris
cluster: ${cluster}
regions: [{ id: r, nodes: [{ id: n, api: "http://127.0.0.1:1", peer: "ws://127.0.0.1:2" }] }]
keyspaces: [{ name: default, partitions: ${partitions} }]`,
    'tokens.yaml',
  );
const OWN = config('mine');
/** The greatest timestamp that a client may name. */
const LATEST = packWall(NOW + OWN.settings.maxClockDriftMs / 2);
const mine = sessionTokens({ secret: SECRET }, OWN);
/** Clusters that differ in name, placement, history or secret. */
const other = sessionTokens({ secret: SECRET }, config('other'));
const moved = sessionTokens({ secret: SECRET }, config('mine', 2));
/** A node that has adopted a later map. */
const later = sessionTokens({ secret: SECRET }, OWN, () => 1);

const claims: fc.Arbitrary<SessionClaims> = fc.record({
  seen: fc.record({ ts: fc.integer({ min: 0, max: packWall(NOW) }) }),
  hwt: fc.integer({ min: 0, max: packWall(NOW) }),
  cache: fc.option(
    fc.record({
      session: fc.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      node: fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/),
      changes: fc.maxSafeNat(),
    }),
    { nil: undefined },
  ),
});

const CODES = ['NOT_READY', 'TOKEN_INVALID', 'TOKEN_FOREIGN', 'TIMESTAMP_IN_FUTURE'];
/** The code with which a token is refused. Any other result fails the test. */
function refusal(token: string): string {
  try {
    mine.decode(token, LATEST);
  } catch (error) {
    if (error instanceof IsochronError && CODES.includes(error.code)) return error.code;
    throw error;
  }
  throw new Error(`${token} was accepted`);
}

const bytesOf = (token: string): Buffer => Buffer.from(token, 'base64url');

describe('session tokens', () => {
  fuzz('session tokens return their signed claims to every holder of the secret', 300, [claims], (signed) => {
    const { hwt, cache } = mine.decode(mine.mint(signed), LATEST);
    const live = signed.hwt > signed.seen.ts;
    expect({ hwt, cache }).toEqual({ hwt: live ? signed.hwt : 0, cache: live ? signed.cache : undefined });
  });

  fuzz(
    'a session token of arbitrary text is refused',
    2000,
    [fc.oneof(fc.string(), fc.base64String(), fc.string({ unit: 'binary' }))],
    (text) => {
      expect(refusal(text)).toBe('TOKEN_INVALID');
    },
  );

  fuzz('a session token with damaged text is refused', 2000, [claims, damages], (signed, changes) => {
    const token = mine.mint(signed);
    const spoilt = Buffer.from(damaged(Buffer.from(token), changes)).toString('latin1');
    if (spoilt !== token) refusal(spoilt);
  });

  fuzz('a session token with damaged bytes is refused', 2000, [claims, damages], (signed, changes) => {
    const token = mine.mint(signed);
    const spoilt = Buffer.from(damaged(bytesOf(token), changes)).toString('base64url');
    if (spoilt !== token) refusal(spoilt);
  });

  fuzz('every prefix of a session token is refused', 100, [claims], (signed) => {
    const token = mine.mint(signed);
    for (let length = 0; length < token.length; length++) expect(refusal(token.slice(0, length))).toBe('TOKEN_INVALID');
  });

  fuzz(
    'session tokens of other clusters, placements and secrets are refused',
    300,
    [claims, fc.string()],
    (signed, extra) => {
      expect(refusal(other.mint(signed))).toBe('TOKEN_FOREIGN');
      expect(refusal(moved.mint(signed))).toBe('TOKEN_FOREIGN');
      expect(refusal(later.mint(signed))).toBe('NOT_READY');
      expect(refusal(sessionTokens({ secret: `${SECRET}${extra}.` }, OWN).mint(signed))).toBe('TOKEN_INVALID');
    },
  );

  fuzz(
    'a claim that its bearer raised is refused, whatever key signs it',
    500,
    [claims, fc.integer({ min: 1, max: MAX_TIMESTAMP }), fc.string()],
    (signed, more, key) => {
      const record = bytesOf(mine.mint(signed));
      const body = record.subarray(0, -16);
      body.writeBigUInt64BE((body.readBigUInt64BE(9) + BigInt(more)) & (2n ** 64n - 1n), 9);
      const mac = createHmac('sha256', key).update(body).digest().subarray(0, 16);
      expect(refusal(Buffer.concat([body, mac]).toString('base64url'))).toBe('TOKEN_INVALID');
    },
  );

  fuzz('a signed time too far ahead is refused, too', 300, [fc.integer({ min: 1, max: 10 ** 12 })], (aheadMs) => {
    expect(refusal(mine.mint({ seen: { ts: Math.min(LATEST + aheadMs, MAX_TIMESTAMP) }, hwt: 0 }))).toBe(
      'TIMESTAMP_IN_FUTURE',
    );
  });

  it('a megabyte of text is refused before it is parsed', () => {
    const text = 'A'.repeat(1_000_000);
    expect(largestAllocation(() => expect(refusal(text)).toBe('TOKEN_INVALID'))).toBeLessThan(1000);
  });
});
